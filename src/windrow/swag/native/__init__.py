"""Batches through the algorithms in native code."""
