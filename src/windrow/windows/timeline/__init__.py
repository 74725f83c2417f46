"""The time line: durations, time zones, the calendar, and grids of edges, in whole numbers."""
