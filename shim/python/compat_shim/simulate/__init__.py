"""Simulated accelerators in Python: what torch asks beyond dispatcher and hooks. It knows nothing of
redirection."""
