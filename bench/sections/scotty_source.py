"""Scotty's own operator for benchmarks: compiled from a checkout of its public source, into ``.cache``.

Scotty is not on Maven Central, and nothing here fetches source: who has a checkout names its folder. What its
core imports of other projects (a Flink class, an annotation) comes with ``bench/flink/pom.xml``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sections.flink import flink_jars
from sections.jvm import CACHE, Jvm, Unavailable, compile_java, need_java

__all__ = ["Scotty"]

PROGRAM = Path(__file__).parents[1] / "scotty_operator" / "Slices.java"
_MODULES = ("core", "state", "slicing")


class Scotty(Jvm):
    """A JVM that runs ``bench/scotty_operator/Slices.java`` on the operator of this checkout."""

    def __init__(self, checkout: Path, memory: str = "3g") -> None:
        need_java("Scotty")
        folders = [checkout / module / "src" / "main" / "java" for module in _MODULES]
        missing = [folder for folder in folders if not folder.is_dir()]
        if missing:
            raise Unavailable(f"{checkout} is not a checkout of Scotty: there is no {missing[0]}")
        sources = sorted(path for folder in folders for path in folder.rglob("*.java"))
        own = hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:12]
        classes, libraries = CACHE / "scotty" / own, f"{flink_jars()}/*"
        compile_java([PROGRAM, *sources], classes, [libraries])
        super().__init__(PROGRAM.stem, [classes, libraries], [f"-Xmx{memory}"])
