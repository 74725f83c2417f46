"""Threads: how many there are, and what pieces of work see of each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import threads
from windrow.threads import even_pieces, in_threads, stop_if_cancelled, thread_count, using_threads

#: seconds after which a test that hangs has failed
LONG = 300


# -- how many ------------------------------------------------------------------------------------------------


def test_what_is_given_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_THREADS", "3")
    assert thread_count(5) == 5
    assert thread_count() == 3
    assert thread_count(default=1) == 3
    monkeypatch.setenv("WINDROW_THREADS", "")
    assert thread_count(default=1) == 1


def test_by_default_there_is_one_for_each_core_that_the_process_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WINDROW_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert thread_count() == 3


@pytest.mark.parametrize("given", [0, -1, True, 2.0, "2"])
def test_numbers_of_threads_that_are_none_are_refused(given: Any) -> None:
    query = wr.query(time="t").rolling(rows=2).agg(n=wr.count())
    with pytest.raises(ValueError, match=r"threads=.*: give a whole number of at least 1"):
        query.run(pa.table({"t": [1]}), threads=given)


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5"])
def test_an_environment_that_says_no_number_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_THREADS", said)
    query = wr.query(time="t").rolling(rows=2).agg(n=wr.count())
    with pytest.raises(ValueError, match=rf"WINDROW_THREADS='{said}': set it to a whole number"):
        query.run(pa.table({"t": [1]}))
    assert query.run(pa.table({"t": [1]}), threads=1).num_rows == 1


# -- pieces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 9, 10, 19, 20, 21, 1000])
def test_even_pieces_cover_everything_once_and_know_nothing_of_threads(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PIECE", 10)
    found = even_pieces(count)
    assert [k for piece in found for k in range(count)[piece]] == list(range(count))
    assert len(found) == 1 or all(10 <= piece.stop - piece.start < 20 for piece in found)
    with using_threads(7):
        assert even_pieces(count) == found


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_results_are_in_the_order_of_pieces(count: int) -> None:
    with using_threads(count):
        assert in_threads(lambda piece: piece * piece, range(100)) == [k * k for k in range(100)]


def test_two_threads_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2)
    with using_threads(2):
        in_threads(lambda piece: meeting.wait(LONG), [0, 1])


@pytest.mark.parametrize(("count", "pieces"), [(1, [0, 1, 2]), (4, [0]), (4, [])])
def test_one_thread_and_one_piece_start_no_thread(count: int, pieces: list[int]) -> None:
    with using_threads(count):
        found = in_threads(lambda piece: threading.current_thread(), pieces)
    assert found == [threading.current_thread()] * len(pieces)


def test_without_a_choice_there_is_one_thread() -> None:
    assert set(in_threads(lambda piece: threading.current_thread(), range(9))) == {threading.current_thread()}


def test_what_a_piece_calls_stays_in_its_thread() -> None:
    def inner(piece: int) -> threading.Thread:
        return threading.current_thread()

    def outer(piece: int) -> bool:
        return set(in_threads(inner, range(20))) == {threading.current_thread()}

    with using_threads(3):
        assert all(in_threads(outer, range(20)))


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_error_is_that_of_the_first_piece_that_fails(count: int) -> None:
    """A later piece fails first: it waits for nothing, and the earlier one waits for it."""
    later = threading.Event()

    def fail(piece: int) -> None:
        if piece == 3:
            if count > 1:
                later.wait(LONG)
            raise KeyError(piece)
        if piece == 4:
            later.set()
            raise ValueError(piece)

    with using_threads(count), pytest.raises(KeyError, match="3"):
        in_threads(fail, range(50))


def test_no_piece_is_begun_after_one_that_failed() -> None:
    begun: list[int] = []

    def fail(piece: int) -> None:
        begun.append(piece)
        raise ValueError(piece)

    with using_threads(2), pytest.raises(ValueError, match="0"):
        in_threads(fail, range(1000))
    assert len(begun) <= 2


def test_a_long_piece_stops_once_one_before_it_has_failed() -> None:
    begun = threading.Event()

    def work(piece: int) -> None:
        if piece == 0:
            begun.wait(LONG)
            raise ValueError(piece)
        begun.set()
        while True:
            stop_if_cancelled()

    with using_threads(2), pytest.raises(ValueError, match="0"):
        in_threads(work, [0, 1])


def test_an_interruption_ends_the_pieces_of_all_threads() -> None:
    meeting = threading.Barrier(2)

    def work(piece: int) -> None:
        meeting.wait(LONG)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        while True:
            stop_if_cancelled()

    with using_threads(2), pytest.raises(KeyboardInterrupt):
        in_threads(work, [0, 1])


def test_several_callers_share_the_threads() -> None:
    found: list[Any] = []

    def call(number: int) -> None:
        with using_threads(number):
            found.append(in_threads(lambda piece: piece + 1, range(200)))

    callers = [threading.Thread(target=call, args=(2 + k,)) for k in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(LONG)
    assert found == [list(range(1, 201))] * 6


def test_a_forked_process_has_threads_of_its_own() -> None:
    script = """
import os, sys
from windrow.threads import in_threads, using_threads
with using_threads(3):
    in_threads(abs, range(10))
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(abs, range(10)) == list(range(10)) else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=LONG)


def test_threads_end_with_the_process() -> None:
    script = """
from windrow.threads import in_threads, using_threads
with using_threads(3):
    print(in_threads(abs, [-1, -2, -3]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=LONG, check=True)
    assert (done.stdout, done.stderr) == (b"[1, 2, 3]\n", b"")


# -- on Spark ------------------------------------------------------------------------------------------------


class Context:
    """What pyspark has in a task."""

    @classmethod
    def get(cls) -> Any:
        return cls()


def test_a_query_in_a_task_of_spark_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is told otherwise: Spark runs a task on each core already."""
    used: list[int] = []
    query = wr.query(time="t").rolling(rows=2).agg(n=wr.count())
    monkeypatch.delenv("WINDROW_THREADS", raising=False)
    monkeypatch.setattr("windrow.engines.local.run", lambda query, data: used.append(threads._current.get()))
    monkeypatch.setitem(sys.modules, "pyspark.taskcontext", SimpleNamespace(TaskContext=Context))
    query.run(pa.table({"t": [1]}))
    query.run(pa.table({"t": [1]}), threads=2)
    monkeypatch.setenv("WINDROW_THREADS", "3")
    query.run(pa.table({"t": [1]}))
    assert used == [1, 2, 3]


def test_threads_of_a_spark_dataframe_are_refused() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    query = wr.query(time="t").rolling(rows=2).agg(n=wr.count())
    with pytest.raises(ValueError, match=r"threads=2 is for tables, and Spark runs one task per core"):
        query.run(frame, threads=2)
