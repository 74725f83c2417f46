"""A job without Spark: files in, files out."""
