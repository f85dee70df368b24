"""The `hf-fairness` command: one file per sub-command, imported only when that sub-command runs."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

import hf_fairness

#: Sub-command -> what it does, in one line. The module of the same name holds `main(argv)`.
COMMANDS: dict[str, str] = {
    "audit": "measure bias and utility of a text encoder, write a report",
    "augment": "rewrite or refine a data set: counterfactuals, variants per group, balance, bias score",
    "build-dataset": "build a data set of the papers from its raw files: parquet and card, on disk or on the Hub",
    "ccd": "mitigate a text encoder with content-conditional debiasing, audit it before and after",
    "data-diet": "find the part of a training set that makes a classifier fairer at a bounded loss of AUC",
    "demo": "run `ccd` on a real MiniLM and a corpus that this package carries; needs no download",
    "gfst": "gender-filtered self-training of a translator, measured beside its control; `--demo` needs no data",
    "ibadr": "refine the data of a classifier against biases that nobody had to name; `--demo` needs no data",
    "push-metrics": "upload the metrics to the Hub, each as a Space for `evaluate.load`",
}

_HELP_FLAGS = {"-h", "--help"}


def usage() -> str:
    """The text of `hf-fairness --help`."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: hf-fairness COMMAND [options]",
            "",
            "Measure and reduce social bias in text models. No command claims that a model is fair.",
            "",
            "commands:",
            *lines,
            "",
            "`hf-fairness COMMAND --help` explains the options of a command, `--help-all` those of the Trainer too.",
            "`--config FILE.yaml` replaces flags by a file; flags given as well win over the file.",
            "`--traceback` shows where an error came from.",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command.

    Args:
        argv: the words after `hf-fairness`; None means those of this process.

    Returns:
        Exit status: 0 done, 1 failed with a message, 2 wrong usage.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in _HELP_FLAGS:
        print(usage())
        return 0 if words else 2
    if words[0] == "--version":
        print(hf_fairness.__version__)
        return 0
    command, rest = words[0], words[1:]
    if command not in COMMANDS:
        print(f"hf-fairness: unknown command {command!r}.\n\n{usage()}", file=sys.stderr)
        return 2
    traceback = "--traceback" in rest
    rest = [word for word in rest if word != "--traceback"]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for noisy in ("httpx", "sentence_transformers", "datasets", "transformers", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    module = importlib.import_module(f"hf_fairness.cli.{command.replace('-', '_')}")
    try:
        module.main(rest)
    except KeyboardInterrupt:
        print(
            "\nhf-fairness: stopped. Run the same command again to go on from the last finished stage.",
            file=sys.stderr,
        )
        return 130
    except (ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        if traceback:
            raise
        print(f"hf-fairness {command}: error: {error}", file=sys.stderr)
        print("(--traceback shows where this came from)", file=sys.stderr)
        return 1
    return 0
