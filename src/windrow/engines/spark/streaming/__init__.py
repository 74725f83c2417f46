"""Spark Structured Streaming: the operator of :mod:`windrow.engines.stream`, its state in Spark's.

rows -> ``pack_task`` (folded into slices where they lie, one blob per bucket of keys) -> ``processor``
(transformWithState: each ``step`` loads a bucket's operator from Spark's state and saves what it changed) ->
``unpack_task`` (result blobs into columns). ``run`` puts them together; ``settings`` makes a session ready,
``inspect`` reads a checkpoint, ``checkpoint`` holds one against a query, ``late`` takes late rows and results
apart.
"""
