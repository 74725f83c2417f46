"""Queries with windows on Spark, on the driver."""
