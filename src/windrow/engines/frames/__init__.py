"""What points see of rows: rows themselves (rolling), and labels (as-of)."""
