"""Disks that lose, change or refuse what a RocksDB store writes: nothing confirmed is lost silently.

A log that is still in use is had by copying the folder of an open store: that is what kill -9 leaves.
WINDROW_CHAOS_DAMAGES and WINDROW_CHAOS_FULL scale the tests up (``make chaos``).
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.budget import examples
from support.chaos_counts import counted, how_many
from windrow.state import CorruptState, RocksDBStore

DAMAGES = how_many("WINDROW_CHAOS_DAMAGES", examples(25))
FULL = how_many("WINDROW_CHAOS_FULL", 5)
Content = list[tuple[bytes, bytes]]
Damage = Callable[[bytearray, int, random.Random], None]


def fill(store: RocksDBStore, items: Content, *, sync: bool = True) -> None:
    for key, value in items:
        store.write([(key, value)], sync=sync)


def items(count: int, name: str = "k") -> Content:
    chance = random.Random(count)
    sizes = [chance.choice([10, 100, 1000, 3000]) for _ in range(count)]
    return [(b"%b%05d" % (name.encode(), at), chance.randbytes(size)) for at, size in enumerate(sizes)]


def crashed(folder: Path, confirmed: Content, unconfirmed: Content = ()) -> Path:  # type: ignore[assignment]
    """A folder as kill -9 leaves it: everything is in the log."""
    with RocksDBStore(folder / "open") as store:
        fill(store, confirmed)
        fill(store, unconfirmed, sync=False)
        shutil.copytree(folder / "open", folder / "crashed")
    return folder / "crashed"


def log_of(folder: Path) -> Path:
    (path,) = folder.glob("*.log")
    return path


def content(folder: Path) -> Content:
    with RocksDBStore(folder) as store:
        keys = list(store.scan(b""))
        return [(key, store.get(key) or b"") for key in keys]


def is_refused(folder: Path, expected: Content) -> bool:
    """Whether opening names the damage; if not, nothing may be missing."""
    try:
        assert content(folder) == expected
    except CorruptState:
        remedy = rf"{re.escape(str(folder))}.* put back a copy of the whole folder"
        with pytest.raises(CorruptState, match=remedy):  # it stays refused
            RocksDBStore(folder)
        return True
    return False


def flip(log: bytearray, at: int, chance: random.Random) -> None:
    log[at] ^= 1 << chance.randrange(8)


def zero(log: bytearray, at: int, chance: random.Random) -> None:
    end = min(at + chance.choice([8, 100, 4096]), len(log))
    log[at:end] = bytes(end - at)


def zero_rest(log: bytearray, at: int, chance: random.Random) -> None:
    log[at:] = bytes(len(log) - at)


def scramble_rest(log: bytearray, at: int, chance: random.Random) -> None:
    log[at:] = chance.randbytes(len(log) - at)


def cut(log: bytearray, at: int, chance: random.Random) -> None:
    del log[at:]


@pytest.mark.parametrize("damage", [flip, zero, zero_rest, scramble_rest, cut])
def test_a_damaged_log_loses_no_confirmed_write_silently(tmp_path: Path, damage: Damage) -> None:
    expected = items(100)
    folder = crashed(tmp_path, expected)
    whole = log_of(folder).read_bytes()
    chance = random.Random(7)
    refused = 0
    with counted("RocksDB's log damaged") as tally:
        for number in range(DAMAGES):
            log = bytearray(whole)
            damage(log, chance.randrange(len(log)), chance)
            place = Path(shutil.copytree(folder, tmp_path / str(number)))
            log_of(place).write_bytes(log)
            with tally.attempt():
                refused += is_refused(place, expected)
            shutil.rmtree(place)
    assert (
        refused > 0.9 * DAMAGES
    )  # the few bytes between the last record of a block and its end are not used


def test_a_deleted_log_is_noticed(tmp_path: Path) -> None:
    folder = crashed(tmp_path, items(30))
    log_of(folder).unlink()
    with pytest.raises(CorruptState, match=r"30 confirmed changes are missing from .*crashed"):
        RocksDBStore(folder)


def test_a_cut_in_the_last_record_is_noticed(tmp_path: Path) -> None:
    folder = crashed(tmp_path, items(30))
    os.truncate(log_of(folder), log_of(folder).stat().st_size - 1)
    with pytest.raises(CorruptState, match=r"1 confirmed change is missing from .*crashed"):
        RocksDBStore(folder)


@pytest.mark.parametrize("kind", [5, 6, 7, 8, 11])
def test_a_log_with_types_of_recycled_records_does_not_hang(tmp_path: Path, kind: int) -> None:
    folder = crashed(tmp_path, items(30))
    log = bytearray(log_of(folder).read_bytes())
    second = 7 + struct.unpack_from("<H", log, 4)[0]
    log[second + 6] = kind
    log_of(folder).write_bytes(log)
    code = "import sys; from windrow.state import RocksDBStore; RocksDBStore(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=300
    )
    assert "CorruptState" in done.stderr
    assert f"unknown type at byte {second}" in done.stderr


def test_what_is_cut_off_without_being_confirmed_is_no_damage(tmp_path: Path) -> None:
    confirmed, more = items(30), items(30, "m")
    folder = crashed(tmp_path, confirmed, more)
    whole = log_of(folder).read_bytes()
    synced = whole.index(confirmed[-1][1]) + len(confirmed[-1][1])
    chance = random.Random(3)
    with counted("RocksDB's log cut off after the last confirmed write") as tally:
        for number in range(DAMAGES):
            place = Path(shutil.copytree(folder, tmp_path / str(number)))
            os.truncate(log_of(place), chance.randrange(synced, len(whole)))
            with tally.attempt():
                found = content(place)
                assert len(found) < 60
                assert found == [*confirmed, *more][: len(found)]  # writes that were made, and no half of one
                assert found[:30] == confirmed
            shutil.rmtree(place)


def test_damage_before_the_end_is_named_without_sync_as_well(tmp_path: Path) -> None:
    folder = crashed(tmp_path, [], items(30))
    log = bytearray(log_of(folder).read_bytes())
    log[len(log) // 2] ^= 1
    log_of(folder).write_bytes(log)
    with pytest.raises(CorruptState, match=r"the files in .*crashed are damaged.*put back a copy"):
        RocksDBStore(folder)


def test_a_closed_store_without_some_of_its_files_is_refused(tmp_path: Path) -> None:
    for start in range(0, 30, 10):
        with RocksDBStore(tmp_path / "closed") as store:
            fill(store, items(30)[start : start + 10], sync=False)
    names = [path.name for path in (tmp_path / "closed").iterdir() if path.name[0] in "0CM"]
    assert {"CURRENT", "CONFIRMED"} < set(names)
    for name in names:
        place = Path(shutil.copytree(tmp_path / "closed", tmp_path / name))
        (place / name).unlink()
        refused = is_refused(place, items(30))
        is_needed = name != "CONFIRMED" and (tmp_path / "closed" / name).stat().st_size > 0
        assert refused == is_needed, name


def test_a_cut_manifest_is_noticed(tmp_path: Path) -> None:
    for start in range(0, 30, 10):
        with RocksDBStore(tmp_path / "closed") as store:
            fill(store, items(30)[start : start + 10], sync=False)
    (manifest,) = (tmp_path / "closed").glob("MANIFEST-*")
    for number, size in enumerate(range(0, manifest.stat().st_size, 37)):
        place = Path(shutil.copytree(tmp_path / "closed", tmp_path / str(number)))
        os.truncate(place / manifest.name, size)
        is_refused(place, items(30))


def test_a_damaged_note_of_what_was_confirmed_is_named_and_may_be_deleted(tmp_path: Path) -> None:
    folder = crashed(tmp_path, items(30))
    note = folder / "CONFIRMED"
    whole = note.read_bytes()
    for damaged in (b"", whole[:-1], whole[:20] + b"7" + whole[21:], bytes(len(whole)), whole + b"x"):
        note.write_bytes(damaged)
        with pytest.raises(CorruptState, match=r"CONFIRMED is damaged.*delete this file"):
            RocksDBStore(folder)
    note.unlink()
    assert content(folder) == items(30)
    assert note.read_bytes()[:30] == b"confirmed %020d" % 30


def test_folders_of_older_versions_are_read(tmp_path: Path) -> None:
    import rocksdict

    old = rocksdict.Rdict(str(tmp_path / "old"), rocksdict.Options(raw_mode=True))
    for key, value in items(30):
        old[key] = value
    shutil.copytree(tmp_path / "old", tmp_path / "crashed")
    old.close()
    assert content(tmp_path / "old") == items(30)
    assert content(tmp_path / "crashed") == items(30)


@pytest.mark.parametrize("work", ["store", "threads", "window", "operator", "rolling"])
def test_a_full_disk_is_named_and_what_failed_can_be_repeated(tmp_path: Path, work: str) -> None:
    script = Path(__file__).parent / "full_disk.py"
    with counted("Disk full") as tally:
        done = subprocess.run(
            [sys.executable, str(script), work, str(tmp_path / "db"), str(FULL)],
            capture_output=True,
            text=True,
        )
        tally.add(FULL, FULL if done.returncode == 0 else 0)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= FULL // 2


def test_a_store_that_failed_is_closed_without_an_error(tmp_path: Path) -> None:
    code = """if True:
        import resource, sys
        from windrow.state import RocksDBStore, StoreFull
        store = RocksDBStore(sys.argv[1])
        store.write([(b"a", b"1")], sync=True)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
        try:
            store.write([(b"a", b"2"), (b"b", b"2")])
        except StoreFull as error:
            print(error)
        print(store.get_many([b"a", b"b"]))
        store.close()
        store.close()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        print(RocksDBStore(sys.argv[1]).get_many([b"a", b"b"]))
    """
    place = str(tmp_path / "db")
    done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    error, *found = done.stdout.splitlines()
    assert error.startswith(f"no room for the store in {place}: ")
    assert error.endswith("; make room, then repeat")
    assert found == ["[b'1', None]"] * 2
