"""`hf-fairness push-metrics`: upload the metrics to the Hub, each as a Space for `evaluate.load`."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import hf_fairness
from hf_fairness.cli.hub import HubAccess, check_login
from hf_fairness.cli.parsing import parse
from hf_fairness.results import columns
from hf_fairness.utils import metric_names, metric_path, progress

DESCRIPTION = """Upload every metric as a Space NAMESPACE/<metric>, with its card and its page. After that
evaluate.load("NAMESPACE/seat") works for everyone who has this package installed. Running it again uploads what has
changed and leaves the rest alone."""

PACKAGE = "hf-fairness"
#: What a Space's card may say of colours.
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


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


def main(argv: Sequence[str]) -> list[dict[str, Any]]:
    """Check all metrics, push them one after the other, print the table; returns one row per metric."""
    (arguments,) = parse([PushArguments], argv, prog="hf-fairness push-metrics", description=DESCRIPTION)
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
    """What the Space of a metric holds, checked.

    Args:
        name: id of the metric.
        install_from: see ``PushArguments``.

    Returns:
        Path in the Space to content.

    Raises:
        ValueError: a missing file, a card that is none of a gradio Space, or requirements without this package.
    """
    folder = Path(metric_path(name))
    paths = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    paths += [folder / "README.md", folder / "requirements.txt"]
    missing = [path.name for path in [*paths, folder / "app.py"] if not path.is_file()]
    if missing:
        raise ValueError(f"Metric {name!r} has no {', '.join(missing)} in {folder}; a Space needs it.")
    files = {path.name: path.read_bytes() for path in sorted(paths)}
    _check_card(name, files)
    files["requirements.txt"] = _requirements(name, files["requirements.txt"].decode(), install_from).encode()
    return files


def _check_card(name: str, files: dict[str, bytes]) -> None:
    """Raise unless the card opens with what the Hub wants to know of a gradio Space."""
    from huggingface_hub import SpaceCard

    try:
        card = cast(Any, SpaceCard(files["README.md"].decode()).data).to_dict()
    except Exception as error:  # yaml's errors, and those of the card itself
        raise ValueError(f"README.md of metric {name!r} has no readable front matter: {error}") from error
    wanted = {
        "title": bool(card.get("title")),
        "emoji": bool(card.get("emoji")),
        "colorFrom": card.get("colorFrom") in COLOURS,
        "colorTo": card.get("colorTo") in COLOURS,
        "sdk": card.get("sdk") == "gradio",
        "sdk_version": bool(re.fullmatch(r"\d+\.\d+\.\d+", str(card.get("sdk_version")))),
        "app_file": card.get("app_file") in files,
        "tags": "evaluate" in (card.get("tags") or []),
    }
    wrong = [f"{key}: {card.get(key)!r}" for key, good in wanted.items() if not good]
    if wrong:
        raise ValueError(
            f"README.md of metric {name!r} is no card of a gradio Space for evaluate. Look at {', '.join(wrong)}."
        )


def _requirements(name: str, text: str, install_from: str | None) -> str:
    """The requirements, with this package from where it was asked for."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    lines, found = [], False
    for line in text.splitlines():
        content = line.split("#")[0].strip()
        try:
            requirement = Requirement(content) if content else None
            if requirement is not None and canonicalize_name(requirement.name) == PACKAGE:
                found = True
                if install_from is not None:
                    at = " @ " if "://" in install_from else ""
                    line = str(Requirement(f"{PACKAGE}[{','.join(requirement.extras)}]{at}{install_from}"))
        except InvalidRequirement as error:
            raise ValueError(f"requirements.txt of metric {name!r}: {line!r}, {install_from=}: {error}") from error
        lines.append(line)
    if not found:
        raise ValueError(f"requirements.txt of metric {name!r} does not name {PACKAGE}: its Space could not run.")
    return "\n".join(lines) + "\n"


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
