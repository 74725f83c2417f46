"""Windows that data decides, and rolling, over rows in order: one module for each kind."""
