"""The command line: jobs in TOML files, run on Spark or without it.

``main``       what can be typed, and the exit codes
``job``        job files: read, checked, turned into a query
``commands``   one file a command
``local``      a job without Spark: files in, files out
``spark``      a job on Spark: the session, sources, sinks, micro-batches
``show``       progress on a terminal, as lines, as JSON
``report``     a run as one HTML page

Nothing heavy is imported before a command needs it, so that ``windrow --help`` answers at once.
"""
