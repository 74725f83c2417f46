"""Windows as values: what they print, how they compare, and what they refuse."""

import copy
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import windrow.windows
from windrow.windows import (
    Cumulative,
    Delta,
    Fixed,
    Punctuation,
    Rows,
    Session,
    Sliding,
    Threshold,
    TimeWindow,
    Tumbling,
    Window,
    to_us,
)

BERLIN = "Europe/Berlin"

PRINTED = [
    (Tumbling("60 minutes"), "Tumbling('1h')"),
    (Tumbling(10), "Tumbling(10)"),
    (Tumbling("1h", offset="-15m"), "Tumbling('1h', offset='-15m')"),
    (Tumbling("1d", timezone=BERLIN), "Tumbling('1d', timezone='Europe/Berlin')"),
    (Tumbling("24h", timezone=BERLIN), "Tumbling('24h', timezone='Europe/Berlin')"),
    (Tumbling(np.timedelta64(90, "s")), "Tumbling('1m30s')"),
    (Tumbling("1y", offset="3mo"), "Tumbling('1y', offset='1q')"),
    (Sliding(timedelta(days=1), slide="1m"), "Sliding('1d', slide='1m')"),
    (Sliding(10, slide=3, offset=1), "Sliding(10, slide=3, offset=1)"),
    (Cumulative("1d", step="1h"), "Cumulative('1d', step='1h')"),
    (Session("30m"), "Session('30m')"),
    (Session(5, max_size=50), "Session(5, max_size=50)"),
    (Fixed("2024-05-01", "2h"), "Fixed('2024-05-01T00:00:00Z', '2h')"),
    (
        Fixed("2024-05-01", "1d", timezone=BERLIN),
        "Fixed('2024-04-30T22:00:00Z', '1d', timezone='Europe/Berlin')",
    ),
    (Fixed(-5, 10), "Fixed(-5, 10)"),
    (Rows(10), "Rows(10)"),
    (Rows(10, slide=2), "Rows(10, slide=2)"),
    (Delta("km", size=2.5), "Delta('km', size=2.5)"),
    (Delta("km", size=10, slide=5), "Delta('km', size=10, slide=5)"),
    (Punctuation("done"), "Punctuation('done')"),
    (Threshold("late"), "Threshold('late')"),
]


@pytest.mark.parametrize(("window", "text"), PRINTED)
def test_windows_print_as_what_makes_them(window, text):
    assert repr(window) == text
    assert eval(text, vars(windrow.windows)) == window


@pytest.mark.parametrize("window", [window for window, _ in PRINTED])
def test_windows_are_values(window):
    if isinstance(window, TimeWindow):
        window.edges(0, 1)  # what is computed on the way does not change the value
    for same in (copy.deepcopy(window), pickle.loads(pickle.dumps(window))):
        assert same == window
        assert hash(same) == hash(window)
    assert isinstance(window, Window)
    with pytest.raises(FrozenInstanceError):
        window.size = 5


def test_equal_however_written():
    assert Tumbling("90m") == Tumbling("1 hour 30 minutes") == Tumbling(timedelta(minutes=90))
    assert Tumbling("1h", offset="0s") == Tumbling("1h")
    assert Tumbling("1h") != Sliding("1h", slide="1h")
    assert Tumbling("7d", timezone=BERLIN) != Tumbling("1w", timezone=BERLIN)
    assert len({Tumbling("1q"), Tumbling("3mo"), Tumbling("3 months")}) == 1


def test_an_offset_may_be_a_time_to_align_with():
    noon = Tumbling("24h", offset=datetime(2024, 1, 1, 12, tzinfo=UTC))
    assert list(noon.assign(to_us("2030-05-05T11:59"))) == [
        (to_us("2030-05-04T12:00"), to_us("2030-05-05T12:00"))
    ]
    assert noon == Tumbling("24h", offset="2024-01-01T12:00Z")


def test_integer_time_is_known_as_such():
    assert [
        window.uses_integer_time for window in (Tumbling(5), Sliding(5, 1), Cumulative(4, 2), Fixed(1, 2))
    ] == [True] * 4
    assert not Tumbling("5m").uses_integer_time
    assert not Fixed("2024-01-01", "1h").uses_integer_time


