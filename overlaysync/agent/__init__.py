"""Floor 0: what runs in the target. Standard library only, Python 3.8 and newer, shipped over stdin."""
