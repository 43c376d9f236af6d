"""Real parts for tests: engines, images, containers, git repositories, wheels and environments.

Plain modules that know nothing of overlaysync and nothing of pytest; ``tests/conftest.py`` makes fixtures
of them.
"""
