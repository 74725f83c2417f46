"""What travels to Python workers: tasks, and a query as bytes, which
:mod:`windrow.engines.spark.worker.query_bytes` reads there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from windrow import monoids
from windrow.engines.spark.worker.lifetime import Task, lasting
from windrow.monoids.base import Monoid
from windrow.spec import Spec

__all__ = ["packed", "shipped"]


def packed(query: Spec) -> bytes:
    """The query as bytes, functions of the user's own included."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    # only what workers need to know of a query: its class may be of the user's making
    plain = Spec(**{name: getattr(query, name) for name in Spec.__dataclass_fields__})
    aggregates = [(name, a.columns, a.where, a.min_count, _by_name(a.monoid)) for name, a in query.aggregates]
    return bytes(dumps((replace(plain, aggregates=()), aggregates)))


def _by_name(monoid: Monoid) -> Monoid | str:
    return monoid.name if getattr(monoids, monoid.name, None) is monoid else monoid


def shipped(task: Task) -> Task:
    """A task for ``mapInArrow``. Workers without windrow cannot read it; they can read this function, which
    names nothing of windrow, and it says what to do."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    payload = bytes(dumps(lasting(task)))

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import importlib
        import pickle
        import sys

        try:
            importlib.import_module("windrow")
        except ModuleNotFoundError as error:
            raise RuntimeError(
                f"the Python of Spark's workers, {sys.executable}, cannot load windrow ({error}): install it "
                f"there, set PYSPARK_PYTHON to a Python that has it before the Spark session starts, or send "
                f"an archive of the environment along"
            ) from error
        yield from pickle.loads(payload)(batches)

    return run
