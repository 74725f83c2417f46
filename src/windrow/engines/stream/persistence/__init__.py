"""The state of an operator in a key-value store, or in Spark's: entries, fences, and how they are read
again."""
