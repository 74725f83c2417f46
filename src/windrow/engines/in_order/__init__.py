"""Rows of an endless input taken in order of time: windows that data decides, and rolling."""
