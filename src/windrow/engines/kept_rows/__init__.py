"""The rows that operators keep between steps."""
