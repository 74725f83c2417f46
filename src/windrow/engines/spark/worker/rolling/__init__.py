"""Rolling over one partition of sorted rows, batch after batch."""
