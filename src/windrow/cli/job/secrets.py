"""Values of options, and those among them that must not be shown.

A value is secret if it comes from the environment (``password = { env = "KAFKA_PASSWORD" }``) or if its name
says so. Secrets stand in no ``repr``, and are taken out of whatever is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["HIDDEN", "SECRET_NAMES", "Setting", "scrubbed"]

HIDDEN = "***"
#: names of options whose values are secrets; Spark is told the same
SECRET_NAMES = r"(?i)secret|passw|token|access[._-]?key|api[._-]?key|credential|jaas|private"
#: shorter values would take ordinary words out of messages
_SHORTEST = 4


@dataclass(frozen=True)
class Setting:
    """The value of an option.

    >>> Setting("password", "hunter2"), Setting("header", "true")
    (***, 'true')
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
    """The text without secrets.

    >>> scrubbed("cannot log in with hunter2", [Setting("password", "hunter2")])
    'cannot log in with ***'
    """
    for value in sorted({s.value for s in settings if s.is_secret}, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return text
