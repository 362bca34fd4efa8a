"""Enhanced status codes (RFC 3463) where a receiving server's own words are all that a provider hands on."""

from providers.conditions import Pattern

# 5.1.1 no such mailbox, 5.1.2 no such domain, 5.1.3 no address at all, 5.1.6 moved away, 5.1.10 a domain that takes no
# mail (RFC 7505). A code stands alone: in 5.1.1.7 and 10.5.1.1 it is part of an IP address, which says nothing.
BAD_ADDRESS = Pattern(r"(?<![\w.])5\.1\.(?:1|2|3|6|10)\b(?!\.[0-9])")
