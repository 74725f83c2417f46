"""Rolling queries on Spark, on the driver."""
