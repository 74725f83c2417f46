"""What rolling with frames keeps of endless input, in words: for ``explain``."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.engines.frames.bounds import rows_ahead, rows_needed
from windrow.spec import Frames
from windrow.windows.relative import TimeFrame

__all__ = ["held_in_words"]


def held_in_words(frames: Frames) -> Iterator[str]:
    """Which rows are held, and how long results wait.

    >>> import windrow as wr
    >>> over = wr.query(time="t").rolling("1h", "24h", closed="both", shift="30m").frames
    >>> print(*held_in_words(over), sep="\\n")
    the rows that later results reach back to, t + 30m - 1h and t + 30m - 24h, and rows not yet due
    a result waits until the watermark has passed t + 30m; its row is held until then
    >>> print(*held_in_words(wr.query(time="t").rolling("all").frames))
    all rows for ever, since later results reach back to the first, and rows not yet due
    """
    each = [frame for _, frame in frames.named]
    timed = [frame for frame in each if isinstance(frame, TimeFrame)]
    if any(frame.lower is None for frame in timed):
        yield "all rows for ever, since later results reach back to the first, and rows not yet due"
    elif timed:
        ends = " and ".join(dict.fromkeys(str(frame.lower) for frame in timed))
        yield f"the rows that later results reach back to, {ends}, and rows not yet due"
    else:
        yield f"the last {rows_needed(each)} rows of each key, and rows not yet due"
    if rows_ahead(each):
        yield f"a result waits for the {rows_ahead(each)} rows of its key behind its row, or for the end"
    late = dict.fromkeys(str(f.upper) for f in timed if f.upper is not None and f.upper.is_ahead)
    if late:
        ends = " and ".join(late)
        yield f"a result waits until the watermark has passed {ends}; its row is held until then"
