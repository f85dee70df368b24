"""The Hub for commands that push: whether one may, asked before any work, and the upload of a model folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._secrets import redact

if TYPE_CHECKING:
    from transformers import TrainingArguments

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
        ValueError: a name that the Hub does not take, or a token that cannot be one.
        PermissionError: no token, a token that is not accepted or may not write, or a foreign namespace.
        ConnectionError: the Hub is out of reach, or this process is told to stay offline.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, and not re-exported

    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise ValueError(f"Cannot push to {repo_id!r}: {error}") from error
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("The token of the Hub is empty or holds blanks or letters that no token has. Copy it anew.")
    user = _who(token)
    name = str(user.get("name"))
    namespace = repo_id.split("/")[0] if "/" in repo_id else name
    full = f"{namespace}/{repo_id.rpartition('/')[2]}"
    organisations = {str(org.get("name")): org.get("roleInOrg") for org in user.get("orgs") or []}
    if namespace not in (name, *organisations):
        raise PermissionError(
            f"Cannot push to {full}: you are logged in as {name}, who may write to "
            f"{', '.join((name, *organisations))}. Choose one of these namespaces, or log in as a member of the other."
        )
    refusal = _refusal(user, full, repo_type)
    if refusal is None and organisations.get(namespace) == "read":
        refusal = f"{name} may only read in the organisation {namespace}"
    if refusal is not None:
        raise PermissionError(f"Cannot push to {full}: {refusal}. {_LOGIN}.")
    return full


def _who(token: str | None) -> Mapping[str, Any]:
    """What the Hub says of the token."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, OfflineModeIsEnabled

    try:
        return HfApi().whoami(token=token)
    except LocalTokenNotFoundError as error:
        raise PermissionError(f"Pushing needs a token of the Hub, and there is none. {_LOGIN}.") from error
    except OfflineModeIsEnabled as error:
        raise ConnectionError(
            "Pushing needs the Hub, and HF_HUB_OFFLINE is set. Unset it, or leave out --push_to_hub."
        ) from error
    except HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            source = "HF_TOKEN" if os.environ.get("HF_TOKEN") else "the login"
            given = f"from {source}" if token is None else "given with --hub_token"
            raise PermissionError(f"The Hub does not accept the token {given}. {_LOGIN}.") from error
        raise ConnectionError(f"The Hub did not say who is logged in: {redact(str(error))}") from error
    except Exception as error:  # of whichever HTTP library the client is made with
        raise ConnectionError(
            f"The Hub cannot be reached ({redact(str(error)) or type(error).__name__}): nothing can be pushed. "
            "Look at the network, or leave out --push_to_hub."
        ) from error


def _refusal(user: Mapping[str, Any], repo_id: str, repo_type: str) -> str | None:
    """Why the token may not write, where the Hub says so."""
    token = (user.get("auth") or {}).get("accessToken") or {}
    if token.get("role") == "read":
        return "the token may only read"
    scopes = (token.get("fineGrained") or {}).get("scoped")
    if token.get("role") != "fineGrained" or not isinstance(scopes, list):
        return None
    namespace = repo_id.split("/")[0]
    for scope in scopes:
        entity = scope.get("entity") or {}
        whole = entity.get("type") in ("user", "org") and entity.get("name") == namespace
        own = entity.get("type") == repo_type and entity.get("name") == repo_id
        if (whole or own) and "repo.write" in (scope.get("permissions") or []):
            return None
    return "the fine-grained token has no permission repo.write there"


def repo_name(config: TrainingArguments) -> str:
    """Where a model is pushed to: ``hub_model_id``, or the name of the output folder."""
    return config.hub_model_id or Path(str(config.output_dir)).resolve().name


def push_model(folder: Path, config: TrainingArguments, method: str) -> str:
    """Upload a finished model folder to the Hub; a repository that exists is updated.

    Args:
        folder: the model with its card.
        config: ``hub_model_id`` (default: name of the output folder), ``hub_private_repo``, ``hub_token``.
        method: the command that made it, for the message of the commit.

    Returns:
        Address of the repository.
    """
    from huggingface_hub import HfApi

    api = HfApi(token=config.hub_token)
    repo = api.create_repo(repo_name(config), private=config.hub_private_repo, exist_ok=True)
    api.upload_folder(
        repo_id=repo.repo_id, folder_path=folder, commit_message=f"Add model mitigated with hf-fairness {method}"
    )
    return str(repo)
