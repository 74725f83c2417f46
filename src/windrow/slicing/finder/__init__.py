"""Which windows there are: those that hold rows, are due, or lie between a key's first row and its last."""
