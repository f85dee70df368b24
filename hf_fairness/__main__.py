"""`python -m hf_fairness` is the `hf-fairness` command."""

import sys

from hf_fairness.cli import main

sys.exit(main())
