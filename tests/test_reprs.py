"""A query, an operator and the parts of a query print as code that makes them again."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.state import MemoryStore


def old_enough(total: Any, old: Any) -> bool:
    return bool(total.n - old.n >= 3)


def again(text: str) -> Any:
    lazy = {"quantile": wr.quantile, "wr": wr, "old_enough": old_enough}
    return eval(text, vars(wr) | lazy)


QUERIES = {
    "wr.query(time='ts', by='region', watermark='10m').window(day=Sliding('24h', slide='1m'))"
    ".agg(longest=max('len'))": wr.query(time="ts", by="region", watermark="10 minutes")
    .window(day=wr.Sliding("24h", slide="1m"))
    .agg(longest=wr.max("len")),
    "wr.query(time='t', by=['a', 'b'], watermark=2, allowed_lateness=5, late='return', order='o', "
    "empty='include', min_count=3, output='update', max_ahead=100).window(Tumbling(10))"
    ".agg(n=count(), p=quantile('v', q=0.9))": wr.query(
        time="t",
        by=["a", "b"],
        watermark=2,
        allowed_lateness=5,
        late="return",
        order="o",
        empty="include",
        min_count=3,
        output="update",
        max_ahead=100,
    )
    .window(wr.Tumbling(10))
    .agg(n=wr.count(), p=wr.quantile("v", 0.9)),
    "wr.query(time='t').rolling('1d').agg(v_sum=sum('v', nan='ignore'))": wr.query(time="t")
    .rolling("1d")
    .agg(wr.sum("v", nan="ignore")),
    "wr.query(time='t').rolling(rows=100).agg(n=count())": wr.query(time="t")
    .rolling(rows=100)
    .agg(n=wr.count()),
    "wr.query(time='t').rolling(Policy(old_enough)).agg(n=count())": wr.query(time="t")
    .rolling(wr.Policy(old_enough))
    .agg(n=wr.count()),
    "wr.query(time='t', by='k').asof('1d', '7 days', 'all', lag='1h').agg(n=count())": wr.query(
        time="t", by="k"
    )
    .asof("1d", "7 days", "all", lag="60m")
    .agg(n=wr.count()),
    "wr.query(time='t').asof(week=7)": wr.query(time="t").asof(week=7),
    "wr.query(time='t').asof(rows=[1, 5], closed='right', direction='forward')": wr.query(time="t").asof(
        rows=(1, 5), closed="right", direction="forward"
    ),
    "wr.query(time='t').asof('1mo', timezone='Europe/Berlin', **{'last year': '1y'})": wr.query(
        time="t"
    ).asof("1mo", timezone="Europe/Berlin", **{"last year": "1y"}),
    "wr.query(time='t').rolling('1h', '2h', closed='both', shift='-30m').agg(n=count())": wr.query(time="t")
    .rolling("1h", "2h", closed="both", shift="-30m")
    .agg(n=wr.count()),
    "wr.query(time='t').rolling(rows=5, shift=2)": wr.query(time="t").rolling(rows=5, shift=2),
    "wr.query(time='t').window(**{'last hour': Tumbling('1h')}).agg(n=count())": wr.query(time="t")
    .window(**{"last hour": wr.Tumbling("1h")})
    .agg(n=wr.count()),
    "wr.query(time='t')": wr.query(time="t"),
}


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_prints_as_the_code_that_makes_it(text: str) -> None:
    assert repr(QUERIES[text]) == text
    assert repr(again(text)) == text


def test_a_monoid_of_ones_own_prints_by_its_name() -> None:
    spread = wr.monoid(name="spread", lift=float, combine=max, identity=0.0)
    query = wr.query(time="t").rolling(rows=2).agg(s=spread("v"))
    assert repr(query).endswith(".agg(s=spread('v'))")


@pytest.mark.parametrize(
    "window",
    [
        wr.Tumbling("1d", offset="6h", timezone="Europe/Berlin"),
        wr.Sliding(10, slide=4),
        wr.Session("30m", max_size="2h"),
        wr.Session("30m", late_by="row"),
        wr.Cumulative("24h", step="1h"),
        wr.Fixed("2024-05-01", "1d"),
        wr.Fixed("2024-05-01", "1d", timezone="Europe/Berlin"),
        wr.Fixed(5, 10),
        wr.Rows(10, slide=5),
        wr.Delta("km", size=10, slide=2.5),
        wr.Punctuation("is done"),
        wr.Threshold("is late"),
        wr.Policy(old_enough),
    ],
    ids=repr,
)
def test_a_window_prints_as_the_code_that_makes_it(window: Any) -> None:
    assert again(repr(window)) == window


def test_events_print_as_their_query_with_the_kind_of_data() -> None:
    events = wr.events(pa.table({"t": [1]}), time="t").window(wr.Tumbling(10))
    assert repr(events) == "wr.events(<pyarrow Table>, time='t').window(Tumbling(10))"


def test_the_signature_of_events_lists_the_settings_of_a_query() -> None:
    assert list(inspect.signature(wr.events).parameters) == ["data", *inspect.signature(wr.query).parameters]


def test_an_operator_prints_its_query_and_what_it_holds() -> None:
    query = wr.query(time="t", by="k", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open()
    assert repr(operator) == f"<Operator of {query!r}: 0 keys, 0 slices, no watermark yet>"
    operator.push(pa.table({"t": [1, 4, 8], "k": ["a", "b", "a"]}))
    assert repr(operator) == f"<Operator of {query!r}: 2 keys, 2 slices, watermark 6>"
    operator.finish()
    assert repr(operator).endswith("finished>")


def test_a_store_prints_by_its_kind_alone() -> None:
    query = wr.query(time="t").rolling(rows=3, store=MemoryStore()).agg(n=wr.count())
    assert repr(query) == "wr.query(time='t').rolling(rows=3, store=<MemoryStore>).agg(n=count())"


def test_notebooks_show_queries_operators_and_plans_escaped() -> None:
    """Names come from users, and from data."""
    query = (
        wr.query(time="<t>", by="a&b", watermark=2)
        .window(**{"<i>": wr.Tumbling(10)})
        .agg(**{"<script>": wr.max("<v>")})
    )
    operator = query.open()
    operator.push(pa.table({"<t>": [1], "a&b": ["<k>"], "<v>": [1.0]}))
    shown = [query._repr_html_(), operator._repr_html_(), query.explain()._repr_html_()]  # type: ignore[attr-defined]
    for text in shown:
        for own in ("table", "caption", "tr", "th", "td", "pre"):
            text = text.replace(f"<{own}>", "").replace(f"</{own}>", "")
        assert "<" not in text
        assert "&lt;script&gt;" in text
    assert "<th>window &lt;i&gt;</th><td>Tumbling(10)</td>" in shown[0]
    assert "<caption>windrow Operator</caption><tr><th>holds</th><td>1 key, 1 slice, watermark" in shown[1]


def test_an_explanation_is_text() -> None:
    explained = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count()).explain()
    assert isinstance(explained, str)
    assert explained.startswith("rows: ")
