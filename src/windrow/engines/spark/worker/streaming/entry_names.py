"""The names of a bucket's entries that are not blocks of slices or chunks of rows."""

from __future__ import annotations

__all__ = ["FENCE", "HEADER", "SILENCE"]

HEADER, FENCE, SILENCE = "header", "fence", "silence"
