"""``windrow schema``: the JSON Schema of job files, for editors."""

from __future__ import annotations

import argparse
import json

from windrow.cli.job.schema import job_schema

__all__ = ["execute"]


def execute(options: argparse.Namespace) -> int:
    print(json.dumps(job_schema(), indent=2))
    return 0
