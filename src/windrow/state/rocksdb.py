"""A store on disk, in this process: RocksDB through rocksdict (the extra ``rocksdb``).

Raw mode only: keys and values are bytes, and rocksdict, which can pickle, is given no way to. Writes go to a
log first: one that returned survives the death of the process, and with ``sync`` that of the machine. RocksDB
checks every block it reads, so a damaged file is an error and not a wrong number; where it would go on
without what was confirmed, :mod:`windrow.state.rocksdb_durability` notices. Its own memory is bounded by
``memory`` bytes.

RocksDB takes no more writes after one has failed. The database is therefore opened again before the next
write, so that a write can be repeated as soon as what it failed for is gone. The log has what was confirmed,
and of the failed write all or nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any, TypeVar

from windrow.errors import CorruptState, StateError, StoreFull, StoreUnavailable
from windrow.packages import how_to_install
from windrow.state.read_write_lock import ReadWriteLock
from windrow.state.rocksdb_durability import Confirmed
from windrow.state.rocksdb_log import check_logs
from windrow.state.store import Guard, Item, Store, check_guards

__all__ = ["RocksDBStore"]

T = TypeVar("T")
#: keys that a scan reads at a time
_SCANNED_AT_ONCE = 1024
#: what a system says when there is no room: on the disk, for this user, for a file
_NO_ROOM = ("No space left", "quota exceeded", "File too large")
#: what RocksDB says of files that are changed, cut short or missing
_DAMAGED = ("Corruption", "corrupted", "Invalid argument", "No such file or directory: While opening")


class RocksDBStore(Store):
    """A folder that one process has open at a time.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with RocksDBStore(folder) as store:
    ...     store.write([(b"key", b"value")], sync=True)
    >>> RocksDBStore(folder).get(b"key")
    b'value'
    """

    def __init__(self, path: str | PathLike[str], *, memory: int = 64 << 20) -> None:
        try:
            import rocksdict
        except ImportError as error:
            raise ImportError(f"RocksDBStore needs rocksdict: {how_to_install('rocksdb')}") from error
        self.path = fspath(path)
        self._rocks = rocksdict
        self._memory = memory
        self._lock = threading.Lock()
        self._synced = rocksdict.WriteOptions()
        self._synced.sync = True
        #: reads go on side by side; the database is closed while there are none, or RocksDB keeps its lock
        self._reads = ReadWriteLock()
        self._confirmed = Confirmed(self.path)
        #: a write has failed since the database was opened
        self._has_failed = False
        self._is_closed = False
        self._db = self._opened()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._read(lambda db: db.get(list(keys))) if keys else []

    def write(
        self,
        puts: Iterable[Item],
        deletes: Iterable[bytes] = (),
        *,
        sync: bool = False,
        guards: Sequence[Guard] = (),
    ) -> None:
        batch = self._rocks.WriteBatch(raw_mode=True)
        for key, value in puts:
            batch.put(key, value)
        for key in deletes:
            batch.delete(key)
        with self._lock:
            db = self._usable()
            check_guards(guards, self._get(db, [key for key, _ in guards]))
            try:
                if sync:
                    db.write(batch, self._synced)
                else:
                    db.write(batch)
            except Exception as error:
                self._has_failed = True
                raise _named(error, self.path) from error
            if sync:
                self._confirmed.note(db.latest_sequence_number())

    def scan(self, prefix: bytes) -> Iterator[bytes]:
        start = prefix
        while True:
            keys = self._read(partial(_keys, start=start))
            for key in keys:
                if not key.startswith(prefix):
                    return
                yield key
            if len(keys) < _SCANNED_AT_ONCE:
                return
            start = keys[-1] + b"\0"

    def close(self) -> None:
        """Let go of the folder. What was written is in the log: a disk without room loses nothing of it."""
        with self._lock:
            if not self._is_closed and not self._has_failed:
                with contextlib.suppress(Exception):
                    self._db.flush()
                    self._confirmed.note(self._db.latest_sequence_number())
            self._is_closed = True
            self._close_database()

    # -- the database ----------------------------------------------------------------------------------------

    def _opened(self) -> Any:
        check_logs(self.path)
        try:
            options = _options(self._rocks, self._memory)
            options.create_if_missing(not self._confirmed.exists())  # RocksDB would delete what is left
            db = self._rocks.Rdict(self.path, options)
        except Exception as error:
            raise _named(error, self.path) from error
        try:
            sequence = db.latest_sequence_number()
            self._confirmed.check(sequence)
        except Exception as error:
            with contextlib.suppress(Exception):
                db.close()
            if isinstance(error, StateError):
                raise
            raise _named(error, self.path) from error
        self._confirmed.note(sequence)  # opening has moved everything from the log to tables, and synced them
        return db

    def _usable(self) -> Any:
        """The database, opened again if a write has failed; to be called under the lock."""
        if self._has_failed and not self._is_closed:
            self._close_database()
            self._db = self._opened()
            self._has_failed = False
        return self._db

    def _close_database(self) -> None:
        with self._reads.alone(), contextlib.suppress(Exception):  # it is closed, and says that it has failed
            self._db.close()

    def _read(self, read: Callable[[Any], T]) -> T:
        while True:
            db = self._db
            try:
                with self._reads.shared():
                    return read(db)
            except Exception as error:
                if self._is_closed or (db is self._db and not self._has_failed):
                    raise _named(error, self.path) from error
            with self._lock:  # it was closed, to be opened again: perhaps there is room now
                self._usable()

    def _get(self, db: Any, keys: list[bytes]) -> list[bytes | None]:
        try:
            found: list[bytes | None] = db.get(keys) if keys else []
        except Exception as error:
            raise _named(error, self.path) from error
        return found


def _keys(db: Any, start: bytes) -> list[bytes]:
    """Some keys, without an iterator that would keep the database open."""
    return list(itertools.islice(db.keys(from_key=start), _SCANNED_AT_ONCE))


def _options(rocks: Any, memory: int) -> Any:
    options = rocks.Options(raw_mode=True)
    options.set_write_buffer_size(memory // 4)
    options.set_max_write_buffer_number(2)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    # an end that is cut off is what kill -9 and a full disk leave; any other damage is an error
    options.set_wal_recovery_mode(rocks.DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_compression_type(rocks.DBCompressionType.lz4())
    table = rocks.BlockBasedOptions()
    table.set_block_cache(rocks.Cache(memory // 2))
    table.set_cache_index_and_filter_blocks(True)
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return options


def _named(error: Exception, path: str) -> StateError:
    if isinstance(error, StateError):
        return error
    text = str(error)
    said = text.replace(path, "")  # a folder may be called anything
    if "LOCK" in said and "lock" in said:
        return StoreUnavailable(f"{path} is open already, here or in another process: close it there first")
    if any(reason in said for reason in _NO_ROOM):
        return StoreFull(f"no room for the store in {path}: {text}; make room, then repeat")
    if any(reason in said for reason in _DAMAGED):
        return CorruptState(f"the files in {path} are damaged: {text}; put back a copy of the whole folder")
    if type(error).__name__ == "DbClosedError" or "closed" in said:
        return StateError(f"the store in {path} is closed")
    return StateError(f"the store in {path} failed: {text}")
