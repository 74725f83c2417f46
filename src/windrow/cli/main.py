"""What can be typed: the commands, their options, and the exit codes."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from windrow.cli.errors import USAGE

__all__ = ["main", "parser"]

#: what ``windrow state`` can do
STATE_ACTIONS = ("show", "save", "check", "fork", "rescale")

_ABOUT = """\
windrow aggregates windows over event data: a job file says where rows come
from, which windows they belong to, what is computed and where results go.

start here:
  windrow demo               phone calls, aggregated while you watch; a report
  windrow new calls          a commented job file and sample data, in calls/
  windrow check calls/job.toml
  windrow run calls/job.toml --engine local
  windrow run calls/job.toml --report report.html      (on Spark; needs Java)
"""
_ENDING = """\
exit codes: 0 done; 1 the job failed; 2 the job file or the command is wrong;
130 stopped by Ctrl-C or SIGTERM, after the running micro-batch.
Every key of a job file is explained in docs/cli.md; an installed windrow has
its pages in share/doc/windrow, below the folder of the Python environment.
"""


def parser() -> argparse.ArgumentParser:
    """All commands and options."""
    top = argparse.ArgumentParser(
        "windrow",
        description=_ABOUT,
        epilog=_ENDING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _demo(commands.add_parser("demo", help="run an example and write a report of it; --spark: on Spark"))
    _run(commands.add_parser("run", help="run a job"))
    _replay(commands.add_parser("replay", help="run a job over stored input at a chosen speed"))
    check = commands.add_parser("check", help="find mistakes in a job before it runs")
    _job(check)
    check.add_argument("--rows", type=int, default=1_000, help="rows to try the job on (default: 1000)")
    check.add_argument(
        "--engine", choices=("spark", "local"), default="spark", help="where it is to run (default: spark)"
    )
    explain = commands.add_parser("explain", help="show what a job will do, and what it costs")
    _job(explain)
    explain.add_argument("--spark", action="store_true", help="start Spark and also show its plan")
    verify = commands.add_parser(
        "verify", help="recompute a sample of keys in batch and compare with what a job wrote"
    )
    _job(verify)
    verify.add_argument("--sample", type=int, default=100, help="keys to compare (default: 100)")
    verify.add_argument(
        "--engine", choices=("spark", "local"), default="spark", help="what reads both (default: spark)"
    )
    new = commands.add_parser("new", help="make a commented job file and sample data to start from")
    new.add_argument("folder", help="the folder to make")
    _serve(commands.add_parser("serve", help="show results that were written, or a checkpoint, on a page"))
    commands.add_parser("schema", help="print the JSON Schema of job files, for editors")
    _state(commands.add_parser("state", help="show, save, verify, copy or rescale what a stream keeps"))
    _bench(commands.add_parser("bench", help="run the papers' experiments again, in a clone of windrow"))
    return top


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--spark", action="store_true", help="on Spark, compared with its window(); needs Java"
    )
    command.add_argument("--calls", type=int, help="phone calls (default: 20000; on Spark 250000)")
    command.add_argument(
        "--sample",
        type=int,
        default=20_000,
        help="calls of the comparison on Spark; 0: none (default: 20000)",
    )
    command.add_argument(
        "--folder", default="windrow-demo", help="where calls, results and report go (default: windrow-demo)"
    )


def _state(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> argparse.ArgumentParser:
        found = actions.add_parser(name, help=about, description=about)
        found.add_argument("checkpoint", help="the folder that the job names as its checkpoint")
        _conf(found, "a Spark setting; NAME=env:VARIABLE for a secret")
        return found

    show = action("show", "show the slices that a stream keeps (the default action)")
    show.add_argument("--rows", type=int, default=20, help="slices to show (default: 20)")
    show.add_argument("--json", action="store_true", help="all slices, one JSON object a line")
    save = action("save", "write all slices to a file")
    save.add_argument("file", metavar="FILE", help="the file to write: .parquet, .csv or .jsonl")
    action("check", "read all of the state and verify it")
    fork = action("fork", "copy the checkpoint of a stopped stream; another stream resumes from the copy")
    fork.add_argument("--to", required=True, metavar="FOLDER", help="where the copy goes")
    rescale = action("rescale", "copy a checkpoint with its state in another number of partitions")
    rescale.add_argument("--to", required=True, metavar="FOLDER", help="where the copy goes")
    rescale.add_argument(
        "--partitions", required=True, type=int, help="spark.sql.shuffle.partitions from now on"
    )


def _serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", help="a file or folder of results, or the checkpoint of a stream")
    command.add_argument(
        "--at", default=":8080", metavar="HOST:PORT", help="the address (default: :8080, localhost only)"
    )
    _conf(command, "for a checkpoint: a Spark setting; NAME=env:VARIABLE for a secret")


def _bench(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="such as daba-table2; a paper (daba, ra, mta, scotty); or all. Without one: list them",
    )
    command.add_argument("--quick", action="store_true", help="fewer sizes, operators and repeats")
    command.add_argument("--seed", type=int, default=7, help="of the values that are drawn (default: 7)")
    command.add_argument("--json", metavar="FILE.json", help="write all figures, as docs/papers.md says")
    command.add_argument("--html", metavar="FILE.html", help="write a report, one HTML file")
    command.add_argument(
        "--from", dest="earlier", metavar="FILE.json", help="run nothing: show what an earlier run wrote"
    )
    command.add_argument("--quiet", action="store_true", help="show no progress")


def _job(command: argparse.ArgumentParser) -> None:
    command.add_argument("job", help="the job file (TOML)")
    command.add_argument(
        "--monoids",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run this Python file and let the job use the aggregates it defines",
    )
    _conf(command, "a Spark setting, before the job's; NAME=env:VARIABLE for a secret")


def _conf(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help=about)


def _running(command: argparse.ArgumentParser) -> None:
    _job(command)
    command.add_argument(
        "--engine", choices=("spark", "local"), default="spark", help="where to run (default: spark)"
    )
    command.add_argument("--json", action="store_true", help="progress as JSON lines on the standard output")
    command.add_argument("--quiet", action="store_true", help="show no progress")
    command.add_argument("--report", metavar="FILE.html", help="write a report of the run, one HTML file")
    command.add_argument(
        "--metrics",
        metavar="HOST:PORT",
        help="expose Prometheus metrics at this address while the job runs; :9100 listens on localhost only",
    )
    command.add_argument(
        "--serve",
        metavar="HOST:PORT",
        help="show the run on a page; :8080 listens on localhost only, other hosts need the printed token",
    )
    command.add_argument(
        "--stay",
        action="store_true",
        help="keep serving the page and metrics after the run, until Ctrl-C",
    )
    command.add_argument("--overwrite", action="store_true", help="local engine: replace earlier results")
    command.add_argument("--verbose", action="store_true", help="show what Spark logs, and whole errors")


def _run(command: argparse.ArgumentParser) -> None:
    _running(command)
    command.add_argument(
        "--batch-rows", type=int, default=65_536, help="local engine: rows read at a time (default: 65536)"
    )


def _replay(command: argparse.ArgumentParser) -> None:
    _running(command)
    command.add_argument(
        "--speed",
        default="60",
        help="event time against the clock: 60 plays a minute in a second; max: no waiting (default: 60)",
    )
    command.add_argument("--out", metavar="FOLDER", help="write the results there, as parquet")
    command.add_argument(
        "--tick", type=float, default=1.0, help="seconds between two batches of rows (default: 1)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    top = parser()
    try:
        options = top.parse_args(_with_action(sys.argv[1:] if arguments is None else list(arguments)))
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    if options.version:
        from windrow import __version__

        print(f"windrow {__version__}")
        return 0
    if options.command is None:
        top.print_help()
        return USAGE
    return _guarded(options)


def _with_action(arguments: list[str]) -> list[str]:
    """``windrow state CHECKPOINT`` shows it.

    >>> _with_action(["state", "point", "--json"]), _with_action(["state", "check", "point"])
    (['state', 'show', 'point', '--json'], ['state', 'check', 'point'])
    """
    if arguments[:1] != ["state"] or len(arguments) < 2 or arguments[1] in (*STATE_ACTIONS, "-h", "--help"):
        return arguments
    return ["state", "show", *arguments[1:]]


def _guarded(options: argparse.Namespace) -> int:
    from windrow.cli.guard import guarded

    def execute() -> int:
        command = importlib.import_module(f"windrow.cli.commands.{options.command}")
        return int(command.execute(options) or 0)

    return guarded(execute, getattr(options, "verbose", False))
