"""Compiled kernels on disk: damaged, foreign, on a full disk or without a home, they cost time and nothing
else; and nobody but the user puts code there."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.compile import cache, cache_folder
from windrow.compile.cache_folder import CacheWarning

#: calls a kernel, and says how often it was asked of the disk and found there
PROGRAM = """
import warnings
warnings.simplefilter("error")
from windrow.compile import cache
read, hits = cache._read, []
def counted(path):
    found = read(path)
    hits.append(found is not None)
    return found
cache._read = counted
@cache.kernel
def triple(x):
    return 3 * x
print(triple(14), sum(hits), len(hits))
"""


def run(folder: Path) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"WINDROW_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    result, hits, asked = map(int, done.stdout.split())
    assert result == 42
    return hits, asked


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    assert run(folder) == (0, 1)
    return folder


def kernels(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*/*.kernel"))


def test_a_second_process_compiles_nothing(filled: Path) -> None:
    assert run(filled) == (1, 1)


def damage_emptied(data: bytes) -> bytes:
    return b""


def damage_cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damage_flipped(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]


class Poison:
    def __reduce__(self) -> object:
        return print, ("poisoned",)


def damage_poisoned(data: bytes) -> bytes:
    return pickle.dumps(Poison())


@pytest.mark.parametrize("damage", [damage_emptied, damage_cut, damage_flipped, damage_poisoned])
def test_damaged_entries_are_compiled_anew(filled: Path, damage: object) -> None:
    for path in kernels(filled):
        path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert run(filled) == (0, 1)  # and nothing else is printed: the poison is never unpickled
    assert run(filled) == (1, 1)  # they were written again


def test_entries_that_name_modules_nobody_has_are_compiled_anew(filled: Path) -> None:
    for path in kernels(filled):
        cache._write(path, b"cno_such_module\nkernel\n.")
    assert run(filled) == (1, 1)  # found, and not of use
    assert run(filled) == (1, 1)


#: two kernels of one signature, which have files of one name, and one of them with another signature too
THREE = """
from windrow.compile import cache
@cache.whole_kernel
def triple(x):
    return 3 * x
@cache.whole_kernel
def quadruple(x):
    return 4 * x
print(triple(14), quadruple(14), triple(1.5))
"""


def run_three(folder: Path) -> list[Path]:
    done = subprocess.run(
        [sys.executable, "-c", THREE],
        env=os.environ | {"WINDROW_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["42", "56", "4.5"]), done.stderr
    return kernels(folder)


def test_kernel_files_in_each_others_place_are_compiled_anew(tmp_path: Path) -> None:
    files = run_three(tmp_path)
    assert len(files) == 3
    assert len({file.name for file in files}) == 3 - 1  # and two fingerprints
    contents = {file: file.read_bytes() for file in files}
    for file, other in itertools.permutations(files, 2):
        file.write_bytes(contents[other])
        other.write_bytes(contents[file])
        assert run_three(tmp_path) == files
        assert all(cache._read(each) is not None for each in files)


def test_folders_of_kernels_in_each_others_place_are_compiled_anew(tmp_path: Path) -> None:
    one, other = sorted({file.parent for file in run_three(tmp_path)})
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    run_three(tmp_path)


def test_notes_in_each_others_place_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    notes = {"a" * 40: {"partial": ["i8"]}, "b" * 40: {"partial": ["f8"]}}
    for print_, content in notes.items():
        cache.remember(print_, "layout", content)
        assert cache.recall(print_, "layout") == content
    one, other = (next(tmp_path.glob(f"{letter}*/*/layout.*")) for letter in "ab")
    one.write_bytes(other.read_bytes())
    assert [cache.recall(print_, "layout") for print_ in notes] == [None, notes["b" * 40]]
    assert cache.recall("b" * 40, "other") is None
    other.write_bytes(b'{"partial": ["i8"]}')  # nobody wrote this here
    assert cache.recall("b" * 40, "layout") is None


def test_a_disk_that_is_full_costs_only_time(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    cache._write(filled / "new" / "entry.kernel", b"data")
    assert list((filled / "new").iterdir()) == []


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Folders are looked at anew."""
    cache_folder._found.cache_clear()
    yield
    cache_folder._found.cache_clear()


@pytest.mark.usefixtures("forgetful")
def test_a_folder_that_others_may_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(shared))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(CacheWarning, match=r"others may write to it \(mode 777\)") as caught:
        found = cache_folder.cache_folder()
    assert found == tmp_path / f"windrow-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700
    assert cache_folder.cache_folder() == found
    assert len(caught) == 1


@pytest.mark.usefixtures("forgetful")
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(CacheWarning, match="belongs to another user.*made anew in each process"):
        assert cache_folder.cache_folder() is None


@pytest.mark.usefixtures("forgetful")
def test_a_folder_that_others_may_read_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder.cache_folder() == tmp_path
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("forgetful")
def test_without_a_home_directory_there_is_a_temporary_cache_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("WINDROW_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(CacheWarning, match="no home directory") as caught:
        assert (
            cache_folder.cache_folder() == cache_folder.cache_folder() == tmp_path / f"windrow-{os.getuid()}"
        )
    assert len(caught) == 1
