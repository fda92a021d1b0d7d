"""Makes `python -m tfsum` the command `tfsum`."""

import sys

from tfsum.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
