"""Failures that people met in the field, each reproduced for real, with a positive control beside it.

``catalogue`` lists them; ``pytest tests/e2e/cases --write-cases`` writes what was seen to ``docs/cases.md``.
"""
