"""The Hub for commands that push: what goes where, and whether one may, asked before any work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._secrets import redact
from hf_fairness.utils import is_main_process

if TYPE_CHECKING:
    from hf_fairness.publishing import Artefact

#: The artefact that ``--push_to_hub`` means.
MODEL = "model"
#: Of artefacts that are no data sets.
REPO_TYPES = {MODEL: "model", "generator": "model"}

#: The flags that name a repository.
_FLAGS = {"model": "--hub_model_id", "dataset": "--hub_dataset_id", "space": "--namespace"}
_LOGIN = "Log in with `hf auth login`, or set HF_TOKEN to a token with write access (hf.co/settings/tokens)"


def check_login(repo_id: str, *, repo_type: str = "model", token: str | None = None) -> str:
    """Raise unless one may write to a repository, as far as the Hub says without writing anything.

    Args:
        repo_id: ``NAMESPACE/NAME``, or ``NAME`` in the namespace of the user.
        repo_type: ``model``, ``dataset`` or ``space``.
        token: token of the Hub; None means that of the environment or of the login.

    Returns:
        ``NAMESPACE/NAME``.

    Raises:
        ValueError: a name that the Hub does not take, with the flag that names another; a token that cannot be one.
        PermissionError: no token, a token that is not accepted or may not write, or a foreign namespace.
        ConnectionError: the Hub is out of reach, or this process is told to stay offline.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, LocalTokenNotFoundError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, and not re-exported

    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("The token of the Hub is empty or holds blanks or letters that no token has. Copy it anew.")
    try:
        validate_repo_id(repo_id)
        user = HfApi().whoami(token=token)
    except HFValidationError as error:
        said = str(error).strip().rstrip(".")
        raise ValueError(f"Cannot push to {repo_id!r}: {said}. {_FLAGS[repo_type]} names the repository.") from error
    except Exception as error:  # of the Hub, or of whichever HTTP library its client is made with
        why = " ".join(redact(str(error)).split()).rstrip(".") or type(error).__name__
        said = f"Cannot push to {repo_id}: {why}."
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, LocalTokenNotFoundError) or status in (401, 403):
            raise PermissionError(f"{said} {_LOGIN}.") from error
        raise ConnectionError(f"{said} Look at the network, or leave out --push_to_hub.") from error
    full = repo_id if "/" in repo_id else f"{user['name']}/{repo_id}"
    refusal = next((why for why, holds in _refusals(user, full, repo_type).items() if holds), None)
    if refusal is not None:
        raise PermissionError(f"Cannot push to {full}: {refusal}. {_LOGIN}.")
    return full


def _refusals(user: Mapping[str, Any], repo_id: str, repo_type: str) -> dict[str, bool]:
    """Why a user or a token may not write to a repository -> whether the Hub says so."""
    name, namespace = user["name"], repo_id.partition("/")[0]
    roles = {name: "admin", **{org["name"]: org.get("roleInOrg") for org in user.get("orgs") or []}}
    token = (user.get("auth") or {}).get("accessToken") or {}
    scopes = (token.get("fineGrained") or {}).get("scoped")
    writable = [scope.get("entity") or {} for scope in scopes or [] if "repo.write" in (scope.get("permissions") or [])]
    granted = {(entity.get("type"), entity.get("name")) for entity in writable}
    asked = {("user", namespace), ("org", namespace), (repo_type, repo_id)}
    scoped = token.get("role") == "fineGrained" and isinstance(scopes, list)
    foreign = f"you are logged in as {name}, who may write to {', '.join(roles)}; choose one of these"
    return {
        foreign: namespace not in roles,
        "the token may only read": token.get("role") == "read",
        "the fine-grained token has no permission repo.write there": scoped and asked.isdisjoint(granted),
        f"{name} may only read in the organisation {namespace}": roles.get(namespace) == "read",
    }


@dataclass
class HubAccess:
    """How a command writes to the Hub, for those whose other settings are no `TrainingArguments`; names are theirs."""

    hub_private_repo: bool | None = field(default=None, metadata={"help": "Make new repositories private."})
    hub_token: str | None = field(
        default=None, repr=False, metadata={"help": "Token of the Hub. Default: that of the login."}
    )


@dataclass
class HubOptions(HubAccess):
    """Where a command pushes a model to."""

    push_to_hub: bool = field(default=False, metadata={"help": "Push the model that was made, with its card."})
    hub_model_id: str | None = field(
        default=None, metadata={"help": "Repository, such as ORGANISATION/NAME. Default: the name of output_dir."}
    )


@dataclass
class HubDatasetOptions(HubAccess):
    """Where a command that writes a data set pushes it to, and whether it may write over what it wrote before."""

    push_to_hub: bool = field(
        default=False,
        metadata={"help": "Push data and card; what this command pushed there before is replaced."},
    )
    hub_dataset_id: str | None = field(
        default=None,
        metadata={"help": "Repository, such as ORGANISATION/NAME. Default: name of output_dir, or of the data set."},
    )
    overwrite: bool = field(default=False, metadata={"help": "Replace what an earlier run of this command wrote."})


