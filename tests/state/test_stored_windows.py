"""Windows on stores: what is kept, what comes back, and what they ask of a store."""

from __future__ import annotations

import threading
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.monoids.base import monoid
from windrow.state import (
    MemoryStore,
    StateError,
    Store,
    StoreUnavailable,
    UnstorableValue,
    WindowTaken,
    windows,
)
from windrow.swag.mta import MonoidTree
from windrow.swag.mta_open import delete_window
from windrow.swag.mta_stored import flush_together

TEXT = monoid(name="text", lift=str, combine=lambda a, b: a + b, identity="", compile=False)
both = pytest.mark.parametrize("algorithm", [wr.swag.LogMTA, wr.swag.AMTA])
Algorithm = type[MonoidTree]


def filled(window: Any, values: Iterable[Any]) -> Any:
    for value in values:
        window.insert(value)
    return window


def copied(store: MemoryStore) -> MemoryStore:
    """What a store holds at this moment: what a process that is killed now leaves behind."""
    copy = MemoryStore()
    with store._lock:
        copy.values = dict(store.values)
    return copy


# -- crashes at any moment ---------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.one_of(st.sampled_from("abcdef"), st.none())),
        st.tuples(st.just("insert"), st.sampled_from("abcdef")),
        st.tuples(st.just("evict"), st.just(1)),
        st.tuples(st.just("evict"), st.integers(0, 40)),
        st.tuples(st.sampled_from(["flush", "crash", "query", "check"]), st.none()),
    ),
    max_size=120,
)


def described(state: list[Any]) -> tuple[int, str, list[int]]:
    nulls = [position for position, value in enumerate(state) if value is None]
    return len(state), "".join(filter(None, state)), nulls


@both
@settings(max_examples=150)
@given(
    steps=STEPS,
    buffer=st.sampled_from([1, 2, 3, 9]),
    cache=st.sampled_from([1, 2, 3, 9]),
    block=st.sampled_from([1, 2, 3, 4]),
    durability=st.sampled_from(["buffered", "flush", "each"]),
)
def test_a_window_after_a_crash_is_one_it_was_and_none_before_the_last_flush(
    algorithm: Algorithm, steps: list[tuple[str, Any]], durability: Any, **sizes: int
) -> None:
    store = MemoryStore()
    window = algorithm.open(store, "w", TEXT, durability=durability, **sizes)
    states: list[list[Any]] = [[]]  # since the last flush
    for step, argument in steps:
        now = states[-1]
        if step == "insert":
            window.insert(argument)
            states.append([*now, argument])
        elif step == "evict":
            count = min(argument, len(now))
            window.evict_many(count)
            states.append(now[count:])
        elif step == "flush":
            window.flush()
            states = [now]
        elif step == "query":
            assert window.query() == "".join(filter(None, now))
        elif step == "check":
            window.check_invariants()
        else:
            after = copied(store)
            window = algorithm.open(after, "w", TEXT, durability=durability, **sizes)
            window.check_invariants()
            nulls = [position - window._evicted for position in window._null_positions]
            seen = len(window), window.query(), nulls
            found = next(state for state in states if described(state) == seen)
            assert durability != "each" or found == now
            store.close()
            store, states = after, [found]
        if durability == "each" and step in ("insert", "evict"):
            states = states[-1:]
    window.evict_many(len(window))
    window.flush()
    window.flush()
    dead = list(store.scan(b"wb"))
    assert len(dead) <= 2 * 10, "of each level at most the block with the head stays"
    store.close()


@both
def test_results_go_on_bit_by_bit(algorithm: Algorithm, store: Store) -> None:
    """Floats round by how they are grouped, so a window that is opened again must group them as before."""
    values = [((number * 7919) % 1000) / 7 for number in range(1500)]
    plain = algorithm(wr.var)
    window = algorithm.open(store, "w", wr.var, buffer=50, cache=16, block=8)
    for number, value in enumerate(values):
        for each in (plain, window):
            each.insert(value)
            if number >= 400:
                each.evict()
        if number % 97 == 0:
            window.close()
            window = algorithm.open(store, "w", wr.var, buffer=50, cache=16)
        assert window.query() == plain.query()


# -- policies ----------------------------------------------------------------------------------------------


