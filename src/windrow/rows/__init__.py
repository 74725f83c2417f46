"""What comes in: tables, their times and keys, and their rows in processing order."""
