"""Commands of ``windrow``, one after the other as they are given, in one process with one Spark session:
Spark takes its time to start.

    python windrow_commands.py SETTINGS   (JSON; each line of standard input is a command, a list in JSON)

Whatever a command says is in the output, and after it a line ``exit code N``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from support.processes import kill_group, wait_for

__all__ = ["Commands"]


class Commands:
    """``with Commands(settings, log) as commands:`` a process of its own."""

    def __init__(self, settings: Mapping[str, str], log: Path) -> None:
        self._log, self._read = log, 0
        paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, __file__, json.dumps(settings)],
                env=os.environ | paths,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def begin(self, *arguments: str) -> None:
        assert self._process.stdin is not None
        self._read = len(self._log.read_bytes())
        self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
        self._process.stdin.flush()

    def await_line(self, text: str) -> None:
        """Until the command says it."""

        def has_said() -> bool:
            said = self.said()
            assert text in said or self._is_running(said), said[-3_000:]
            return text in said

        wait_for(text, has_said)

    def finish(self, code: int) -> str:
        """Wait for the end of the command, which must be with this exit code; what it said."""
        wait_for("the end of a command", lambda: not self._is_running(self.said()))
        said, _, found = self.said().rpartition("exit code ")
        assert found.strip() == str(code), self.said()[-3_000:]
        return said

    def run(self, *arguments: str, code: int = 0) -> str:
        self.begin(*arguments)
        return self.finish(code)

    def said(self) -> str:
        """Since the command has begun."""
        return self._log.read_bytes()[self._read :].decode()

    def _is_running(self, said: str) -> bool:
        return "exit code " not in said and self._process.poll() is None

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        kill_group(self._process)


def main(settings: dict[str, str]) -> None:
    import windrow as wr
    from support.chaos_job import SETTINGS
    from windrow.cli.main import main as windrow

    wr.spark.session(SETTINGS | settings, master="local[2]").sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        code = windrow(json.loads(line))
        sys.stderr.flush()
        print("exit code", code, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
