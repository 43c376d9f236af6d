"""Notices that something may have changed. What did is found out by whoever is woken, from bytes."""
