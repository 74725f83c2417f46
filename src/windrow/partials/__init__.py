"""Rows folded to partial aggregates, in columns: one partial for each slice and aggregate."""
