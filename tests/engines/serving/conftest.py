"""Stores of each kind, and a Redis server, for the tests here."""

from support.stores import make_store, redis_server, store

__all__ = ["make_store", "redis_server", "store"]
