"""Run the command line: ``python -m tropical``."""

import sys

from tropical.cli import main

if __name__ == "__main__":
    sys.exit(main())
