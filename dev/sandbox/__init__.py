"""A stand-in for Resend on one machine: it enforces what Resend enforces, misbehaves on demand, and sends nothing.

Sources for the rules: resend/resend-openapi, resend.com/docs (idempotency keys, batch sending, tags, errors, webhooks).
Where Resend's behaviour is not documented the module that decides says so.
"""
