"""The guided tour of ``windrow demo``: phone calls, a job over them, and what its results show."""