@both
def test_the_policy_example_of_section_3_2(algorithm: Algorithm, store: Store) -> None:
    update = namedtuple("update", "sum last max")
    latest = monoid(
        name="latest",
        lift=lambda v: update(v, v, v),
        combine=lambda a, b: update(a.sum + b.sum, b.last, max(a.max, b.max)) if b.sum else a,
        lower=lambda p: p.max,
        identity=update(0, 0, 0),
    )
    window = algorithm.open(store, "w", latest, buffer=1, cache=1, block=1)
    results = []
    for value in (2, 2, 3, 3, 4):
        window.insert(value)
        evicted = window.evict_while(lambda total, old: total.sum - old.sum + old.last > 10)
        results.append((window.query(), evicted, len(window)))
    assert results == [(2, 0, 1), (2, 0, 2), (3, 0, 3), (3, 0, 4), (4, 2, 3)]


@both
def test_a_time_policy_over_irregular_arrivals(algorithm: Algorithm, store: Store) -> None:
    timed = wr.together(time=wr.max, n=wr.count, first=wr.min)
    window = algorithm.open(store, "w", timed, buffer=8, cache=4, block=2)
    kept: list[int] = []
    now = 0
    for number in range(600):
        now += number * number % 13 + (100 if number % 150 == 149 else 0)
        window.insert(now)
        kept = [time for time in [*kept, now] if now - time < 60]
        window.evict_while(lambda total, old: total.time - old.time >= 60)
        assert window.query() == {"time": now, "n": len(kept), "first": kept[0]}


