"""The ten rolling questions of the public db-benchmark, against pandas, Polars and DuckDB with their threads
on.

    python bench/rollfun.py [--quick] [--only mean] [--json FILE]

Questions and rows are in ``sections/rollfun_questions.py``. Results are compared first, which also warms all
sides; then they run in turn, three times at least. windrow has as many threads as the machine has cores, as
the peers take by themselves; pandas rolls in one.
"""

from __future__ import annotations

import argparse
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from common import Settings, progress
from sections.alternating import TURNS, Part, alternate, clocked
from sections.rollfun_questions import QUESTIONS, Question, Tables

PEERS = ("pandas", "Polars", "DuckDB")
#: results of floats, summed in other orders, agree so far
TOLERANCE = 1e-6


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


def check(question: Question, tables: Tables) -> None:
    """The same numbers from all; in any order of columns and of rows, which DuckDB's tables need not keep."""
    wanted = None
    for name, run in sides(question, tables).items():
        columns = [np.sort(np.asarray(column, float)[1:]) for column in _columns(run(), question)]
        found = np.stack(sorted(columns, key=lambda column: float(np.nansum(column))))
        wanted = found if wanted is None else wanted
        assert found.shape == wanted.shape, f"{question.name}: {name} has {found.shape}, not {wanted.shape}"
        agrees = np.allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        assert agrees, f"{question.name}: {name} disagrees"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a million rows instead of ten")
    parser.add_argument("--rows", type=int, help="so many")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each side runs")
    parser.add_argument(
        "--only", action="append", choices=[q.name for q in QUESTIONS], help="may be given again"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures down, too")
    given = parser.parse_args()
    rows = given.rows or Settings(given.quick).pick(10_000_000, 1_000_000)
    part = Part("rollfun", f"Rolling, {rows:,} rows")
    part.about |= {"pandas": pd.__version__, "polars": pl.__version__, "duckdb": duckdb.__version__}
    tables = Tables(rows)
    for question in QUESTIONS:
        if given.only and question.name not in given.only:
            continue
        progress(f"{question.name}: results, then {given.turns} turns")
        check(question, tables)
        runs = {name: clocked(run) for name, run in sides(question, tables).items()}
        part.add(question.name, rows, alternate(runs, given.turns), {"windrow": PEERS})
    part.show()
    part.write(given.json)


if __name__ == "__main__":
    main()
