"""Charts of runs and of their results, as SVG: of reports, of the live page, and of experiments."""
