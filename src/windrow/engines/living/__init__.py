"""Structures that stay between pushes: what kept rows are found by, and trees of their partials."""
