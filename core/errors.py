"""Errors that carry their kind as a type; what each kind costs a message is decided in one place, `consumer.retry`."""


class MailwardError(Exception):
    """Root of all errors raised by mailward; `code` is a short word that is also the metric tag and the log field."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.code}: {self.text}" if self.text else self.code


class Permanent(MailwardError):
    """Trying again cannot help: the message goes to the dead letters at once."""


class Transient(MailwardError):
    """Something about this one message failed: it uses one attempt."""


class Outage(MailwardError):
    """Redis, SQL or RabbitMQ is away: nobody's fault, no attempt is used, the consumer waits for the service."""


class Undecodable(Permanent):
    """The body is not one of our messages; it is dead-lettered alone with its bytes intact."""


class NewerVersion(MailwardError):
    """The message was written by a newer mailward; it waits in the longest delay queue and uses no attempt."""


Kind = type[Permanent] | type[Transient] | type[Outage]
