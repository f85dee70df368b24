"""`hf-fairness push-metrics`: upload the metrics to the Hub, each as a Space for `evaluate.load`."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from pathlib import Path

from hf_fairness import __version__
from hf_fairness.arguments import Command
from hf_fairness.cli.hub import HubAccess, check_login, push_all
from hf_fairness.results import columns
from hf_fairness.utils import metric_names, metric_path

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


def run(arguments: PushArguments) -> dict[str, str]:
    """Push all metrics one after the other, or say what would be pushed; returns the repository or address of each."""
    from hf_fairness.publishing import Artefact

    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", arguments.namespace):
        raise ValueError(f"--namespace must be the name of a user or an organisation; got {arguments.namespace!r}.")
    spaces = {}
    for name in arguments.only or metric_names():
        files, message = space_files(name, arguments.install_from), f"Metric {name} of hf-fairness {__version__}"
        spaces[name] = Artefact("space", given=files, message=message)
    wanted = {name: f"{arguments.namespace}/{name}" for name in spaces}
    if arguments.dry_run:
        rows = [(name, repo_id, ", ".join(spaces[name].given)) for name, repo_id in wanted.items()]
        print(*columns([("metric", "Space (dry run: not pushed)", "files"), *rows], left=range(3)), sep="\n")
        return wanted
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns of every Space that is up to date
    check_login(next(iter(wanted.values())), repo_type="space", token=arguments.hub_token)  # before anything is made
    return push_all(spaces, wanted, arguments)


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


COMMAND = Command(
    description="""Upload every metric as a Space NAMESPACE/<metric>, with its card and its page. After that
evaluate.load("NAMESPACE/seat") works for everyone who has this package installed. Running it again uploads what has
changed and leaves the rest alone.""",
    arguments="hf_fairness.cli.push_metrics:PushArguments",
    config="",
    run=run,
    positional="",
)
