"""Spark Structured Streaming: the operator of :mod:`windrow.engines.stream`, its state in Spark's.

rows -> ``pack_task`` (folded into slices where they lie, one blob a bucket of keys) -> ``processor``
(transformWithState: a bucket's operator, loaded from and saved to Spark's state by ``bucket_state``) ->
``unpack_task`` (result blobs into columns). ``run`` puts them together.
"""
