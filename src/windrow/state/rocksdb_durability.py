"""How far a database on disk is known to be safe: the file ``CONFIRMED`` beside it.

It is one line of fixed size with RocksDB's sequence number (one for each put and delete) and a checksum,
overwritten in place after the log was synced, and itself not synced: it can lag behind what is safe, and can
never be ahead of it. A database that opens with a smaller number has lost what was confirmed, which RocksDB
cannot notice by itself when the end of its log is cut off or the log is gone.

Cost: the file is opened and 44 bytes go to the page cache: little beside the sync before it.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

from windrow.errors import CorruptState

__all__ = ["Confirmed"]

_NAME = "CONFIRMED"
_SIZE = 44


class Confirmed:
    """The file of one folder.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> confirmed = Confirmed(folder)
    >>> confirmed.note(17)
    >>> confirmed.check(16)
    Traceback (most recent call last):
    ...
    windrow.errors.CorruptState: 1 confirmed change is missing from ...
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = Path(folder) / _NAME

    def exists(self) -> bool:
        """Whether something was noted, so that there was a database."""
        return self._path.exists()

    def check(self, sequence: int) -> None:
        """Raise if a database that has come up to ``sequence`` was further once."""
        missing = self._read() - sequence
        if missing > 0:
            changes = "1 confirmed change is" if missing == 1 else f"{missing} confirmed changes are"
            raise CorruptState(
                f"{changes} missing from {self._folder}: the end of a file was cut off, or a file is gone; "
                f"put back a copy of the whole folder, or delete {self._path} to go on without them"
            )

    def note(self, sequence: int) -> None:
        """Everything up to here is safe. Never raises because of the disk: the note then comes later."""
        with contextlib.suppress(OSError):
            if not self.exists():
                self._create(sequence)
                return
            with self._path.open("r+b", buffering=0) as file:
                file.write(_line(sequence))

    def _read(self) -> int:
        """The number noted last; 0 where there is no file, as in folders of older versions."""
        try:
            line = self._path.read_bytes()
        except FileNotFoundError:
            return 0
        number = line[10:30]
        if not number.isdigit() or line != _line(int(number)):
            raise CorruptState(
                f"{self._path} is damaged, so that it is not known whether {self._folder} is complete: put "
                f"back a copy of the whole folder, or delete this file to go on with what is there"
            )
        return int(number)

    def _create(self, sequence: int) -> None:
        """Synced, and under its name only when it is whole: later writes are within one sector."""
        draft = self._path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(_line(sequence))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)


def _line(sequence: int) -> bytes:
    start = b"confirmed %020d" % sequence
    line = b"%b crc %08x\n" % (start, zlib.crc32(start))
    assert len(line) == _SIZE
    return line
