"""What runs in Spark's Python workers: Arrow batches in and out. Nothing here imports pyspark."""
