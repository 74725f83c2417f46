"""By which plan a checkpoint was made, and for which query where that plan is Spark's own.

State of windrow's plan has a header that describes its query. Spark's own has none: there the column that
Spark groups by is called after the query, and Spark keeps the names of columns in the schema of its state.
A checkpoint goes on with the plan and the query that it was made by; everything else is ``ChangedQuery``,
raised before the stream starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.engines.stream.stored_query import described
from windrow.errors import ChangedQuery
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MARK", "check_is_windrows", "check_plan", "check_same_query", "description_of", "descriptions_in"]

#: what the name of such a column begins with
MARK = "windrow's query "
#: Spark's names of the operators that hold its windows, and windrow's state
_SPARKS = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
_WINDROWS = "transformWithState"
#: what may change from one start to the next
_FREE = ("watermark", "allowed_lateness", "idle_timeout")


def description_of(query: Spec) -> str:
    """The name of the column that says of which query Spark's state is."""
    about = described(query)
    settings = {name: value for name, value in about["settings"].items() if name not in _FREE}
    return MARK + json.dumps(about | {"settings": settings})


def check_plan(
    given: Sequence[str], is_windrows: bool, checkpoint: str | None, session: SparkSession
) -> None:
    """Raise if a stream is of another plan than its checkpoint, or Spark's plan of another query. ``given``:
    descriptions of the queries on Spark's plan; ``is_windrows``: whether others are on windrow's."""
    if checkpoint is None or not _has_begun(checkpoint):
        return
    names = _names(checkpoint, session)
    has_windrows = any(name.startswith(_WINDROWS) for _, name in names)
    if not given:
        if is_windrows and not has_windrows and descriptions_in(checkpoint, session, names):
            raise ChangedQuery(_other_plan(checkpoint, "Spark's own plan", "windrow's", "spark"))
        return
    stored = descriptions_in(checkpoint, session, names)
    if not stored and has_windrows and not is_windrows:
        raise ChangedQuery(_other_plan(checkpoint, "windrow's plan", "Spark's own", "windrow"))
    for each in given:
        if stored and each not in stored:
            raise ChangedQuery(_other_query(checkpoint, stored[0], each))


def check_same_query(query: Spec, checkpoint: str, stored: Sequence[str]) -> None:
    """Raise unless a query is one of those that are described in a checkpoint of Spark's plan."""
    if query.plan == "windrow" or query.late != "drop":
        raise ChangedQuery(_other_plan(checkpoint, "Spark's own plan", "windrow's", "spark"))
    given = description_of(query)
    if given not in stored:
        raise ChangedQuery(_other_query(checkpoint, stored[0], given))


def check_is_windrows(query: Spec, checkpoint: str) -> None:
    """Raise if a query that asks for Spark's plan is given a checkpoint of windrow's."""
    if query.plan == "spark":
        raise ChangedQuery(_other_plan(checkpoint, "windrow's plan", "Spark's own", "windrow"))


def descriptions_in(
    checkpoint: str, session: SparkSession, names: Sequence[tuple[int, str]] | None = None
) -> list[str]:
    """The descriptions of the queries that a checkpoint holds on Spark's plan."""
    found = []
    for number, name in _names(checkpoint, session) if names is None else names:
        if name in _SPARKS:
            reader = session.read.format("statestore").option("operatorId", number)
            key: Any = reader.load(checkpoint).schema["key"].dataType
            found += [each for each in key.names if each.startswith(MARK)]
    return found


def _names(checkpoint: str, session: SparkSession) -> list[tuple[int, str]]:
    """The stateful operators of a stream: from files where they are on this machine, and else by Spark; none
    where neither finds them."""
    if "://" not in checkpoint:
        files = Path(checkpoint.removeprefix("file:")).glob("state/*/_metadata/**/*")
        texts = [each.read_text() for each in files if each.is_file() and not each.name.endswith(".crc")]
        infos = [json.loads(line)["operatorInfo"] for text in texts for line in text.splitlines()[1:]]
        return sorted({(int(each["operatorId"]), str(each["operatorName"])) for each in infos})
    from pyspark.errors import PySparkException

    try:
        found = session.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorName")
        return sorted({(int(number), str(name)) for number, name in found.collect()})
    except PySparkException:  # it cannot be read from here: the stream says why, if it is a matter
        return []


def _has_begun(checkpoint: str) -> bool:
    """Whether a micro-batch may have been completed; what is elsewhere may."""
    return "://" in checkpoint or any(Path(checkpoint.removeprefix("file:")).glob("commits/[0-9]*"))


def _other_plan(checkpoint: str, was: str, now: str, word: str) -> str:
    return (
        f"the checkpoint {checkpoint!r} was made by {was}, and this query runs on {now}: the plan of a "
        f"checkpoint is final. Write plan={word!r} with the query as it was, or name another checkpoint"
    )


def _other_query(checkpoint: str, was: str, given: str) -> str:
    changes = "; ".join(_changes(_flat(was), _flat(given))) or "the order of keys or aggregates has changed"
    return (
        f"the checkpoint {checkpoint!r} is of another query: {changes}. Spark's own plan goes on with the "
        f"query that it was made for, of which the watermark alone may change: name another checkpoint"
    )


def _changes(was: dict[str, str], given: dict[str, str]) -> Iterator[str]:
    for name in dict.fromkeys((*was, *given)):
        if name not in given:
            yield f"{name} is missing"
        elif name not in was:
            yield f"{name} is new"
        elif was[name] != given[name]:
            yield f"{name} was {was[name]}, is {given[name]}"


def _flat(text: str) -> dict[str, str]:
    about = json.loads(text.removeprefix(MARK))
    parts = (("window", about["windows"]), ("aggregate", about["aggregates"]))
    named = {
        f"{part} {name!r}" if name else f"the {part}": each for part, of in parts for name, each in of.items()
    }
    return about["settings"] | named
