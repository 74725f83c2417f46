"""Spark Structured Streaming: the operator of :mod:`windrow.engines.stream`, its state in Spark's.

rows -> ``pack_task`` (folded into slices where they lie, one blob per bucket of keys) -> ``processor``
(transformWithState: each ``step`` loads a bucket's operator from Spark's state and saves what it changed) ->
``result_rows`` (a list of results for each column, which Spark unfolds). ``run`` puts them together;
``inspect`` reads a checkpoint, ``checkpoint`` holds one against a query, ``late`` takes late rows and results
apart. ``spark_plan`` runs what Spark's own plan gives with the same results; ``plan_of_checkpoint`` tells
which of the two made a checkpoint.
"""
