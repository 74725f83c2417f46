"""Jobs with expressions: the one of the guide, with rows for it."""

from __future__ import annotations

import re
from pathlib import Path

from support.cli_jobs import GOOD

CLI = (Path(__file__).parents[2] / "docs" / "job-file.md").read_text()
#: a stream of calls with a derived key, a derived value and rows left out
_COLUMNS = """\
[source.columns]
region = "upper(region)"
minutes = "len / 60"
unused = "len / (len - len)"

"""
DERIVED = GOOD.replace("[events]\n", f"{_COLUMNS}[events]\n")
DERIVED = DERIVED.replace(
    "stream = true\n", "stream = true\nwhere = \"caller <> 'c3' and region = 'NORTH'\"\n"
)
DERIVED = DERIVED.replace('n = "count()"', 'n = "count()"\nmean = "mean(minutes)"')
assert DERIVED.count("minutes") == 2


#: 30 columns, each of which reads the one before it twice, and ``where`` the last of them
_CHAIN = "".join(f'c{k + 1} = "c{k} + c{k} - case c{k} when 3 then 3 else c{k} end"\n' for k in range(30))
CHAINED = GOOD.replace("[events]\n", f'[source.columns]\nc0 = "len % 7"\n{_CHAIN}\n[events]\n')
CHAINED = CHAINED.replace("stream = true\n", 'stream = true\nwhere = "c30 between 1 and 4"\n')
CHAINED = CHAINED.replace('n = "count()"', 'n = "count()"\nchained = "sum(c30)"')


def guide_job() -> str:
    """The job of the guide."""
    (found,) = re.findall(r"equal results:\n\n```toml\n(.*?)```", CLI, re.DOTALL)
    return str(found)


def kafka_job() -> str:
    """The source of the guide, and the rest of a job."""
    (found,) = re.findall(r'```toml\n(\[source\]\nformat = "kafka".*?)```', CLI, re.DOTALL)
    rest = GOOD[GOOD.index("[events]") :].replace(
        'who = "arg_max(len, caller)"', 'last = "max(kafka_offset)"'
    )
    return f"{found}\n{rest}"


AVRO = """{"type": "record", "name": "Call", "fields": [
  {"name": "ts", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
  {"name": "region", "type": ["null", "string"]}, {"name": "len", "type": "long"}]}"""


def avro_job(schema: str) -> str:
    """The Kafka job with values of Avro: a schema, or the name of its file."""
    return kafka_job().replace('format = "json"', f"format = \"avro\"\nschema = '''{schema}'''", 1)


def write_guide_rows(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    start, regions = 1_714_564_800_000, ["north", " North ", "south", "test", "Demo", ""]
    lengths = ["12", " 75 ", "-", "0", "-4", "600", ""]
    lines = [
        f"{start + k * 97_001},{regions[k % len(regions)]},{lengths[k % len(lengths)]}" for k in range(200)
    ]
    (folder / "data" / "calls.csv").write_text("\n".join(["at,region,len", *lines, ""]))
