"""Where a run can be asked about itself: HOST:PORT of an option."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from windrow.cli.errors import JobError

__all__ = ["Address", "listening", "read_address"]


class Address(NamedTuple):
    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect.

        >>> (
        ...     Address("127.0.0.1", 1).is_local,
        ...     Address("0.0.0.0", 1).is_local,
        ...     Address("shop.example", 1).is_local,
        ... )
        (True, False, False)
        """
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """
        >>> Address("::1", 8080).url
        'http://[::1]:8080'
        """
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def read_address(text: str, option: str) -> Address:
    """``:PORT`` is this machine alone.

    >>> read_address(":9100", "--metrics"), read_address("[::1]:80", "--serve").host
    (Address(host='127.0.0.1', port=9100), '::1')
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise JobError(f"{option} {text}: give HOST:PORT, or :PORT for this machine alone, as in :9100")
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def listening(address: Address, option: str) -> socket.socket:
    """A socket to which clients can connect."""
    try:
        family, *_, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(place)
            found.listen()
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise JobError(f"{option} {address.host}:{address.port}: {error.strerror or error}") from error
    return found
