"""``python -m parsity`` is the same as ``parsity``."""

import sys

from parsity.cli import main

if __name__ == "__main__":
    sys.exit(main())
