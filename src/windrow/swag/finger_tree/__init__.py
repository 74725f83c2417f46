"""The finger B-tree behind FiBA: its layout, its steps, and its two forms."""
