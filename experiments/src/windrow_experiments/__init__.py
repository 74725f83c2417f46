"""The experiments of the papers, run again on this implementation.

An experiment measures what a table or a figure of a paper shows, and says of each of the paper's statements
whether it holds here. :mod:`~windrow_experiments.model` has what an experiment gives;
:mod:`~windrow_experiments.registry` finds experiments by name; :mod:`~windrow_experiments.measure`,
:mod:`~windrow_experiments.cycles` and :mod:`~windrow_experiments.growth` are what they measure with. Each
paper has a package of its own. ``windrow bench`` runs them.
"""
