"""``python -m overlaysync``."""

from overlaysync.cli.main import main

if __name__ == "__main__":
    main()
