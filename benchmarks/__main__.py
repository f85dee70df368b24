"""Command line entry: `python -m benchmarks [--only NAME] [--quick]`."""

from __future__ import annotations

import sys

from benchmarks.runner import main

sys.exit(main())
