"""One micro-batch of a stream: rows packed by bucket, the step of each bucket, results as lists."""
