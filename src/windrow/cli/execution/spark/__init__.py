"""A job on Spark: the session, what is read and written, micro-batches and how they are watched."""
