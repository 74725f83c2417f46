"""How a job runs: on the local engine, or on Spark."""
