"""Windows on both sides of the shuffle: rows into slices, slices into windows."""
