"""Delta windows: windows over any number that grows with the rows, such as a distance or a meter reading.

    Delta('km', size=10)      km  0.5  3  9 | 11  14 | 20.5
                                 [0, 10)     [10, 20)  [20, 30)

Invariant: window k holds the rows whose value is in [k * slide, k * slide + size), for every integer k: a
grid from zero, so that rows that come late go to the windows they would have gone to in order.
Source: [RA] section 2: window sizes by delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from windrow.windows.arguments import check_column
from windrow.windows.base import JobKey, Window
from windrow.windows.timeline.integers import as_integer


@dataclass(frozen=True, init=False, repr=False)
class Delta(Window):
    """Windows over the values of a column rather than over time.

    Args:
        column: a column of numbers that does not decrease with time.
        size: how much of the column's value a window spans.
        slide: how far apart windows start; at most the size. By default the size: windows that do not
            overlap.

    >>> from windrow.windows import Delta
    >>> Delta("km", size=10)
    Delta('km', size=10)
    >>> trip = Delta("km", size=10, slide=5)
    >>> [trip.bounds(k) for k in trip.assign(12)]
    [(5, 15), (10, 20)]
    """

    example = "Delta('km', size=10)"
    job_keys = (
        JobKey("column", "text", '"len"'),
        JobKey("size", "number", "10"),
        JobKey("slide", "number", "5", is_needed=False),
    )

    column: str
    size: int | float
    slide: int | float

    def __init__(self, column: str, size: int | float, slide: int | float | None = None) -> None:
        size = _positive(size, "size")
        slide = size if slide is None else _positive(slide, "slide")
        if slide > size:
            raise ValueError(
                f"slide {slide} is longer than size {size}: rows would be skipped; "
                f"leave the slide out or use at most {size}"
            )
        object.__setattr__(self, "column", check_column(column))
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "slide", slide)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def overlaps(self) -> bool:
        return self.slide < self.size

    @property
    def for_fewer(self) -> str:
        return "use a longer slide" if self.overlaps else super().for_fewer

    def assign(self, value: int | float) -> range:
        """The numbers k of the windows that hold this value: exact for integers, rounded as floats are."""
        return range(_floor_divide(value - self.size, self.slide) + 1, _floor_divide(value, self.slide) + 1)

    def bounds(self, number: int) -> tuple[int | float, int | float]:
        """The values [start, end) that window k spans."""
        return number * self.slide, number * self.slide + self.size

    def _arguments(self) -> Iterator[str]:
        yield repr(self.column)
        yield f"size={self.size}"
        if self.slide != self.size:
            yield f"slide={self.slide}"


def _floor_divide(value: int | float, by: int | float) -> int:
    both_integers = isinstance(value, int) and isinstance(by, int)
    return int(value // by) if both_integers else math.floor(value / by)


def _positive(value: object, name: str) -> int | float:
    number = float(value) if isinstance(value, float) else as_integer(value, name, "a number")
    if not 0 < number < math.inf:
        raise ValueError(f"{name} {number} is not a positive number: give a finite number above zero")
    return number
