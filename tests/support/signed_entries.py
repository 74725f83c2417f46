"""The entries of an operator or a bucket, by name, where some were changed from outside: what vouches for
them is made to vouch for what they are now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from windrow.engines.kept_rows.stored_pages import listed_in_pages
from windrow.engines.stream.persistence.bound_entries import context_of, listed_entries
from windrow.state.codec import checksum_of, pack, unpack


def every_name(blocks: dict[str, bytes], place: bytes, header: dict[str, Any]) -> list[str]:
    """The names of all entries that a header lists, or a page that it vouches for."""
    found = sorted(listed_entries(header))
    pages = list(_roots(header))
    while pages:
        names = list(listed_in_pages(pages.pop()))
        found += names
        pages += [
            unpack("rows", blocks[name], context_of(place, name)) for name in names if name.endswith("p")
        ]
    return found


def sign(blocks: dict[str, bytes], place: bytes, header: dict[str, Any], changed: str) -> None:
    """Make the header, and pages in ``blocks``, vouch for all entries; the one that was changed is not looked
    into."""
    for root in _roots(header):
        _sign_page(blocks, place, root, changed)
    header["sums"] = _sums(blocks, sorted(listed_entries(header)))


def _roots(header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in header["state"]["ordered"].values():
        if "root" in part.get("groups", {}):
            yield part["groups"]["root"]


def _sign_page(blocks: dict[str, bytes], place: bytes, page: dict[str, Any], changed: str) -> None:
    names = list(listed_in_pages(page))
    for name in names:
        if name.endswith("p") and name != changed:
            below = unpack("rows", blocks[name], context_of(place, name))
            _sign_page(blocks, place, below, changed)
            blocks[name] = pack("rows", below, context_of(place, name))
    page["sums"] = _sums(blocks, names)


def _sums(blocks: dict[str, bytes], names: list[str]) -> Any:
    return np.array([checksum_of(blocks[name]) for name in names], np.uint32)