REFUSED = [
    (
        lambda: Sliding("5m", slide="7m"),
        "slide '7m' is longer than size '5m': rows would be skipped; "
        "use Tumbling('5m') or a slide of at most '5m'",
    ),
    (
        lambda: Sliding(5, slide=7),
        "slide 7 is longer than size 5: rows would be skipped; use Tumbling(5) or a",
    ),
    (lambda: Sliding("1mo", slide="1q"), "slide '1q' is longer than size '1mo'"),
    (lambda: Sliding("6d", slide="1w", timezone=BERLIN), "slide '1w' is longer than size '6d'"),
    (lambda: Sliding("5m", slide="0s"), "slide '0s' is not positive: give a duration longer than zero"),
    (lambda: Sliding("1h", slide=5), "size '1h' and slide 5 are of different kinds: use integers in both"),
    (
        lambda: Sliding("1mo", slide="1d"),
        "size '1mo' counts calendar months and slide '1d' counts clock time",
    ),
    (
        lambda: Sliding("1mo", slide="1d", timezone=BERLIN),
        "size '1mo' counts calendar months and slide '1d' counts local days: write both in months",
    ),
    (
        lambda: Sliding("1d", slide="1h", timezone=BERLIN),
        "counts local days and slide '1h' counts clock time",
    ),
    (lambda: Tumbling("0m"), "size '0m' is not positive"),
    (lambda: Tumbling(-5), "size -5 is not positive"),
    (lambda: Tumbling("1M"), "size '1M' is ambiguous"),
    (lambda: Tumbling("1h", offset=5), "size '1h' and offset 5 are of different kinds"),
    (lambda: Tumbling(5, offset="1h"), "size 5 and offset '1h' are of different kinds"),
    (
        lambda: Tumbling("1h", offset="1mo"),
        "offset '1mo' is in months and size '1h' is not: give the offset in",
    ),
    (
        lambda: Tumbling("1mo", offset="2024-01-05"),
        "offset '2024-01-05' is a time, which size '1mo' cannot align",
    ),
    (lambda: Tumbling(5, offset="2024-01-05"), "cannot align with: give an integer"),
    (lambda: Tumbling(5, timezone=BERLIN), "timezone 'Europe/Berlin' has no meaning for the integer size 5"),
    (lambda: Tumbling("1d12h", timezone=BERLIN), "size '1d12h' mixes local days with clock time"),
    (lambda: Cumulative("1h", step="25m"), "step '25m' does not divide size '1h'"),
    (lambda: Cumulative("1h", step="2h"), "step '2h' is longer than size '1h': use a step of at most '1h'"),
    (lambda: Cumulative("1d", step="7h", timezone=BERLIN), "step '7h' does not divide size '1d'"),
    (lambda: Cumulative("1w", step="1mo"), "step '1mo' is in months and size '1w' is not"),
    (lambda: Cumulative("1q", step="2mo"), "step '2mo' does not divide size '1q'"),
    (lambda: Cumulative("1mo", step="29d"), "step '29d' is longer than size '1mo'"),
    (lambda: Cumulative(30, step="1m"), "size 30 and step '1m' are of different kinds"),
    (lambda: Session("-5m"), "gap '-5m' is not positive"),
    (lambda: Session(0), "gap 0 is not positive"),
    (lambda: Session("1mo"), "gap '1mo' has no fixed length"),
    (lambda: Session("5m", max_size=10), "gap '5m' and max_size 10 are of different kinds"),
    (lambda: Session("5m", max_size="0s"), "max_size '0s' is not positive"),
    (lambda: Fixed("soon", "1h"), "start 'soon' is not a time"),
    (lambda: Fixed("2024-01-01", 5), "size 5 and start '2024-01-01' are of different kinds"),
    (lambda: Fixed(5, "1h"), "size '1h' and start 5 are of different kinds"),
    (lambda: Fixed(0, 0), "size 0 is not positive"),
    (lambda: Rows(0), "size 0 is not positive: give at least 1"),
    (lambda: Rows(5, slide=0), "slide 0 is not positive"),
    (lambda: Rows(5, slide=6), "slide 6 is longer than size 5: rows would be skipped; use Rows(5) or"),
    (lambda: Delta("km", size=0), "size 0 is not a positive number"),
    (lambda: Delta("km", size=float("nan")), "size nan is not a positive number"),
    (lambda: Delta("km", size=float("inf")), "size inf is not a positive number: give a finite number"),
    (lambda: Delta("km", size=5, slide=6), "slide 6 is longer than size 5"),
    (lambda: Delta("", size=5), "column '' is empty"),
    (lambda: Punctuation(""), "column '' is empty"),
    (lambda: Threshold(""), "column '' is empty"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_with_input_and_remedy(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tumbling(2.5),
        lambda: Tumbling(None),
        lambda: Tumbling("1h", offset=1.5),
        lambda: Rows(2.0),
        lambda: Rows("5"),
        lambda: Rows(True),
        lambda: Delta(5, size=5),
        lambda: Delta("km", size="5"),
        lambda: Punctuation(None),
        lambda: Fixed(1.5, 5),
        lambda: Fixed(None, "1h"),
    ],
)
def test_wrong_types_are_refused(make):
    with pytest.raises(TypeError, match=r" is a \w+: give "):
        make()


def test_a_band_that_would_leave_64_bits_is_refused():
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        Fixed(2**63 - 1, 5)


def test_importing_windows_loads_no_array_library():
    # The parent package is put aside: what is tested is what windows itself needs
    code = """
import sys, types
parent = types.ModuleType("windrow")
parent.__path__ = [sys.argv[1]]
sys.modules["windrow"] = parent
import windrow.windows
windrow.windows.Sliding("24h", slide="1m").edges(0, 10**9)
heavy = {"numpy", "pandas", "pyarrow", "numba", "zoneinfo"} & sys.modules.keys()
assert not heavy, heavy
"""
    source = Path(windrow.windows.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code, str(source)], check=True)
