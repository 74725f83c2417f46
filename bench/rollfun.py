"""The ten rolling questions of the public db-benchmark, against pandas, Polars and DuckDB with their threads
on.

    python bench/rollfun.py [--quick] [--only mean] [--json FILE]

Questions and rows are in ``sections/rollfun_questions.py``. Results are compared first, which also warms all
sides; then they run in turn, three times at least. windrow has as many threads as the machine has cores, as
the peers take by themselves; pandas rolls in one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from common import Settings
from sections.alternating import Part, alternate, clocked
from sections.field_command import ask, field_parser
from sections.rollfun_questions import QUESTIONS, Question, Tables

PEERS = ("pandas", "Polars", "DuckDB")
#: results of floats, summed in other orders, agree so far; below the other one, in all their size
TOLERANCE, SMALL = 1e-6, 1e-3


def sides(question: Question, tables: Tables) -> dict[str, Any]:
    text = f"CREATE OR REPLACE TABLE answer AS SELECT {question.duckdb(tables)} FROM x"
    return {
        "windrow": lambda: question.windrow(tables),
        "pandas": lambda: question.pandas(tables),
        "Polars": lambda: question.polars(tables),
        "DuckDB": lambda: tables.duckdb.execute(text),
    }


def _columns(result: Any, question: Question) -> list[Any]:
    """Each column's numbers, from what a side gives."""
    if isinstance(result, pa.Table):
        chosen = [n for n in result.column_names if n.split("_")[0] in question.columns]
        return [result[name].to_numpy() for name in chosen]
    if isinstance(result, duckdb.DuckDBPyConnection):
        found = result.execute("SELECT * FROM answer").fetchnumpy()
        return [np.ma.filled(column, np.nan) for column in found.values()]
    values = result.to_numpy()
    return list(values.reshape(len(values), -1).T)


def differences(question: Question, tables: Tables) -> dict[str, float]:
    """By how much each peer's results differ from windrow's at most, as a share of them; in any order of
    columns and of rows, which DuckDB's tables need not keep. The first row has no regression: left out."""
    found = {}
    for name, run in sides(question, tables).items():
        columns = [np.sort(np.asarray(column, float)[1:]) for column in _columns(run(), question)]
        found[name] = np.stack(sorted(columns, key=lambda column: float(np.nansum(column))))
    ours = found.pop("windrow")
    return {
        name: float((np.abs(theirs - ours) / (np.abs(ours) + SMALL)).max()) for name, theirs in found.items()
    }


def agreeing(question: Question, tables: Tables, part: Part) -> list[str]:
    """Peers with the same results. Some lose digits where prices have become small: they are left out, with
    the difference; but one at least must say what windrow says."""
    same = []
    for name, difference in differences(question, tables).items():
        if difference <= TOLERANCE:
            same.append(name)
        else:
            part.skipped[f"{name}, {question.name}"] = f"its results differ by up to {100 * difference:.2g} %"
    assert same, f"{question.name}: nobody agrees with windrow"
    return same


def measure(question: Question, tables: Tables, turns: int, part: Part) -> None:
    same = agreeing(question, tables, part)
    runs = {
        name: clocked(run)
        for name, run in sides(question, tables).items()
        if name == "windrow" or name in same
    }
    part.add(question.name, tables.rows, alternate(runs, turns), {"windrow": PEERS})


def main() -> None:
    parser = field_parser(__doc__, "a million rows instead of ten", [q.name for q in QUESTIONS])
    parser.add_argument("--rows", type=int, help="so many")
    given = parser.parse_args()
    rows = given.rows or Settings(given.quick).pick(10_000_000, 1_000_000)
    part = Part("rollfun", f"Rolling, {rows:,} rows")
    part.about |= {"pandas": pd.__version__, "polars": pl.__version__, "duckdb": duckdb.__version__}
    tables = Tables(rows)
    questions = {
        question.name: partial(measure, question, tables, given.turns, part) for question in QUESTIONS
    }
    ask(part, questions, given)
    part.show()


if __name__ == "__main__":
    main()