#: Settings that say how something is pushed, and nothing of what it is.
HUB_SETTINGS = ("push_to_hub", "hub_model_id", "hub_dataset_id", "hub_private_repo", "hub_token")


def dataset_repository(options: HubDatasetOptions, output_dir: str) -> str | None:
    """Repository that a data set is pushed to, which one may write to; None where nothing is to be pushed.

    Args:
        options: what was asked.
        output_dir: whose name the repository has where no other is given.

    Returns:
        ``NAMESPACE/NAME``.

    Raises:
        ValueError: as :func:`check_login`.
        OSError: as there.
    """
    wanted = options.hub_dataset_id or Path(output_dir).resolve().name
    return check_login(wanted, repo_type="dataset", token=options.hub_token) if options.push_to_hub else None


def model_repository(options: HubOptions, model: str) -> str | None:
    """Repository of a model that is on the Hub, which one may write to; None where nothing is to be pushed.

    Args:
        options: what was asked.
        model: the model that was measured, whose repository is meant where no other is given.

    Returns:
        ``NAMESPACE/NAME``.

    Raises:
        ValueError: a model in a folder, and no ``--hub_model_id``; or as :func:`check_login`.
        FileNotFoundError: there is no such model on the Hub.
        OSError: as :func:`check_login`.
    """
    if not options.push_to_hub:
        return None
    from huggingface_hub import HfApi

    from hf_fairness.publishing import is_hub_id

    if options.hub_model_id is None and not is_hub_id(model):
        raise ValueError(f"--push_to_hub: {model} is no id on the Hub; name the repository with --hub_model_id.")
    wanted = check_login(options.hub_model_id or model, token=options.hub_token)
    if not HfApi(token=options.hub_token).repo_exists(wanted):
        raise FileNotFoundError(
            f"--hub_model_id {wanted}: there is no such model on the Hub. Push the model first; this command adds to "
            "its card."
        )
    return wanted


def more_artefacts(**public: str) -> type[Any]:
    """A dataclass with the option ``push_artefacts`` for what a command can push beside its model.

    Args:
        public: name of an artefact -> what becomes public with it.
    """
    said = "; ".join(f"{name} (REPOSITORY-{name}): {text}" for name, text in public.items())
    help_text = f"Push these too, each to a repository of its own; with --push_to_hub. {said}".replace("%", "%%")
    option = field(default=None, metadata={"help": help_text, "choices": list(public)})
    return make_dataclass("Artefacts", [("push_artefacts", list[str] | None, option)])


def repositories(options: Any, output_dir: str, more: Sequence[str] | None = None) -> dict[str, str]:
    """Repository of each artefact that a command is told to push, which one may write to; empty where it is told none.

    Args:
        options: with ``push_to_hub`` and ``hub_model_id``: :class:`HubOptions` or `TrainingArguments`.
        output_dir: of the command, whose name the repository has where no other is given.
        more: what is pushed beside the model.

    Returns:
        Name of the artefact -> repository; the model is first.

    Raises:
        ValueError: ``more`` without ``push_to_hub``, or as :func:`check_login`, which the first process asks for all.
        OSError: as there.
    """
    if not options.push_to_hub:
        if more:
            raise ValueError(f"--push_artefacts {' '.join(more)} needs --push_to_hub.")
        return {}
    base = options.hub_model_id or Path(output_dir).resolve().name
    wanted = {MODEL: base, **{name: f"{base}-{name}" for name in dict.fromkeys(more or [])}}
    for name, repo_id in wanted.items() if is_main_process() else ():
        check_login(repo_id, repo_type=REPO_TYPES.get(name, "dataset"), token=options.hub_token)
    return wanted


def push_all(artefacts: Mapping[str, Artefact], wanted: Mapping[str, str], options: Any) -> dict[str, str]:
    """Publish what a command made, one commit each, and print where it is.

    Args:
        artefacts: what there is, by name.
        wanted: of :func:`repositories`.
        options: with ``hub_private_repo`` and ``hub_token``.

    Returns:
        Address of each, by name.

    Raises:
        RuntimeError: the Hub refuses one, or is out of reach; the message says what was pushed before.
    """
    from hf_fairness.publishing import publish

    done = dict[str, str]()
    for name, repo_id in wanted.items() if is_main_process() else ():
        if name not in artefacts:
            print(f"There is no {name} to push to {repo_id}: the run made none.")
            continue
        try:
            found = publish(artefacts[name], repo_id, token=options.hub_token, private=options.hub_private_repo)
        except OSError as error:
            said = " ".join(str(error).split())  # of the Hub's errors, which have many lines, two are shown
            before = ", ".join(done) or "nothing"
            raise RuntimeError(f"{said}\nPushed before that: {before}. Run the same command again to go on.") from error
        done[name] = found.url
        print(found)
    return done
