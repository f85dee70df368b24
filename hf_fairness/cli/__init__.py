"""The `hf-fairness` command: one file per sub-command, found by its docstring and imported only when it runs."""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hf_fairness
from hf_fairness._secrets import redact
from hf_fairness.cli.flags import in_flags, warnings_in_flags
from hf_fairness.utils import did_you_mean, end_distributed_process, keep_freed_memory

#: Seconds before each try to reach the Hub.
WAITS = (0.0, 1.0, 2.0)
#: Beginning of a file that is a command.
_ABOUT = re.compile(r'"""`hf-fairness (?P<name>[\w-]+)`: (?P<summary>[^"]+?)\.\s*("""|\n\n)')


def _find() -> dict[str, tuple[str, str]]:
    """Name of every command -> what it does, and its module; they are read from docstrings, nothing is imported.

    A command is a file of this folder, or ``command.py`` in the folder of a method in `hf_fairness.trainers`, that
    begins with "`hf-fairness NAME`: what it does." It holds ``COMMAND``, a :class:`hf_fairness.arguments.Command`, or
    ``main(argv)``.
    """
    package = "hf_fairness.trainers"
    files = {f"{__name__}.{path.stem}": path for path in Path(__file__).parent.glob("*.py")}
    for folder in importlib.import_module(package).__path__:
        files |= {f"{package}.{path.parent.name}.command": path for path in Path(folder).glob("*/command.py")}
    found = {}
    for module, path in files.items():
        about = _ABOUT.match(path.read_text(encoding="utf-8"))
        if about:
            found[about["name"]] = (" ".join(about["summary"].split()), module)
    return dict(sorted(found.items()))


_FOUND = _find()
#: Sub-command -> what it does, in one line.
COMMANDS = {name: summary for name, (summary, _) in _FOUND.items()}


def command(name: str) -> Callable[[Sequence[str]], Any]:
    """What runs a sub-command: it takes the words after its name, returns the result and raises what goes wrong."""
    module = importlib.import_module(_FOUND[name][1])
    from hf_fairness.cli.methods import main as run_method

    own: Callable[[Sequence[str]], Any] | None = getattr(module, "main", None)
    return own or functools.partial(run_method, name, module.COMMAND)


def usage() -> str:
    """The text of `hf-fairness --help`."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return f"""usage: hf-fairness COMMAND [options]

Measure and reduce social bias in text models. No command claims that a model is fair.

commands:
{commands}

`hf-fairness COMMAND --help` explains the options of a command, `--help-all` those of the Trainer too.
`--config FILE.yaml` replaces flags by a file; flags given as well win over the file.
`--traceback` shows where an error came from."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command.

    Args:
        argv: the words after `hf-fairness`; None means those of this process.

    Returns:
        Exit status: 0 done, 1 failed with a message (or an arm of the run did), 2 wrong usage, 130 stopped by the user,
        141 nobody reads the output any more.
    """
    if argv is not None:
        return _status(list(argv))
    keep_freed_memory()  # nothing comes before or after it in this process
    status = _status(sys.argv[1:])
    end_distributed_process(status)
    return status


def _status(words: list[str]) -> int:
    """Run a command; what goes wrong is told in a message and becomes a status."""
    try:
        try:
            return _run(words)
        finally:
            sys.stdout.flush()  # a reader that is gone is noticed here, not while Python ends
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print(
            "\nhf-fairness: stopped. Run the same command again; a training goes on from its last finished stage.",
            file=sys.stderr,
        )
        return 130
    except Exception as error:
        if "--traceback" in words:
            said = "".join(traceback.format_exception(error)).rstrip()
        else:
            said = f"hf-fairness {words[0]}: error: {_message(error)}\n(--traceback shows where this came from)"
        print(redact(said), file=sys.stderr)
        return 1


def _run(words: list[str]) -> int:
    """Find the sub-command and run it."""
    name, rest = next(iter(words), "--help"), [word for word in words[1:] if word != "--traceback"]
    if name in ("-h", "--help", "--version"):
        print(hf_fairness.__version__ if name == "--version" else usage())
        return 0 if words else 2
    if name not in COMMANDS:
        said = f"hf-fairness: unknown command {name!r}.{did_you_mean(name, COMMANDS)}\n\n{usage()}"
        print(redact(said), file=sys.stderr)
        return 2
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("httpx", "sentence_transformers", "datasets", "transformers", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    from hf_fairness._opening import opened_once

    with warnings_in_flags(name), opened_once(), hub_tried_first():
        result = command(name)(rest)
    left_out = result.get("left_out", {}) if isinstance(result, dict) else {}
    for why in left_out.values():
        print(redact(f"hf-fairness {name}: error: {in_flags(why)}."), file=sys.stderr)
    return 1 if left_out else 0


@contextlib.contextmanager
def hub_tried_first() -> Iterator[None]:
    """Within the block the first request to the Hub waits until it has answered anything at all.

    If it does not, that request and all later ones fail at once as in offline mode, so that what is cached opens. Else
    its client tries again what fails, as it always does: each file of a model up to six times, which takes minutes
    where nobody answers.
    """
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled

    client = get_session()
    hooks = client.event_hooks
    silent = functools.cache(
        functools.partial(_why_silent, type(client), constants.ENDPOINT, constants.HF_HUB_ETAG_TIMEOUT)
    )

    def ask(request: Any) -> None:
        why = silent() if str(request.url).startswith(constants.ENDPOINT) else ""
        if why:
            raise OfflineModeIsEnabled(f"the Hub cannot be reached at {constants.ENDPOINT} ({why})")

    client.event_hooks = {**hooks, "request": [*hooks["request"], ask]}
    try:
        yield
    finally:
        client.event_hooks = hooks


def _why_silent(make_client: Any, endpoint: str, timeout: float) -> str:
    """What was wrong with the last try to reach the Hub, which share the time; empty where it answered."""
    why = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            with make_client(timeout=timeout / len(WAITS)) as client:
                client.head(endpoint)
            return ""
        except Exception as error:  # the client's own: no name, no connection, no answer, a proxy that refuses
            why = str(error) or type(error).__name__
    return why


class _Formatter(logging.Formatter):
    """Lines of the log without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return redact(super().format(record))


#: What is raised for what a user can change; anything else is a defect of ours.
_EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError)
#: Lines of a message, and letters of a line; libraries write some of a hundred.
_MOST_LINES, _MOST_LETTERS = 2, 600


def _message(error: Exception) -> str:
    """What is said of an error: a few lines, in flags."""
    lines = [in_flags(line)[:_MOST_LETTERS] for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    if isinstance(error, MemoryError):
        first = "out of memory: give fewer rows, a smaller model or a smaller batch."
    elif any(base.__name__ == "HTTPError" for base in type(error).__mro__):  # of whichever library asks the Hub
        first = f"the network failed: {first}"
    elif not isinstance(error, _EXPECTED):
        first = f"{type(error).__name__}: {first} (an input that this command does not check: please report it)"
    return "\n".join([first, *lines[1:_MOST_LINES]]) + (" ..." if len(lines) > _MOST_LINES else "")
