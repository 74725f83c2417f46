"""Options of the JVMs that tests start."""

from __future__ import annotations

__all__ = ["JAVA"]

#: for ``JDK_JAVA_OPTIONS``. A JVM that lives for minutes is not worth optimising; with one compiler alone,
#: Java reserves too little room for code, and would sweep it out and compile it again.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
