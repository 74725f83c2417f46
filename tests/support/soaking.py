"""A steady load, watched: what was in use over time, and what of it grows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.processes import processes_below

__all__ = ["Sample", "Soaked", "memory_of", "open_files_of"]

#: by how much the last third may be above the middle one
_SLACK = 1.1
#: what is never growth, by how a name begins: what allocators keep for themselves, a file that is just open
_NOISE = {"memory": 32 << 20, "heap": 16 << 20, "state": 1 << 16, "files": 8}


@dataclass(frozen=True)
class Sample:
    """What was in use at one moment, in bytes or numbers, by name."""

    at: float
    used: Mapping[str, int]


@dataclass(frozen=True)
class Soaked:
    """How a run went: rows, samples over time, and what was counted that must not be."""

    rows: int
    samples: Sequence[Sample]
    #: counts that do not add up, in words
    wrong: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    def growth(self) -> list[str]:
        """What grows after the first third, and what does not add up, in words."""
        third = len(self.samples) // 3
        middle, last = self.samples[third : 2 * third], self.samples[2 * third :]
        found = list(self.wrong)
        for name in self.samples[-1].used:
            before, after = (max(sample.used[name] for sample in part) for part in (middle, last))
            if after > before * _SLACK + _NOISE[name.split()[0]]:
                found.append(f"{name} grew from {before:,} to {after:,}")
        return found

    def text(self) -> str:
        """In one line, with what was in use at the end of each third."""
        last = self.samples[-1]
        parts = [self.samples[len(self.samples) * k // 3 - 1].used for k in (1, 2, 3)]
        used = [f"{name} {' -> '.join(_shown(name, each[name]) for each in parts)}" for name in last.used]
        counts = [f"{name} {count:,}" for name, count in self.counts.items()]
        rate = self.rows / last.at
        return f"{self.rows:,} rows in {last.at:,.0f} s ({rate:,.0f} a second): {'; '.join([*used, *counts])}"


def _shown(name: str, value: int) -> str:
    return f"{value:,}" if name.startswith("files") else f"{value / (1 << 20):,.1f} MiB"


def memory_of(pids: Iterable[int]) -> int:
    """Bytes that processes have in memory; 0 for one that has ended."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(text.split()[1]) * page for pid in pids if (text := _text(pid, "statm")))


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def open_files_of(pids: Iterable[int]) -> int:
    count = 0
    for pid in pids:
        try:
            count += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:  # it has ended
            continue
    return count


def python_below(pid: int) -> list[int]:
    """The Python processes that a process has started."""
    return [child for child, command in processes_below(pid) if "python" in command.partition(" ")[0]]
