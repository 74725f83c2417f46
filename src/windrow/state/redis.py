"""A store on a Redis server, through redis-py (the extra ``redis``).

Reads are one MGET, writes one transaction (MULTI/EXEC), so that a crash on either side leaves all of a write
or nothing. A server that is away is asked again, with growing pauses, for ``wait`` seconds; then the error
says so. Writes can be repeated without harm, so an answer that got lost does none either.

How safe a stored write is, is up to the server: with ``appendonly yes`` and ``appendfsync always`` it
survives the machine, with ``everysec`` all but a second. A server that may evict keys would lose parts of
windows: it is warned about, and so is one that is reached over a network without TLS or without a password.
"""

from __future__ import annotations

import ipaddress
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from windrow.errors import StateError, StoreUnavailable
from windrow.packages import how_to_install
from windrow.state.store import Guard, Item, Store, check_guards

__all__ = ["InsecureStore", "RedisStore"]

T = TypeVar("T")
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
#: what is said of an address that cannot be read, which may hold a password and is not shown
_ADDRESS = (
    "the address of the Redis server cannot be read: write redis://user:password@host:6379/0, with / ? # and "
    "@ of the password as %2F %3F %23 and %40, or give it as password="
)


class InsecureStore(UserWarning):
    """A store is set up so that others may read or change what is in it, or that it may lose it."""


class RedisStore(Store):
    """Keys of one namespace on a server: ``RedisStore("redis://localhost:6379/0", namespace="calls")``.

    The address may be ``rediss://`` for TLS and hold user and password; further options are those of redis-py
    (``password=``, ``ssl_ca_certs=``, ``socket_timeout=`` ...). A client of your own can be given instead.
    """

    def __init__(
        self,
        server: Any = "redis://localhost:6379/0",
        *,
        namespace: str = "windrow",
        wait: float = 30.0,
        **options: Any,
    ) -> None:
        try:
            import redis
        except ImportError as error:
            raise ImportError(f"RedisStore needs redis-py: {how_to_install('redis')}") from error
        self._redis: Any = redis
        self._is_own = isinstance(server, str)
        self._client = _connected(redis, server, options) if self._is_own else server
        self._settings = self._client.connection_pool.connection_kwargs
        if self._settings.get("decode_responses"):
            raise ValueError("this Redis client decodes responses: make it with decode_responses=False")
        self._prefix = namespace.encode() + b"\0" if namespace else b""
        self._wait = wait
        self._warn_if_exposed()
        self._warn_if_forgetful()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        names = [self._prefix + key for key in keys]
        return self._repeatedly(lambda: self._client.mget(names))

    def write(
        self,
        puts: Iterable[Item],
        deletes: Iterable[bytes] = (),
        *,
        sync: bool = False,
        guards: Sequence[Guard] = (),
    ) -> None:
        items = {self._prefix + key: value for key, value in puts}
        names = [self._prefix + key for key in deletes]
        if items or names:
            self._repeatedly(lambda: self._transaction(items, names, guards))

    def _transaction(self, items: dict[bytes, bytes], names: list[bytes], guards: Sequence[Guard]) -> None:
        with self._client.pipeline(transaction=True) as pipe:
            if guards:
                watched = [self._prefix + key for key, _ in guards]
                pipe.watch(*watched)
                check_guards(guards, pipe.mget(watched))
                pipe.multi()
            if items:
                pipe.mset(items)
            if names:
                pipe.unlink(*names)
            pipe.execute()

    def scan(self, prefix: bytes) -> Iterator[bytes]:
        pattern = re.sub(rb"([*?\[\]\\^])", rb"\\\1", self._prefix + prefix) + b"*"
        found = self._repeatedly(lambda: set(self._client.scan_iter(match=pattern, count=1000)))
        return iter(sorted(key[len(self._prefix) :] for key in found))

    def close(self) -> None:
        if self._is_own:
            self._client.close()

    # -- a server that comes and goes ------------------------------------------------------------------------

    def _repeatedly(self, call: Callable[[], T]) -> T:
        errors = self._redis.exceptions
        deadline = time.monotonic() + self._wait
        pause = _FIRST_PAUSE
        while True:
            try:
                return call()
            except errors.WatchError:
                continue  # the guard changed in between: look at it again
            except errors.AuthenticationError as error:
                raise StateError(f"Redis at {self.address} refuses user or password: {error}") from error
            except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise StoreUnavailable(
                        f"Redis at {self.address} did not answer for {self._wait:g} s ({error}): start "
                        f"it, or allow more with wait="
                    ) from error
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
            except errors.RedisError as error:
                raise StateError(f"Redis at {self.address} refused: {error}") from error

    @property
    def address(self) -> str:
        """Where the server is, without user and password."""
        where = self._settings
        return str(where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}")

    # -- warnings --------------------------------------------------------------------------------------------

    def _warn_if_exposed(self) -> None:
        settings = self._settings
        if settings.get("path") or _is_loopback(str(settings.get("host", "localhost"))):
            return
        is_tls = issubclass(self._client.connection_pool.connection_class, self._redis.SSLConnection)
        has_password = bool(settings.get("password") or settings.get("credential_provider"))
        missing = [name for name, there in (("TLS", is_tls), ("a password", has_password)) if not there]
        if missing:
            warnings.warn(
                f"Redis at {self.address} is reached over a network without {' and '.join(missing)}: "
                f"others may read or change windows; use rediss:// and a password",
                InsecureStore,
                stacklevel=3,
            )

    def _warn_if_forgetful(self) -> None:
        try:
            memory = self._client.info("memory")
        except Exception:
            return  # not allowed to ask, or not there yet: operations will tell
        policy = memory.get("maxmemory_policy", "noeviction")
        if memory.get("maxmemory") and policy != "noeviction":
            warnings.warn(
                f"Redis at {self.address} may evict keys (maxmemory-policy {policy}), and windows with "
                f"them: set it to noeviction",
                InsecureStore,
                stacklevel=3,
            )


def _connected(redis: Any, address: str, options: dict[str, Any]) -> Any:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    defaults = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "retry": Retry(NoBackoff(), 0)}
    _check_address(address)
    try:
        return redis.Redis.from_url(address, **(defaults | options))
    except ValueError:  # it may quote a part of the password
        raise ValueError(_ADDRESS) from None


def _check_address(address: str) -> None:
    """A password with / ? or # ends early, and what is left is taken for another server."""
    rest = address.partition("://")[2]
    login = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in login:
        raise ValueError(_ADDRESS)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
