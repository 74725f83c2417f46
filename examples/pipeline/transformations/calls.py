"""Calls by region: a materialized view of hours, and a streaming table of visits."""

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import windrow as wr

spark = SparkSession.active()
SCHEMA = "ts timestamp, region string, len long"

# windrow asks for the schema of a DataFrame, and Spark answers outside of a pipeline's functions alone: hence
# the queries are run here, and the functions hand them over
hours = (
    wr.query(time="ts", by="region")
    .window(hour=wr.Sliding("1h", slide="5m"))
    .agg(longest=wr.max("len"), n=wr.count())
    .run(spark.read.schema(SCHEMA).parquet("calls"))
)
visits = (
    wr.query(time="ts", by="region", watermark="10m")
    .window(wr.Session("5m"))
    .agg(longest=wr.max("len"), n=wr.count())
    .run(spark.readStream.schema(SCHEMA).parquet("calls"))
)


@dp.materialized_view
def busy_hours():
    return hours.where("n > 0")


@dp.table
def region_visits():
    return visits