@both
def test_a_max_policy_drops_what_can_never_win_again(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 3: of the last 50 rows, those before the largest can go, and no result changes."""
    window = algorithm.open(store, "w", wr.together(n=wr.count, top=wr.max), buffer=4, cache=2, block=2)
    values = [number * 37 % 101 + number // 2 for number in range(300)]
    sizes = []
    for number, value in enumerate(values):
        window.insert(value)
        window.evict_while(lambda total, old: total.n - old.n >= 50 or old.top < total.top)
        assert window.query()["top"] == max(values[max(0, number - 49) : number + 1])
        sizes.append(len(window))
    assert sum(sizes) / len(sizes) < 35


@both
def test_a_longest_run_policy_drops_what_can_never_win_again(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 3 for LIS: rows before the last run go while that is the longest."""
    window = algorithm.open(store, "w", wr.longest_run, buffer=4, cache=2, block=2)
    whole = wr.swag.TwoStacks(wr.longest_run)
    for number in range(400):
        value = number * number % (9 + number // 20)
        window.insert(value)
        whole.insert(value)
        window.evict_while(lambda total, old: total[4] == total[5] and old[0] <= total[0] - total[4])
        assert window.query() == whole.query()
    assert len(window) < 300


@both
def test_several_aggregates_share_one_window(algorithm: Algorithm, store: Store) -> None:
    """[MTA] experiment 5."""
    together = wr.together(
        n=wr.count, total=wr.sum, top=wr.max, who=wr.arg_max, mid=wr.median, spread=wr.range
    )
    window = algorithm.open(store, "w", together, buffer=8, cache=4, block=2)
    rows = [(number * 31 % 50, f"row {number}") for number in range(200)]
    for number, row in enumerate(rows):
        window.insert(*row)
        if number >= 60:
            window.evict()
        if number % 50 == 20:
            window.close()
            window = algorithm.open(store, "w", together)
    last = rows[-60:]
    oracle = wr.swag.Recalc(together)
    for row in last:
        oracle.insert(*row)
    assert window.query() == oracle.query()
    assert type(window.query_partial()) is type(together.identity)


# -- nulls and times ---------------------------------------------------------------------------------------


@both
def test_nulls_are_kept_in_the_store(algorithm: Algorithm, store: Store) -> None:
    window = algorithm.open(store, "w", wr.sum, buffer=4, cache=4, block=2)
    filled(window, [None if number % 3 else number for number in range(300)])
    window.close()
    window = algorithm.open(store, "w", wr.sum)
    assert window.query() == sum(range(0, 300, 3))
    window.evict_many(250)
    assert window.query() == sum(range(252, 300, 3))
    window.evict_many(48)
    assert (window.query(), len(window)) == (None, 2)  # 298 and 299 are null
    window.insert(5)
    assert window.query() == 5


def test_windows_by_time_go_on(store: Store) -> None:
    times = [number * number % 7 + number * 3 for number in range(120)]
    times.sort()
    values = [float(number) for number in range(120)]
    plain = wr.swag.AMTA(wr.sum)
    for start in range(0, 120, 30):
        batch = times[start : start + 30], values[start : start + 30]
        with wr.swag.AMTA.open(store, "w", wr.sum, buffer=4, cache=2, block=2) as window:
            assert window.roll_time(*batch, size=40) == plain.roll_time(*batch, size=40)


def test_roll_goes_on(store: Store) -> None:
    values = [float(number * 7 % 31) for number in range(300)]
    expected = wr.swag.AMTA(wr.mean).roll(values, size=50)
    results: list[Any] = []
    for start in range(0, 300, 100):
        with wr.swag.AMTA.open(store, "w", wr.mean, buffer=16) as window:
            results += window.roll(values[start : start + 100], size=50)
    assert results == expected


# -- one window, one user; many windows --------------------------------------------------------------------


def test_another_aggregate_or_algorithm_is_refused(store: Store) -> None:
    with wr.swag.AMTA.open(store, "w", wr.quantile(0.9)) as window:
        window.insert(1.0)
    with pytest.raises(StateError, match=r"'quantile\(q=0.9, k=200\)' and is opened with 'quantile\(q=0.5"):
        wr.swag.AMTA.open(store, "w", wr.quantile(0.5))
    with wr.swag.AMTA.open(store, "x", wr.together(seen=wr.bloom(bits=128))) as window:
        window.insert(1.0)
    with pytest.raises(StateError, match="stored with identity"):
        wr.swag.AMTA.open(store, "x", wr.together(seen=wr.bloom(bits=256)))
    with pytest.raises(StateError, match=r"together\(seen='bloom'\)\" and is opened with \"together\(n="):
        wr.swag.AMTA.open(store, "x", wr.together(n=wr.count))
    with pytest.raises(StateError, match="algorithm 'AMTA' and is opened with 'LogMTA'"):
        wr.swag.LogMTA.open(store, "w", wr.quantile(0.9))


def test_only_the_last_to_open_a_window_writes(store: Store) -> None:
    first = filled(wr.swag.AMTA.open(store, "w", TEXT), "abc")
    first.flush()
    second = filled(wr.swag.AMTA.open(store, "w", TEXT), "de")
    second.flush()
    first.insert("x")
    with pytest.raises(WindowTaken, match="open it anew"):
        first.flush()
    second.insert("f")
    second.close()
    assert wr.swag.AMTA.open(store, "w", TEXT).query() == "abcdef"
    with pytest.raises(StateError, match="is closed"):
        second.insert("g")
    with pytest.raises(StateError, match="is closed"):
        second.flush()


def test_windows_do_not_touch_each_other(store: Store) -> None:
    names = ["a", "ab", "a\0", "ä", "", "a" * 300][:4]
    for name in names:
        filled(wr.swag.AMTA.open(store, name, TEXT, buffer=4, block=2), name * 9).close()
    delete_window(store, "a")
    assert sorted(windows(store)) == sorted(names[1:])
    for name in names[1:]:
        assert wr.swag.AMTA.open(store, name, TEXT).query() == name * 9
    assert wr.swag.AMTA.open(store, "a", TEXT).query() == ""


def test_a_window_of_an_id_that_was_deleted_starts_empty_and_reads_nothing_old(store: Store) -> None:
    filled(wr.swag.AMTA.open(store, "w", TEXT, block=2), "abcdefgh").close()
    old = {key: store.get(key) for key in store.scan(b"wb")}
    delete_window(store, "w")
    window = filled(wr.swag.AMTA.open(store, "w", TEXT, block=2, cache=1, buffer=1), "ABCDEFGHIJKL")
    window.flush()
    store.write([(key, value) for key, value in old.items() if value is not None])  # an old copy is put back
    with pytest.raises(StateError, match="earlier window of the same id"):
        [(window.query(), window.evict()) for _ in range(8)]


def test_windows_are_flushed_together_or_not_at_all() -> None:
    store = MemoryStore()
    keys = [
        wr.swag.AMTA.open(store, f"key {number}", TEXT, durability="flush", buffer=4, block=2)
        for number in range(5)
    ]
    for window in keys:
        filled(window, "abcdefghijklmn")
    flush_together(keys, [(b"offset", b"14")])
    for window in keys:
        filled(window, "opqrstuvwxyz")
    lost = copied(store)
    assert lost.get(b"offset") == b"14"
    for number in range(5):
        again = wr.swag.AMTA.open(lost, f"key {number}", TEXT, durability="flush")
        assert again.query() == "abcdefghijklmn"
        filled(again, "OPQ").close()
        assert wr.swag.AMTA.open(lost, f"key {number}", TEXT).query() == "abcdefghijklmnOPQ"
    with pytest.raises(ValueError, match="different stores"):
        flush_together([keys[0], wr.swag.AMTA.open(lost, "key 0", TEXT)])


def test_windows_that_did_not_change_are_not_written_again() -> None:
    store = Flaky()
    keys = [filled(wr.swag.AMTA.open(store, f"key {n}", TEXT, durability="flush"), "abc") for n in range(5)]
    flush_together(keys, sync=False)
    flush_together(keys, sync=True)
    keys[2].insert("d")
    before = [window.metrics.checkpoints for window in keys]
    flush_together(keys)
    flush_together(keys, [(b"offset", b"4")])
    assert [window.metrics.checkpoints - b for window, b in zip(keys, before, strict=True)] == [0, 0, 1, 0, 0]
    assert store.get(b"offset") == b"4"
    assert wr.swag.AMTA.open(store, "key 2", TEXT).query() == "abcd"
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        flush_together(keys, [(b"offset", b"5")])


def test_blocks_spilled_after_the_last_flush_are_deleted_when_the_window_is_opened_again() -> None:
    store = MemoryStore()
    window = filled(wr.swag.AMTA.open(store, "w", wr.sum, durability="flush", buffer=4, block=2), range(10))
    window.flush()
    before = len(list(store.scan(b"w")))
    filled(window, range(500))
    store.writer.submit(int).result()
    lost = copied(store)
    assert len(lost) > before + 200
    again = wr.swag.AMTA.open(lost, "w", wr.sum, durability="flush", block=2)
    lost.writer.submit(int).result()
    assert again.query() == sum(range(10))
    assert len(lost) <= before + 1
    again.check_invariants()


def test_blocks_spilled_before_the_first_flush_are_deleted_as_well() -> None:
    store = MemoryStore()
    filled(wr.swag.AMTA.open(store, "w", wr.sum, durability="flush", buffer=4, block=2), range(500))
    store.writer.submit(int).result()
    lost = copied(store)
    assert len(lost) > 100
    window = filled(wr.swag.AMTA.open(lost, "w", wr.sum, durability="flush", buffer=4, block=2), range(30))
    window.flush()
    assert len(lost) < 40
    assert wr.swag.AMTA.open(copied(lost), "w", wr.sum).query() == sum(range(30))


# -- a store that fails ------------------------------------------------------------------------------------


class Flaky(MemoryStore):
    """Fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.calls = 0

    def _try(self) -> None:
        self.calls += 1
        if self.is_away:
            raise StoreUnavailable("away")

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._try()
        return super().get_many(keys)

    def write(self, *arguments: Any, **options: Any) -> None:
        self._try()
        super().write(*arguments, **options)


@both
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 2, 2), (9, 3, 3)])
def test_an_operation_that_fails_has_changed_nothing_and_can_be_repeated(
    algorithm: Algorithm, sizes: Any
) -> None:
    store = Flaky()
    buffer, cache, block = sizes
    window = algorithm.open(store, "w", TEXT, buffer=buffer, cache=cache, block=block)
    text = ""
    failures = 0

    def insist(operation: Any) -> Any:
        nonlocal failures
        for attempt in range(100):
            try:
                return operation()
            except StoreUnavailable:
                failures += 1
                window_is = len(window)
                assert window_is == len(text)
                if attempt % 3 == 2:
                    store.is_away = False
        raise AssertionError("the store is back, and the window is not")

    for number in range(400):
        store.is_away = number % 11 == 5
        letter = chr(97 + number % 26)
        insist(lambda: window.insert(letter))  # noqa: B023
        text += letter
        if number % 5:
            insist(window.evict) if text else None
            text = text[1:]
        assert insist(window.query) == text
    store.is_away = False
    window.flush()
    again = algorithm.open(copied(store), "w", TEXT)
    assert again.query() == text
    again.check_invariants()
    assert failures >= 3


def test_a_failed_flush_can_be_repeated_and_loses_nothing_confirmed() -> None:
    store = Flaky()
    window = filled(wr.swag.AMTA.open(store, "w", TEXT, buffer=4, block=2), "abcdefgh")
    window.flush()
    store.is_away = True
    window.insert("i")
    with pytest.raises(StoreUnavailable, match="away"):
        window.flush()
    assert wr.swag.AMTA.open(copied(store), "w", TEXT).query() == "abcdefgh"
    store.is_away = False
    window.flush()
    assert wr.swag.AMTA.open(copied(store), "w", TEXT).query() == "abcdefghi"


def test_a_partial_that_has_no_stored_form_is_named() -> None:
    odd = monoid(name="odd", lift=lambda v: object(), combine=lambda a, b: a, identity=None)
    window = wr.swag.AMTA.open(MemoryStore(), "w", odd)
    window.insert(1)
    with pytest.raises(UnstorableValue, match="type object has no stored form"):
        window.flush()


def test_an_identity_of_any_type_comes_back_as_itself() -> None:
    nothing = object()
    longest = monoid(
        name="longest",
        lift=str,
        combine=lambda a, b: b if a is nothing else a if b is nothing or len(a) >= len(b) else b,
        lower=lambda p: None if p is nothing else p,
        identity=nothing,
    )
    store = MemoryStore()
    for start in range(0, 60, 10):
        with wr.swag.AMTA.open(store, "w", longest, buffer=2, cache=2, block=2) as window:
            filled(
                window,
                [None if number % 4 == 1 else "x" * (number % 7) for number in range(start, start + 10)],
            )
            window.evict_many(7)
    values = [None if number % 4 == 1 else "x" * (number % 7) for number in range(60)][-len(window) :]
    again = wr.swag.AMTA.open(store, "w", longest)
    assert again.query() == max((value for value in values if value is not None), key=len)
    again.check_invariants()


# -- what it asks of the store, and keeps here ---------------------------------------------------------------


def held_pairs(window: Any) -> int:
    return sum(len(block) for at in window._levels._levels.values() for block in at.held.values())


@both
def test_local_memory_is_logarithmic_and_calls_are_few(algorithm: Algorithm) -> None:
    store = Flaky()
    window = algorithm.open(store, "w", wr.sum)
    most = 0
    for number in range(40_000):
        window.insert(number)
        if number >= 20_000:
            window.evict()
        if number % 1_000 == 0:
            most = max(most, held_pairs(window))
    window.flush()
    assert most <= 16 * (512 + 2 * 64) + 4 * 512
    assert store.calls <= 60_000 / 100
    assert window.query() == sum(range(20_000, 40_000))


@both
def test_a_bulk_eviction_reads_in_few_round_trips(algorithm: Algorithm) -> None:
    window = filled(algorithm.open(MemoryStore(), "w", wr.sum, cache=64, block=16), range(50_000))
    window.flush()
    window.query()
    before = window.metrics.misses
    window.evict_many(33_333)
    assert window.query() == sum(range(33_333, 50_000))
    assert window.metrics.misses - before <= 2


def test_slides_are_read_ahead() -> None:
    window = filled(wr.swag.AMTA.open(MemoryStore(), "w", wr.sum), range(20_000))
    window.flush()
    for number in range(20_000):
        window.evict()
        window.insert(number)
        if number % 64 == 0:
            window._levels.store.reader.submit(int).result()  # as if the store were fast
    assert window.query() == sum(range(20_000))
    assert window.metrics.prefetches > 20
    assert window.metrics.misses <= 12  # one a level at first


def test_short_windows_leave_only_their_manifest_in_the_store(store: Store) -> None:
    window = wr.swag.AMTA.open(store, "w", wr.sum)
    for number in range(3_000):
        window.insert(number)
        if number >= 10:
            window.evict()
    window.flush()
    window.flush()
    assert len(list(store.scan(b"w"))) <= 2 + 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buffer": 0}, "buffer=0"),
        ({"cache": -1}, "cache=-1"),
        ({"block": 100_000}, "block=100000"),
        ({"durability": "sometimes"}, "durability='sometimes': use one of 'buffered'"),
    ],
)
def test_options_are_checked(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wr.swag.AMTA.open(MemoryStore(), "w", wr.sum, **options)


def test_what_is_no_store_and_no_id_is_refused() -> None:
    with pytest.raises(TypeError, match="is no store"):
        wr.swag.AMTA.open({}, "w", wr.sum)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="window id"):
        wr.swag.AMTA.open(MemoryStore(), "", wr.sum)


def test_a_store_finishes_its_work_when_it_is_closed() -> None:
    store = MemoryStore()
    window = filled(wr.swag.AMTA.open(store, "w", wr.sum, buffer=8, block=4), range(1_000))
    store.close()
    assert threading.active_count() < 50
    assert len(wr.swag.AMTA.open(copied(store), "w", wr.sum)) > 900
    assert len(window) == 1_000


def frames(store: Store) -> Iterator[bytes]:
    return (value for key in store.scan(b"w") if (value := store.get(key)) is not None)


def test_the_store_holds_no_pickle(store: Store) -> None:
    window = filled(wr.swag.AMTA.open(store, "w", wr.collect, buffer=4, block=2), "abcdefghij")
    window.close()
    for value in frames(store):
        assert value[:4] == b"WRST" or len(value) == 16  # or the token of the owner
