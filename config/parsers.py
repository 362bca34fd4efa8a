"""Turn the text of one environment variable into a value, or say in plain words what is wrong with it."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import TypeVar, cast
from urllib.parse import urlsplit

T = TypeVar("T")


class SettingsError(Exception):
    """One or more settings are wrong; `faults` has one plain sentence for each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Reader:
    """Reads variables and collects faults, so that a boot fails once with everything that is wrong."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._faults: list[str] = []

    def read(self, name: str, parse: Callable[[str], T], default: str) -> T:
        """Value of variable `name`, or of `default` where it is not set."""
        return self._parsed(name, parse, self._environ.get(name, default))

    def read_first(self, names: tuple[str, ...], parse: Callable[[str], T], default: str) -> T:
        """Value of the first variable of `names` that is set and not empty."""
        for name in names:
            if self._environ.get(name):
                return self._parsed(name, parse, self._environ[name])
        return self._parsed(names[0], parse, default)

    def read_secrets(self, name: str, parse: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
        """Secrets of variable `name`; not set means the feature is off, set but empty is a fault and opens no door."""
        if name not in self._environ:
            return ()
        return self._parsed(name, parse, self._environ[name])

    def fault(self, sentence: str) -> None:
        """Note a fault that only several variables together show."""
        self._faults.append(sentence)

    def raise_faults(self) -> None:
        """Raise SettingsError if any variable read so far was wrong."""
        if self._faults:
            raise SettingsError(self._faults)

    def _parsed(self, name: str, parse: Callable[[str], T], text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            self._faults.append(f"{name} {error}")
            return cast(T, None)


def boolean(text: str) -> bool:
    """true/false, yes/no, on/off, 1/0."""
    word = text.strip().lower()
    if word in {"true", "yes", "on", "1"}:
        return True
    if word in {"false", "no", "off", "0"}:
        return False
    raise ValueError(f"must be true or false, not {text!r}")


def integer(low: int, high: int) -> Callable[[str], int]:
    """A whole number from `low` to `high`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*[0-9]{1,9}\s*", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {text!r}")
        return int(text)

    return parse


def environment_name(text: str) -> str:
    """The environment's name: it becomes part of queue names and keys."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,30}", text):
        raise ValueError(f"must be a short lower-case word such as production or staging, not {text!r}")
    return text


def identifier_or_empty(text: str) -> str:
    """A SQL identifier that needs no quoting, or nothing."""
    if not re.fullmatch(r"([a-z_][a-z0-9_]{0,62})?", text):
        raise ValueError(f"must be a lower-case SQL name such as mailward, not {text!r}")
    return text


def amqp_url(text: str) -> str:
    """amqp:// or amqps:// with a host."""
    return _url(text, {"amqp", "amqps"}, "amqp://user:password@host:5672/vhost")


def redis_url(text: str) -> str:
    """redis:// or rediss:// with a host, or unix:// with a path."""
    return text if text.startswith("unix://") else _url(text, {"redis", "rediss"}, "redis://host:6379/0")


def database_url(text: str) -> str:
    """A SQLAlchemy URL; Heroku's postgres:// and plain postgresql:// become the psycopg dialect."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in {"sqlite", "postgres", "postgresql", "postgresql+psycopg"}:
        raise ValueError("must start with sqlite:///, postgres:// or postgresql://")
    return text if scheme == "sqlite" else f"postgresql+psycopg://{rest}"


def key_template(text: str) -> str:
    """The Redis key of a recipient; {address} stands for the address."""
    if text.count("{address}") != 1 or re.search(r"[{}]", text.replace("{address}", "")):
        raise ValueError(f"must hold {{address}} exactly once, as in recipient:{{address}}, not {text!r}")
    return text


def two_delays(text: str) -> tuple[int, ...]:
    """Seconds before the second and the third attempt, rising."""
    parts = text.split(",")
    if len(parts) != 2 or not all(re.fullmatch(r"\s*[0-9]{1,5}\s*", part) for part in parts):
        raise ValueError(f"must be two numbers of seconds such as 10,60, not {text!r}")
    first, second = int(parts[0]), int(parts[1])
    if not 1 <= first < second <= 86_400:
        raise ValueError(f"must rise and lie between 1 and 86400 seconds, not {text!r}")
    return first, second


def words(text: str) -> tuple[str, ...]:
    """A comma-separated list; empty parts are dropped."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def tokens(text: str) -> tuple[str, ...]:
    """API tokens, at least 16 characters each, ASCII without blanks."""
    found = words(text)
    if not all(re.fullmatch(r"[!-~]{16,}", token) for token in found):
        raise ValueError("must be tokens of at least 16 printable ASCII characters, separated by commas")
    return found


def key_or_empty(text: str) -> str:
    """A provider's API key: printable ASCII without blanks. Empty: none."""
    if not re.fullmatch(r"[!-~]*", text.strip()):
        raise ValueError("must be printable ASCII without blanks")
    return text.strip()


def http_url(text: str) -> str:
    """The base URL of an HTTP API, without a slash at its end."""
    return _url(text, {"http", "https"}, "https://api.example.com").rstrip("/")


def webhook_url_or_empty(text: str) -> str:
    """The URL of an incoming webhook. Empty: none."""
    return _url(text, {"http", "https"}, "https://hooks.example.com/services/…") if text.strip() else ""


def alert_format(text: str) -> str:
    """slack or json."""
    if text.strip().lower() not in {"slack", "json"}:
        raise ValueError(f"must be slack or json, not {text!r}")
    return text.strip().lower()


def webhook_secrets(text: str) -> tuple[str, ...]:
    """Standard Webhooks secrets: whsec_ and base64 of at least 16 bytes, separated by commas."""
    found = words(text)
    if not found:
        raise ValueError("is set but empty; remove it to switch the provider off, or give it the secret (whsec_…)")
    for secret in found:
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("holds a secret that is not whsec_ followed by base64") from None
        if not secret.startswith("whsec_") or len(key) < 16:
            raise ValueError("holds a secret that is not whsec_ followed by base64 of at least 16 bytes")
    return found


def log_level(text: str) -> str:
    """DEBUG, INFO, WARNING or ERROR."""
    if text.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise ValueError(f"must be DEBUG, INFO, WARNING or ERROR, not {text!r}")
    return text.upper()


def mask_url(url: str) -> str:
    """`url` with its password replaced by *** (and without the query, which may hold one)."""
    return re.sub(r"(://[^:/@]*):[^/]*@", r"\1:***@", url.partition("?")[0])


def _url(text: str, schemes: set[str], example: str) -> str:
    try:
        parts = urlsplit(text.strip())
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        port_is_fine = False
    if not port_is_fine or parts.scheme not in schemes or not parts.hostname:
        raise ValueError(f"must look like {example}")
    return text.strip()
