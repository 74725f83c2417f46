"""A table of a job file, read key by key: every key has a type, unknown ones are errors that name the
nearest known one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from windrow import names
from windrow.cli.errors import JobError, Mistakes
from windrow.cli.job.line_numbers import LineNumbers
from windrow.cli.job.secrets import Setting
from windrow.windows import KINDS

__all__ = ["REQUIRED", "Fields", "nearest"]

REQUIRED: Any = object()
_T = TypeVar("_T")
_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number", dict: "a table"}
_KINDS |= {list: "a list"}
#: keys that are needed, as they may be written
_EXAMPLES = {
    "format": '"parquet"',
    "path": '"data/"',
    "time": '"ts"',
    "kind": '"tumbling"',
    "name": '"hour"',
    "size": '"1h"',
    "evict_while": '"total.n - old.n >= 3"',
}
#: those of windows, by kind
_OF_WINDOWS = {name.lower(): {key.name: key.example for key in kind.job_keys} for name, kind in KINDS.items()}


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint at what was meant.

    >>> nearest("fromat", ["format", "path"]), nearest("xyz", ["format", "path"])
    ("did you mean 'format'?", 'known are format, path')
    """
    found = names.nearest(name, known)
    return f"did you mean {found!r}?" if found else f"known are {', '.join(known)}"


@dataclass(frozen=True)
class Fields:
    """One table."""

    data: Mapping[str, Any]
    places: LineNumbers
    table: str
    known: tuple[str, ...]
    number: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise JobError(f"{self.places.at(self.table)}: write it as one table, [{self.table}]")

    def reading(self) -> Mistakes:
        """What is wrong with the table's keys, to which their readers add; unknown keys are in it already."""
        unknown = [key for key in self.data if key not in self.known]
        return Mistakes(
            *(f"{self._place(key)}this key is not known: {nearest(key, self.known)}" for key in unknown)
        )

    def _place(self, key: str) -> str:
        return f"{self.places.at(self.table, key, self.number)}: "

    def refuse(self, key: str, message: str) -> NoReturn:
        raise JobError(self._place(key) + message)

    def checked(self, key: str, make: Callable[..., _T], *arguments: Any, **named: Any) -> _T:
        """What a function of windrow's own gives; what it refuses is an error of this key."""
        try:
            return make(*arguments, **named)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            self.refuse(key, str(error.args[0] if error.args else error))
        except RecursionError:
            self.refuse(key, "this is nested too deeply: write it simpler")

    # -- one key ---------------------------------------------------------------------------------------------

    def value(self, key: str, default: Any, *kinds: type) -> Any:
        if key not in self.data:
            if default is REQUIRED:
                self.miss(key, self._how_to_give(key, kinds))
            return default
        found = self.data[key]
        if type(found) not in kinds:
            wanted = " or ".join(_KINDS[kind] for kind in kinds)
            quoted = "" if type(found) in _KINDS else ", in quotes"
            self.refuse(key, f"{_shown(found)} is {_KINDS.get(type(found), 'a date')}: give {wanted}{quoted}")
        return found

    def miss(self, key: str, remedy: str) -> NoReturn:
        """Refuse a table without a key, unless one that is misspelled stands for it: that was reported."""
        meant = (names.nearest(each, self.known) for each in self.data if each not in self.known)
        if key in meant:
            raise JobError
        self.refuse(key, f"this key is missing: {remedy}")

    def _how_to_give(self, key: str, kinds: tuple[type, ...]) -> str:
        examples = _EXAMPLES | _OF_WINDOWS.get(str(self.data.get("kind")), {})
        if key in examples:
            return f"write for instance {key} = {examples[key]}"
        return f"give {' or '.join(_KINDS[kind] for kind in kinds)}"

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        found = self.value(key, default, str)
        if isinstance(found, str) and not found.strip():
            self.refuse(key, "this is empty")
        return found

    def flag(self, key: str, default: bool) -> bool:
        return bool(self.value(key, default, bool))

    def whole(self, key: str, default: Any = REQUIRED, least: int = 0) -> Any:
        found = self.value(key, default, int)
        if found is not None and found < least:
            self.refuse(key, f"{found} is too small: give {least} or more")
        return found

    def choice(self, key: str, allowed: Sequence[str], default: Any = REQUIRED) -> str:
        if key not in self.data and default is REQUIRED:
            self.miss(key, f"give one of {', '.join(allowed)}")
        found = self.text(key, default)
        if found not in allowed:
            self.refuse(key, f"{found!r} is not known: {nearest(found, allowed)}")
        return str(found)

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of them."""
        found = self.value(key, [], str, list)
        found = [found] if isinstance(found, str) else found
        if not all(isinstance(each, str) and each for each in found):
            self.refuse(key, f"{found!r}: give the name of a column or a list of names")
        if len(set(found)) != len(found):
            self.refuse(key, f"{found!r}: a column is named twice")
        return tuple(found)

    def settings(self, key: str) -> tuple[Setting, ...]:
        """Options by name: text, numbers, true or false, or ``{ env = "NAME" }``."""
        under = f"{self.table}.{key}"
        found = self.value(key, {}, dict)
        inner = Fields(found, self.places, under, tuple(found))
        mistakes = inner.reading()
        settings = tuple(mistakes.of(inner._setting, name) for name in found)
        mistakes.stop()
        return settings

    def _setting(self, name: str) -> Setting:
        found = self.data[name]
        if isinstance(found, dict) and list(found) == ["env"] and isinstance(found["env"], str):
            value = os.environ.get(found["env"])
            if value is None:
                self.refuse(name, f"the environment variable {found['env']} is not set")
            return Setting(name, value, from_environment=True)
        if isinstance(found, bool):
            return Setting(name, str(found).lower())
        if not isinstance(found, (str, int, float)):
            self.refuse(name, 'give text, a number, true, false, or { env = "NAME" } for a secret')
        return Setting(name, str(found))


def _shown(value: Any) -> str:
    text = repr(value) if type(value) in (str, int, float, dict, list) else str(value).lower()
    return text if len(text) <= 40 else text[:37] + "..."
