"""Builds and uses every page named on the command line, in a process of its own: gradio leaves event loops open."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Read ``{folder: inputs}`` from standard input, write ``{folder: [kind of page, rows, line]}``."""
    found = {}
    for folder, inputs in json.load(sys.stdin).items():
        app = runpy.run_path(str(Path(folder) / "app.py"))
        page = app["build"]()
        boxes = page.fns[0].inputs
        if len(boxes) != len(inputs):
            raise ValueError(f"{folder}: the page has {len(boxes)} inputs, measure was given {len(inputs)}.")
        rows, line = app["measure"](*inputs)
        headers = next(part.headers for part in page.fns[0].outputs if hasattr(part, "headers"))
        found[Path(folder).name] = [type(page).__name__, headers, rows, line]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
