"""``python -m omtree`` is the command line."""

import sys

from omtree.cli import main

if __name__ == "__main__":
    sys.exit(main())
