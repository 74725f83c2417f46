"""The page of the papers' experiments: each table or figure of a paper beside ours, and what agrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from windrow.cli.charts.figures import figures
from windrow.cli.charts.svg import COLOURS
from windrow.cli.charts.svg import Chart as Drawn
from windrow.cli.charts.svg import Series as Line
from windrow.cli.report.parts import head, table_of
from windrow.cli.show.progress import human_seconds
from windrow.cli.show.tables import figure
from windrow_experiments.model import Chart, Finding, Result, Table
from windrow_experiments.registry import PAPERS
from windrow_experiments.run import Document, Outcome

__all__ = ["VERDICTS", "papers_page"]

#: of a finding's ``agrees``: a class of the style, and a word
VERDICTS = {True: ("yes", "agrees"), False: ("no", "differs"), None: ("open", "not tested")}
_TITLES = {name.lower(): title for name, title in PAPERS.items()}


def papers_page(document: Document) -> str:
    """The report of a run as HTML."""
    return "\n".join(_parts(document))


def _parts(document: Document) -> Iterator[str]:
    style = files("windrow_experiments").joinpath("page.css").read_text(encoding="utf-8")
    yield head("The papers' experiments on windrow", style)
    yield "<h1>The papers' experiments on windrow</h1>"
    yield _lead(document)
    yield _numbers(document)
    yield _contents(document)
    papers = dict.fromkeys(outcome.paper for outcome in document.outcomes)
    for paper in papers:
        yield f"<h2>[{escape(paper)}] {escape(_TITLES.get(paper.lower(), ''))}</h2>"
        for outcome in document.outcomes:
            if outcome.paper == paper:
                yield from _section(outcome)
    yield "</body></html>"


def _lead(document: Document) -> str:
    about = ", ".join(f"{name} {value}" for name, value in document.machine.items())
    how_much = " A quick run: fewer sizes, operators and repeats than a full one." if document.quick else ""
    return (
        "<p>Each experiment of the papers that windrow's algorithms come from, run again on windrow. A "
        "paper's numbers are given where its text has them; of figures there is what it says about them. "
        "Counts of combines do not depend on the machine; times do.</p>"
        f'<p class="soft">Began {escape(document.started)}, took {human_seconds(document.seconds)}, seed '
        f"{document.seed}.{how_much}<br>{escape(about)}</p>"
    )


def _findings_of(document: Document) -> list[Finding]:
    return [f for outcome in document.outcomes if outcome.result for f in outcome.result.findings]


def _numbers(document: Document) -> str:
    verdicts = [finding.agrees for finding in _findings_of(document)]
    found = [(len(document.outcomes), "experiments")]
    found += [
        (verdicts.count(True), "statements that agree"),
        (verdicts.count(False), "statements that differ"),
        (verdicts.count(None), "statements not tested"),
    ]
    if document.failed:
        found.append((len(document.failed), "experiments that failed"))
    cells = (f"<div><b>{count:,}</b><span>{escape(what)}</span></div>" for count, what in found)
    return f'<div class="numbers">{"".join(cells)}</div><p>{escape(_conclusion(verdicts))}</p>'


def _conclusion(verdicts: Sequence[bool | None]) -> str:
    """Say in a sentence what the verdicts come to.

    >>> said = _conclusion([True, True, False, None])
    >>> "2 of the 3 statements that were tested hold" in said, "the other 1 has its reason" in said
    (True, True)
    """
    tested = [verdict for verdict in verdicts if verdict is not None]
    differing = f"; each of the other {tested.count(False)} has its reason below" if False in tested else ""
    return (
        f"What to conclude: {tested.count(True)} of the {len(tested)} statements that were tested hold for "
        f"windrow's implementation on this machine{differing}. Statements about combines hold everywhere, "
        f"those about times here only."
    )


def _contents(document: Document) -> str:
    items = ["<tr><th>Experiment</th><th>What it measures</th><th>Statements of the paper</th></tr>"]
    for outcome in document.outcomes:
        findings = outcome.result.findings if outcome.result else []
        counts = (
            f'<span class="{name}">{sum(f.agrees is agrees for f in findings)} {word}</span>'
            for agrees, (name, word) in VERDICTS.items()
            if any(f.agrees is agrees for f in findings)
        )
        shown = ", ".join(counts) if outcome.error is None else '<span class="no">failed</span>'
        link = f'<a href="#{escape(outcome.name)}">{escape(outcome.name)}</a>'
        items.append(f"<tr><td>{link}</td><td>{escape(outcome.title)}</td><td>{shown}</td></tr>")
    return f'<div class="scroll"><table>{"".join(items)}</table></div>'


def _section(outcome: Outcome) -> Iterator[str]:
    yield f'<section id="{escape(outcome.name)}"><h3>{escape(outcome.where)}: {escape(outcome.title)}</h3>'
    yield f"<p>{escape(outcome.what)}</p>"
    if outcome.error is not None:
        yield f'<p class="no">It failed: {escape(outcome.error)}</p>'
    if outcome.result is not None:
        yield from _result(outcome.result)
    took = human_seconds(outcome.seconds)
    yield f'<p class="soft">windrow bench {escape(outcome.name)}: {took}</p></section>'


def _result(result: Result) -> Iterator[str]:
    if result.how:
        yield f'<p class="soft">{escape(result.how)}</p>'
    if result.findings:
        yield _findings(result)
    if result.tables:
        yield f'<div class="pair">{"".join(map(_table, result.tables))}</div>'
    if result.charts:
        colours = _colours(result.charts)
        yield figures((_titled(c.title, c.source), c.note, _drawn(c, colours)) for c in result.charts)


def _findings(result: Result) -> str:
    rows = ["<tr><th>Result</th><th>The paper states</th><th>Measured here</th></tr>"]
    for finding in result.findings:
        name, word = VERDICTS[finding.agrees]
        why = f'<br><span class="soft">{escape(finding.why)}</span>' if finding.why else ""
        rows.append(
            f'<tr><td class="{name}">{word}</td><td>{escape(finding.claim)}</td>'
            f"<td>{escape(finding.measured)}{why}</td></tr>"
        )
    return f'<div class="scroll"><table class="findings">{"".join(rows)}</table></div>'


def _table(table: Table) -> str:
    rows = [list(table.columns), *([figure(cell) for cell in row] for row in table.rows)]
    note = f'<p class="soft">{escape(table.note)}</p>' if table.note else ""
    origin = "the paper" if table.source == "paper" else "here"
    tag = f'<span class="tag">{origin}</span>'
    return f"<div><h4>{tag} {escape(table.title)}</h4>{table_of(rows)}{note}</div>"


def _titled(title: str, source: str) -> str:
    return f"{title} (the paper)" if source == "paper" else title


def _colours(charts: Sequence[Chart]) -> dict[str, int]:
    """A line has the same colour in all charts of an experiment."""
    names = dict.fromkeys(series.name for chart in charts for series in chart.series)
    return {name: number % COLOURS for number, name in enumerate(names)}


def _drawn(chart: Chart, colours: dict[str, int]) -> Drawn:
    return Drawn(
        [Line(series.name, series.points) for series in chart.series],
        chart.y_label,
        chart.x_label,
        log_x=chart.log_x,
        log_y=chart.log_y,
        kind=chart.kind,
        is_marked=chart.kind == "line",
        colours=[colours[series.name] for series in chart.series],
    )
