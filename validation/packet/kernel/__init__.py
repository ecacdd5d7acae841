"""The compiled event loop, one file per part.

`records` says what a run remembers, `loop` is the place to start reading. Interpreted (NUMBA_DISABLE_JIT=1) the
same code gives the same counts, about a thousand times slower.
"""
