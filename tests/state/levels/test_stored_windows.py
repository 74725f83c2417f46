"""Windows on stores: what is kept, what comes back, and what they ask of a store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.stored_windows import Flaky, copied
from support.swag_windows import TEXT, Algorithm, both, filled
from windrow.monoids.own import monoid
from windrow.state import (
    MemoryStore,
    StateError,
    Store,
    UnstorableValue,
    WindowTaken,
    windows,
)
from windrow.swag.mta_open import delete_window

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
@settings(max_examples=examples(150))
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


@both
@pytest.mark.parametrize("durability", ["buffered", "flush", "each"])
def test_a_partial_that_was_inserted_is_stored(algorithm: Algorithm, durability: Any, store: Store) -> None:
    window = algorithm.open(store, "w", wr.sum, durability=durability)
    window.insert(1)
    window.flush()
    window.insert_partial(7)
    window.flush()
    again = algorithm.open(store, "w", wr.sum, durability=durability)
    assert (again.query(), len(again)) == (8, 2)
    again.evict()
    assert again.query() == 7


@both
def test_partials_are_stored_as_durability_and_buffer_say(algorithm: Algorithm) -> None:
    def after_a_kill(durability: Any, buffer: int) -> int:
        store = MemoryStore()
        window = algorithm.open(store, "w", wr.sum, durability=durability, buffer=buffer, block=4)
        for number in range(100):
            window.insert_partial(number)
        return len(algorithm.open(copied(store), "w", wr.sum))

    assert after_a_kill("each", 512) == 100
    assert after_a_kill("flush", 4) == 0
    assert after_a_kill("buffered", 512) == 0
    assert 80 < after_a_kill("buffered", 4) < 100


def test_a_closed_window_refuses_a_partial(store: Store) -> None:
    window = wr.swag.AMTA.open(store, "w", wr.sum)
    window.close()
    with pytest.raises(StateError, match="window 'w' is closed: open it again"):
        window.insert_partial(7)
    assert len(window) == 0


def test_times_are_stored_with_their_values_after_each_row() -> None:
    store = MemoryStore()
    window = wr.swag.AMTA.open(store, "w", wr.sum, durability="each")
    window.roll_time([1, 2], [10, 20], size=5)
    again = wr.swag.AMTA.open(copied(store), "w", wr.sum, durability="each")
    assert again.roll_time([6], [40], size=5) == [60]

    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    window._partial = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        window.roll_time([3, 3, 4], [1, 2, 3], size=5)
    again = wr.swag.AMTA.open(copied(store), "w", wr.sum)
    assert again.roll_time([7], [40], size=5) == [43]


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
    with pytest.raises(StateError, match=r"'quantile\(q=0.9\)' and is opened with 'quantile\(q=0.5"):
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
    before = window.metrics.reads
    window.evict_many(33_333)
    assert window.query() == sum(range(33_333, 50_000))
    assert window.metrics.reads - before <= 2


def test_a_slide_reads_what_it_comes_to_next_with_what_it_needs() -> None:
    window = filled(wr.swag.AMTA.open(MemoryStore(), "w", wr.sum), range(20_000))
    window.flush()
    for number in range(20_000):
        window.evict()
        window.insert(number)
    assert window.query() == sum(range(20_000))
    # 10,000 pairs of leaves, and as many above them; 512 a round trip, and one more a level
    assert window.metrics.reads <= 2 * 20 + 12
    assert window.metrics.blocks_read <= 2 * 10_000 / 64 + 12 * 8


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
    with pytest.raises(TypeError, match="is not a store"):
        wr.swag.AMTA.open({}, "w", wr.sum)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="window id"):
        wr.swag.AMTA.open(MemoryStore(), "", wr.sum)


def test_a_window_starts_no_threads() -> None:
    before = set(threading.enumerate())
    store = MemoryStore()
    window = filled(wr.swag.AMTA.open(store, "w", wr.sum, buffer=8, block=4), range(1_000))
    window.evict_many(500)
    assert set(threading.enumerate()) == before
    assert len(wr.swag.AMTA.open(copied(store), "w", wr.sum)) > 900


def frames(store: Store) -> Iterator[bytes]:
    return (value for key in store.scan(b"w") if (value := store.get(key)) is not None)


def test_the_store_holds_no_pickle(store: Store) -> None:
    window = filled(wr.swag.AMTA.open(store, "w", wr.collect, buffer=4, block=2), "abcdefghij")
    window.close()
    for value in frames(store):
        assert value[:4] == b"WRST" or len(value) == 16  # or the token of the owner
