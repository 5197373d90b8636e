"""Redirection in Python: what reaches neither torch's dispatcher nor its hooks. It knows the host's
accelerator by torch's own functions, and not whether it is simulated."""
