"""A store on disk, in this process: RocksDB through rocksdict (the extra ``rocksdb``).

Raw mode only: keys and values are bytes, and rocksdict, which can pickle, is given no way to. Writes go to a
log first: one that returned survives the death of the process, and with ``sync`` that of the machine.
RocksDB checks every block it reads, so a damaged file is an error and not a wrong number. Its own memory is
bounded by ``memory`` bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from windrow.packages import how_to_install
from windrow.state.errors import CorruptState, StateError, StoreUnavailable
from windrow.state.store import Guard, Item, Store, check_guards

__all__ = ["RocksDBStore"]


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
        self._lock = threading.Lock()
        self._synced = rocksdict.WriteOptions()
        self._synced.sync = True
        try:
            self._db: Any = rocksdict.Rdict(self.path, _options(rocksdict, memory))
        except Exception as error:
            raise _named(error, self.path) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            found: list[bytes | None] = self._db.get(list(keys)) if keys else []
        except Exception as error:
            raise _named(error, self.path) from error
        return found

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
            check_guards(guards, self.get_many([key for key, _ in guards]))
            try:
                if sync:
                    self._db.write(batch, self._synced)
                else:
                    self._db.write(batch)
            except Exception as error:
                raise _named(error, self.path) from error

    def scan(self, prefix: bytes) -> Iterator[bytes]:
        try:
            for key in self._db.keys(from_key=prefix):
                if not key.startswith(prefix):
                    return
                yield key
        except Exception as error:
            raise _named(error, self.path) from error

    def close(self) -> None:
        super().close()
        self._db.close()


def _options(rocks: Any, memory: int) -> Any:
    options = rocks.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(memory // 4)
    options.set_max_write_buffer_number(2)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    options.set_compression_type(rocks.DBCompressionType.lz4())
    table = rocks.BlockBasedOptions()
    table.set_block_cache(rocks.Cache(memory // 2))
    table.set_cache_index_and_filter_blocks(True)
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return options


def _named(error: Exception, path: str) -> StateError:
    text = str(error)
    if "lock" in text.lower() and "LOCK" in text:
        return StoreUnavailable(f"{path} is open already, here or in another process: close it there first")
    if isinstance(error, StateError):
        return error
    if "Corruption" in text or "corrupted" in text or "Invalid argument" in text:
        return CorruptState(f"the files in {path} are damaged: {text}; put back a copy of the whole folder")
    if "closed" in text.lower():
        return StateError(f"the store in {path} is closed")
    return StateError(f"the store in {path} failed: {text}")
