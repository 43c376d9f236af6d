"""Faults injected into the agent at every system call that changes something, and the report on them."""
