"""Native code from Python monoids.

A kernel is written once, as a closure factory over lift, combine and lower ([DESIGN] of the house: one
source for compiled and interpreted). Run plainly it works on lists of any Python object; run through Numba
it works on numpy arrays. The parts:

``forms``     a function in two forms, compiled and interpreted on the same arrays
``entry``     which form answers a call: interpreted at first, compiled when that pays
``access``    how a kernel reads and writes partials: the plain Python form
``overloads`` the same for Numba (imported only when something is compiled)
``array_access`` the same for interpreted kernels
``sampled``   the layout of windrow's own monoids, without Numba
``steps``     functions that only compiled functions call
``linked``    how these are compiled: linked into kernels, and optimised with them
``layout``    which native type the partials and results of a monoid have
``cache``     compiled kernels on disk, found by a fingerprint of all functions in them
``native``    a monoid's functions as native ones, or the reason why not
``columns``   lists, numpy and Arrow in; the same kind out
``general``   one kernel for all small inputs
"""
