"""Engines carry rows in and results out. ``local`` is the one that is always there: Arrow in, Arrow out."""
