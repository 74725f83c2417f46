"""What ``windrow bench`` does: lists experiments, runs them, and writes what they gave.

:mod:`windrow.cli.commands.bench` finds this module and calls :func:`execute`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.show.out import say_line
from windrow.cli.show.progress import human_seconds
from windrow.cli.show.steps import Steps
from windrow.cli.show.tables import figure_table
from windrow_experiments.model import Experiment, Result, Settings
from windrow_experiments.registry import UnknownExperiment, all_experiments, chosen
from windrow_experiments.run import Document, NotADocument, Outcome, run_experiments

__all__ = ["execute"]

_ALL = "all"


def execute(options: argparse.Namespace) -> int:
    _check(options)
    if options.earlier is not None:
        document = _read(Path(options.earlier))
        for outcome in document.outcomes:
            print(_text(outcome))
    elif options.experiments:
        document = _run(options)
    else:
        print(_listed())
        return 0
    _write(document, options)
    if document.failed:
        raise JobFailed("; ".join(f"{outcome.name}: {outcome.error}" for outcome in document.failed))
    return 0


def _check(options: argparse.Namespace) -> None:
    """What can be known to be wrong before minutes of work."""
    if options.earlier is not None and options.experiments:
        raise JobError("--from shows an earlier run: name no experiments with it")
    if not options.experiments and options.earlier is None and (options.json or options.html):
        raise JobError(f"name the experiments to run, or '{_ALL}'; windrow bench lists them")
    for name, path in (("--json", options.json), ("--html", options.html)):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise JobError(f"{name} {path}: there is no folder {Path(path).absolute().parent}")


def _chosen(names: list[str]) -> list[Experiment]:
    try:
        return chosen([] if _ALL in names else names)
    except UnknownExperiment as error:
        raise JobError(str(error)) from error


def _listed() -> str:
    rows = [[e.name, f"[{e.paper}] {e.where}", e.title] for e in all_experiments()]
    table = figure_table(["experiment", "in the paper", "what it shows"], rows, _width())
    return (
        f"{table}\n\nRun some by name, those of a paper (daba), or all: windrow bench all --html papers.html"
    )


def _run(options: argparse.Namespace) -> Document:
    experiments = _chosen(options.experiments)
    with Steps(len(experiments), quiet=options.quiet) as steps:
        settings = Settings(options.quick, options.seed, steps.tell)
        return run_experiments(
            experiments,
            settings,
            begun=lambda experiment: steps.begin(experiment.name),
            done=lambda outcome: print(_text(outcome), flush=True),
        )


def _text(outcome: Outcome) -> str:
    """An experiment on the terminal: its tables and findings."""
    lines = [f"== {outcome.name}: {outcome.title} ({human_seconds(outcome.seconds)})"]
    if outcome.error is not None:
        lines.append(f"failed: {outcome.error}")
    if outcome.result is not None:
        lines += _result_lines(outcome.result)
    return "\n".join([*lines, ""])


def _result_lines(result: Result) -> list[str]:
    from windrow_experiments.page import VERDICTS  # loads Numba, which a list of experiments does not need

    lines = []
    for table in result.tables:
        origin = " (the paper)" if table.source == "paper" else ""
        lines += ["", f"{table.title}{origin}", figure_table(table.columns, table.rows, _width())]
    if result.findings:
        lines.append("")
    for finding in result.findings:
        lines.append(f"{VERDICTS[finding.agrees][1]}: {finding.claim}")
        lines.append(f"    {finding.measured}")
        lines += [f"    {finding.why}"] if finding.why else []
    return lines


def _width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _read(path: Path) -> Document:
    try:
        return Document.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, NotADocument, json.JSONDecodeError) as error:
        raise JobError(f"--from {path}: {error}") from error


def _write(document: Document, options: argparse.Namespace) -> None:
    from windrow.cli.report import replace_file
    from windrow_experiments.page import papers_page

    if options.json is not None:
        replace_file(Path(options.json), json.dumps(document.as_dict(), indent=1) + "\n")
    if options.html is not None:
        replace_file(Path(options.html), papers_page(document))
    for path in (options.json, options.html):
        if path is not None:
            say_line(f"written: {path}")
