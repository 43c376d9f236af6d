"""Scenarios: the real command line against real targets."""

import pytest

pytest.register_assert_rewrite("tests.e2e.scenario")
