"""What went wrong, in one line for the person at the terminal: which service, and what to do about it."""

import socket

import pika.exceptions
import redis.exceptions
import sqlalchemy.exc
from pika.adapters.utils.connection_workflow import AMQPConnectorException

from config.parsers import mask_url
from config.settings import Settings
from core.errors import MailwardError, Outage

# What commands may meet; anything else is a bug of ours and keeps its traceback.
FAULTS = (
    MailwardError,
    redis.exceptions.RedisError,
    sqlalchemy.exc.SQLAlchemyError,
    pika.exceptions.AMQPError,
    OSError,
)
_NO_TABLE = ("no such table", "no such column", "UndefinedTable", "UndefinedColumn")


def explain(error: BaseException, settings: Settings) -> str:
    """One sentence on `error` (one of FAULTS), with the address of the service and the next step."""
    if isinstance(error, redis.exceptions.RedisError):
        return _redis(error, settings)
    if isinstance(error, sqlalchemy.exc.SQLAlchemyError):
        return _sql(error, settings)
    # redis-py and SQLAlchemy wrap what the network raises, pika not always.
    if isinstance(error, pika.exceptions.AMQPError | Outage | ConnectionError | TimeoutError | socket.gaierror):
        return f"RabbitMQ at {mask_url(settings.amqp_url)}: {cause(error)}. {_next_step(error)}"
    return f"{cause(error)}."


def cause(error: BaseException) -> str:
    """The innermost error as text: libraries wrap the one that says something."""
    if isinstance(error, MailwardError):
        return error.text.rstrip(".") or error.code
    if isinstance(error, pika.exceptions.AMQPError | AMQPConnectorException):
        wrapped = (getattr(error, "exception", None), *getattr(error, "exceptions", ()), *error.args)
        inner = [one for one in wrapped if isinstance(one, BaseException)]
        if inner:
            return cause(inner[-1])
        if isinstance(error, pika.exceptions.ChannelClosed | pika.exceptions.ConnectionClosed):
            return f"{error.reply_code} {error.reply_text}"
    if isinstance(error, sqlalchemy.exc.DBAPIError) and error.orig is not None:
        return cause(error.orig)
    text = " ".join(str(error).split()).rstrip(".")
    return text[:400] or type(error).__name__


def _next_step(error: BaseException) -> str:
    if isinstance(error, pika.exceptions.ChannelClosedByBroker):
        return "Run `mailward migrate`."
    return "Is it running, and is AMQP_URL (or CLOUDAMQP_URL) right?"


def _redis(error: redis.exceptions.RedisError, settings: Settings) -> str:
    where = f"Redis at {mask_url(settings.redis_url)}"
    if isinstance(error, redis.exceptions.AuthenticationError):
        return f"{where} refuses the password: {cause(error)}. Correct REDIS_URL."
    if isinstance(error, redis.exceptions.ConnectionError | redis.exceptions.TimeoutError):
        return f"{where} does not answer: {cause(error)}. Is it running, and is REDIS_URL right?{_tls_hint(error)}"
    return f"{where} refuses: {cause(error)}."


def _tls_hint(error: BaseException) -> str:
    if "CERTIFICATE_VERIFY_FAILED" not in str(error):
        return ""
    return " If it is your own server with a self-signed certificate (Heroku's are), set REDIS_TLS_VERIFY=false."


def _sql(error: sqlalchemy.exc.SQLAlchemyError, settings: Settings) -> str:
    where = f"SQL at {mask_url(settings.database_url)}"
    original = getattr(error, "orig", None)
    if any(word in f"{type(original).__name__} {original}" for word in _NO_TABLE):
        return f"{where} has not the tables of this version. Run `mailward migrate`."
    return f"{where}: {cause(error)}. Is it running, and is DATABASE_URL right?"
