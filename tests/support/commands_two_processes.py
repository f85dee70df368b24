"""Run under torchrun: several commands one after the other; status and messages of each go to a file."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from support.launch import run_script


def main(file: Path) -> None:
    """Run the command lines of a JSON file."""
    import warnings

    from hf_fairness.cli import main as command
    from hf_fairness.utils import FairnessWarning

    warnings.simplefilter("ignore", FairnessWarning)  # the worlds are tiny
    warnings.simplefilter("ignore", FutureWarning)
    told = {}
    for name, words in json.loads(file.read_text()).items():
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = command(words)
        told[name] = [status, said.getvalue()[-4000:]]
    file.with_name(f"told-{os.environ['RANK']}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
