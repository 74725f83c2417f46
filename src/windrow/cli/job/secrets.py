"""Values of options, and those among them that must not be shown.

A value is secret if it comes from the environment (``password = { env = "KAFKA_PASSWORD" }``) or if its name
says so. Secrets stand in no ``repr``, and are taken out of whatever is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

__all__ = ["HIDDEN", "SECRET_NAMES", "Setting", "scrubbed", "without_logins"]

HIDDEN = "***"
#: names of options whose values are secrets; Spark gets the same
SECRET_NAMES = (
    r"(?i)secret|passw|passphrase|pwd|(?:^|[._-])(?:pass|sas)(?:$|[._-])|token|signature"
    r"|(?:access|api|account)[._-]?key|credential|jaas|private|auth(?!enticate$)"
    r"|url$|uri$|dsn|connection[._-]?string"
)
#: shorter values, and these, would take ordinary words out of messages
_SHORTEST = 4
_ORDINARY = ("true", "false", "none", "null", "basic", "plain", "simple", "kerberos", "oauth")
#: secrets inside of values: of addresses, and of lists of options
_INSIDE = re.compile(
    r"""(?i)(?:passw\w*|passphrase|pwd|secret\w*|token|signature|sig)\s*=\s*["']?([^"'&;,\s]+)"""
)
_LOGIN = re.compile(r"(?<=://)[^\s@/?#]*:[^\s@]*@")


@dataclass(frozen=True)
class Setting:
    """The value of an option.

    >>> Setting("password", "hunter2"), Setting("url", "jdbc:x://host/db?user=me"), Setting("header", "true")
    (***, ***, 'true')
    """

    name: str
    value: str = field(repr=False)
    from_environment: bool = False

    @property
    def is_secret(self) -> bool:
        return self.from_environment or re.search(SECRET_NAMES, self.name) is not None

    def __repr__(self) -> str:
        return HIDDEN if self.is_secret else repr(self.value)


def scrubbed(text: str, settings: Iterable[Setting]) -> str:
    """The text without secrets, nor what is secret in them.

    >>> scrubbed("cannot log in with hunter2", [Setting("password", "hunter2")])
    'cannot log in with ***'
    >>> scrubbed("hunter2 is wrong", [Setting("url", "jdbc:postgresql://host/db?user=me&password=hunter2")])
    '*** is wrong'
    """
    for value in sorted(set(_secrets(settings)), key=len, reverse=True):
        if len(value) >= _SHORTEST and value.lower() not in _ORDINARY:
            text = text.replace(value, HIDDEN)
    return text


def _secrets(settings: Iterable[Setting]) -> Iterator[str]:
    for setting in settings:
        inside = _INSIDE.findall(setting.value)
        logins = [login[0][:-1].partition(":")[2] for login in _LOGIN.finditer(setting.value)]
        own = [setting.value] if setting.is_secret else []
        for value in (*own, *inside, *logins):
            yield from (value, unquote(value), repr(value)[1:-1])


def without_logins(text: str) -> str:
    """
    >>> without_logins("cannot reach redis://me:hunter2@host:6379/0")
    'cannot reach redis://***@host:6379/0'
    """
    return _LOGIN.sub(f"{HIDDEN}@", text)
