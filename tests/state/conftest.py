"""Stores of each kind, and Redis servers, for the tests here."""

from support.stores import make_store, redis_server, start_redis, store

__all__ = ["make_store", "redis_server", "start_redis", "store"]
