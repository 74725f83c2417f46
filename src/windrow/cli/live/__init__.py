"""The live page: a run, or results that were written, in a browser.

``state`` is what is shown, fed by the run as any other reporter is; ``views`` turns it into JSON and SVG;
``app`` answers requests, ``server`` runs it in a thread. ``static`` has the page itself, written by hand:
nothing is built, and nothing is loaded from elsewhere. It needs the extra ``serve``.
"""
