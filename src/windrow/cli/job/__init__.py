"""Job files: what may stand in one, and what it means. ``docs/cli.md`` has the reference."""

from windrow.cli.job.model import (
    FILE_FORMATS,
    KAFKA_COLUMNS,
    History,
    Job,
    Labels,
    Sink,
    Source,
    SparkSettings,
)
from windrow.cli.job.read import read_job

__all__ = [
    "FILE_FORMATS",
    "KAFKA_COLUMNS",
    "History",
    "Job",
    "Labels",
    "Sink",
    "Source",
    "SparkSettings",
    "read_job",
]
