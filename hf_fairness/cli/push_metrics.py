"""`hf-fairness push-metrics`: upload the metrics to the Hub, each as a Space for `evaluate.load`."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hf_fairness
from hf_fairness.arguments import Command
from hf_fairness.cli.hub import HubAccess, check_login
from hf_fairness.results import columns
from hf_fairness.utils import metric_names, metric_path, progress

PACKAGE = "hf-fairness"


@dataclass(kw_only=True)
class PushArguments(HubAccess):
    """What `hf-fairness push-metrics` can be told."""

    namespace: str = field(metadata={"help": "User or organisation on the Hub that the Spaces shall belong to."})
    only: list[str] | None = field(default=None, metadata={"help": "Push these metrics only, for example seat cced."})
    install_from: str | None = field(
        default=None,
        metadata={
            "help": "What the Spaces install this package from: an address such as git+https://host/repository, or a "
            "version such as ==0.1.0. Default: as requirements.txt says, the newest release."
        },
    )
    dry_run: bool = field(default=False, metadata={"help": "Check everything and say what would be uploaded, offline."})


def run(arguments: PushArguments) -> list[dict[str, Any]]:
    """Push all metrics one after the other, print the table; returns one row per metric."""
    from huggingface_hub.constants import ENDPOINT

    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", arguments.namespace):
        raise ValueError(f"--namespace must be the name of a user or an organisation; got {arguments.namespace!r}.")
    spaces = {name: space_files(name, arguments.install_from) for name in arguments.only or metric_names()}
    statuses = dict.fromkeys(spaces, "not pushed (dry run)") if arguments.dry_run else _push(arguments, spaces)
    rows: list[dict[str, Any]] = [
        {
            "metric": name,
            "status": status,
            "files": sorted(spaces[name]),
            "url": f"{ENDPOINT}/spaces/{arguments.namespace}/{name}",
        }
        for name, status in statuses.items()
    ]
    lines = ((row["metric"], row["status"], ", ".join(row["files"]), row["url"]) for row in rows)
    print(*columns([("metric", "status", "files", "Space"), *lines], left=range(4)), sep="\n")
    return rows


def space_files(name: str, install_from: str | None = None) -> dict[str, bytes]:
    """What the Space of a metric holds.

    Args:
        name: id of the metric.
        install_from: see ``PushArguments``.

    Returns:
        Path in the Space to content.

    Raises:
        ValueError: an unknown metric, or something that nothing can be installed from.
    """
    folder = Path(metric_path(name))
    paths = [*folder.glob("*.py"), folder / "README.md", folder / "requirements.txt"]
    files = {path.name: path.read_bytes() for path in sorted(paths) if path.name != "__init__.py"}
    if install_from is not None:
        files["requirements.txt"] = _requirements(files["requirements.txt"].decode(), install_from).encode()
    return files


def _requirements(text: str, install_from: str) -> str:
    """The requirements of a Space, with this package from where it was asked for."""
    from packaging.requirements import InvalidRequirement, Requirement

    source = f" @ {install_from}" if "://" in install_from else install_from
    try:
        Requirement(f"{PACKAGE}[spaces]{source}")
    except InvalidRequirement as error:
        raise ValueError(f"--install_from {install_from}: {error}") from error
    return re.sub(rf"(?m)^({PACKAGE}\[.*?\]).*$", lambda match: match[1] + source, text)


def _push(arguments: PushArguments, spaces: dict[str, dict[str, bytes]]) -> dict[str, str]:
    """Create each Space unless it exists, and commit the files that differ; returns what became of each."""
    from hf_fairness.publishing import publish

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns of every Space that is up to date
    first = f"{arguments.namespace}/{next(iter(spaces))}"
    check_login(first, repo_type="space", token=arguments.hub_token)  # before anything is made
    done: dict[str, str] = {}
    for name, files in progress(spaces.items(), "Pushing", total=len(spaces), unit="Space"):
        repo_id = f"{arguments.namespace}/{name}"
        try:
            found = publish(
                files,
                repo_id,
                repo_type="space",
                space_sdk="gradio",
                private=arguments.hub_private_repo,
                token=arguments.hub_token,
                message=f"Metric {name} of hf-fairness {hf_fairness.__version__}",
            )
        except OSError as error:
            raise RuntimeError(
                f"{repo_id}: {error}\nPushed before that: {', '.join(done) or 'none'}. Run the same command again to "
                "go on."
            ) from error
        done[name] = "pushed" if found.changed else "unchanged"
    return done


COMMAND = Command(
    description="""Upload every metric as a Space NAMESPACE/<metric>, with its card and its page. After that
evaluate.load("NAMESPACE/seat") works for everyone who has this package installed. Running it again uploads what has
changed and leaves the rest alone.""",
    arguments="hf_fairness.cli.push_metrics:PushArguments",
    config="",
    run=run,
    positional="",
)
