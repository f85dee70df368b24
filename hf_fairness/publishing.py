"""One way to the Hub for all that this package makes: a folder or files in, one commit out.

A repository remembers in :data:`MANIFEST` which files came from here. The next push removes those of them that are no
longer made, such as the shards of a larger data set, and leaves alone what a person added. Of a card that a person
changed on the Hub only the section on bias is replaced.

What a command made, beside the model that ``--push_to_hub`` publishes, holds texts of its data and is published only if
one names it: ``--push_artefacts`` in the shell, ``publish(run_ibadr(...)["artefacts"]["pool"], "you/pool")`` in Python.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_fairness._secrets import Secret, redact
from hf_fairness.runs import atomic_write_text

if TYPE_CHECKING:
    from huggingface_hub import CommitInfo, HfApi

CARD = "README.md"
#: In every repository: which files this package put there, and the digest of the card as it was written.
MANIFEST = ".hf_fairness.json"
#: Names of files and folders that no repository needs: pickles with settings and paths of this machine, what a training
#: goes on from, logs, locks and what hides itself.
NEVER = (
    *("training_args.bin", "optimizer*", "scheduler.pt", "scaler.pt", "rng_state*", "trainer_state.json"),
    *("checkpoint-*", "global_step*", "runs", "*.lock", "*.tmp", "*.pyc", "__pycache__", ".*", "_*"),
)

Content = bytes | Path
Files = Mapping[str, Content]


@dataclass(frozen=True)
class Artefact:
    """Something that a command made and that can be published.

    Attributes:
        repo_type: ``model``, ``dataset`` or ``space``.
        folder: its files as they are on disk; None where the others make all of them.
        write: given an empty folder and the name of the repository, puts there what goes beside the files of
            ``folder``, or in their place: the card that says how to load that repository, rows as parquet.
        message: of the commit.
        given: further files by their path in the repository.

    Example:
        >>> files = Artefact("model", write=lambda folder, repo: (folder / "README.md").write_text(repo)).files
        >>> with files("me/it") as found:
        ...     print(sorted(found))
        ['README.md']
    """

    repo_type: str
    folder: Path | None = None
    write: Callable[[Path, str], Any] | None = None
    message: str = "Add what hf-fairness made"
    given: Files = field(default_factory=dict)

    @contextlib.contextmanager
    def files(self, repo_id: str) -> Iterator[dict[str, Content]]:
        """Its files by their path in the repository; those that are made are there within the context only."""
        with tempfile.TemporaryDirectory() as temporary:
            found = {**({} if self.folder is None else folder_files(self.folder)), **self.given}
            if self.write is not None:
                self.write(Path(temporary), repo_id)
                found |= folder_files(temporary)
            yield found


class Published(NamedTuple):
    """What a push did.

    Attributes:
        url: address of the repository.
        commit: the commit; the last one there where nothing had changed.
        changed: whether there was anything to upload or remove.
    """

    url: str
    commit: CommitInfo
    changed: bool

    def __str__(self) -> str:
        """A line for people."""
        return f"Pushed to {self.url}" if self.changed else f"Nothing to push: {self.url} has all of it already"


def folder_files(folder: str | Path) -> dict[str, Content]:
    """Files of a folder by path, without those that :data:`NEVER` names.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"There is no folder {root} to push.")
    return {path.relative_to(root).as_posix(): path for path in sorted(_walk(root))}


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if not any(fnmatch.fnmatch(path.name, pattern) for pattern in NEVER):
            yield from _walk(path) if path.is_dir() else [path]


def publish(
    what: Artefact | Files | str | Path,
    repo_id: str,
    *,
    repo_type: str = "model",
    token: str | None = None,
    private: bool | None = None,
    message: str | None = None,
    revision: str | None = None,
    space_sdk: str | None = None,
) -> Published:
    """Put files into a repository of the Hub, which is made if it is not there, in one commit.

    What an earlier push brought and this one lacks is removed in the same commit; other files stay. huggingface_hub
    tries again where the network fails; a push that ended with an error has changed nothing and can be run again.

    Args:
        what: an artefact, a folder, or files by their path in the repository.
        repo_id: ``NAMESPACE/NAME``, or ``NAME`` in the namespace of the user.
        repo_type: ``model``, ``dataset`` or ``space``; an artefact knows its own.
        token: of the Hub; None: that of the environment or of the login.
        private: whether a new repository is private.
        message: of the commit; None: the artefact's own.
        revision: branch that is there; None: the main one.
        space_sdk: of a new Space; None: gradio.

    Returns:
        Address, commit, and whether anything had changed.

    Raises:
        ValueError: nothing to push.
        FileNotFoundError: no such folder.
        PermissionError: ``private`` is asked for and the repository is there and public.
        OSError: the Hub refuses, or is out of reach; the message holds no token.

    Example:
        >>> publish({}, "me/it")
        Traceback (most recent call last):
        ...
        ValueError: There is nothing to push to me/it: no file was given, or none that may leave this machine.
    """
    if isinstance(what, (str, Path)):
        what = Artefact(repo_type, Path(what))
    elif not isinstance(what, Artefact):
        what = Artefact(repo_type, given=dict(what))
    if what.folder is not None or what.write is None:
        _check({**({} if what.folder is None else folder_files(what.folder)), **what.given}, repo_id)
    with _without_secrets(repo_id):
        sdk = "gradio" if what.repo_type == "space" else None
        api, url = _open(repo_id, repo_type=what.repo_type, space_sdk=space_sdk or sdk, token=token, private=private)
        with what.files(url.repo_id) as files:
            _check(files, repo_id)
            return _commit(files, api, url, what.repo_type, message or what.message, revision)


@contextlib.contextmanager
def _without_secrets(repo_id: str) -> Iterator[None]:
    """Errors of the Hub name the repository and say no token."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except Exception as error:
        text = redact(str(error)).strip() or type(error).__name__
        if isinstance(error, HfHubHTTPError) or text != str(error).strip():
            raise OSError(f"Cannot push to {repo_id}: {text}") from None
        raise


def _check(files: Files, repo_id: str) -> None:
    if not set(files) - {CARD}:
        lone = "a card alone" if files else "no file was given, or none that may leave this machine"
        raise ValueError(f"There is nothing to push to {repo_id}: {lone}.")


def _api(token: str | None) -> HfApi:
    """The Hub; a token that is given is known to be a secret from here on."""
    from huggingface_hub import HfApi

    return HfApi(token=None if token is None else Secret(token))


def _open(
    repo_id: str, *, repo_type: str, space_sdk: str | None, token: str | None, private: bool | None
) -> tuple[HfApi, Any]:
    """The repository, made if it is not there."""
    api = _api(token)
    url = api.create_repo(repo_id, repo_type=repo_type, space_sdk=space_sdk, private=private or None, exist_ok=True)
    if private and api.repo_info(url.repo_id, repo_type=repo_type).private is False:
        raise PermissionError(
            f"{url.repo_id} is public, and a private repository was asked for. Make it private on the Hub, or choose "
            "another name."
        )
    return api, url


def _commit(files: Files, api: HfApi, url: Any, repo_type: str, message: str, revision: str | None = None) -> Published:
    """Upload what differs and remove what is no longer made."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    head: Any = api.repo_info(url.repo_id, repo_type=repo_type, revision=revision)
    there = {sibling.rfilename for sibling in head.siblings or []}
    before = _read(api, url.repo_id, repo_type, head.sha, MANIFEST) if MANIFEST in there else None
    earlier: dict[str, Any] = {} if before is None else json.loads(before)
    manifest: dict[str, Any] = {"about": "Files that hf-fairness put here.", "files": sorted(files)}
    made = dict(files)
    if CARD in made:
        text = _content(made[CARD])
        theirs = _read(api, url.repo_id, repo_type, head.sha, CARD) if CARD in there else None
        manifest["card"] = _digest(text)
        if theirs is not None and _digest(theirs) not in (earlier.get("card"), manifest["card"]):
            text = _into_card(theirs, text)
        made[CARD] = text
    made[MANIFEST] = (json.dumps(manifest, indent=1) + "\n").encode()
    gone = sorted((set(earlier.get("files", [])) - set(made)) & there)
    commit = api.create_commit(
        url.repo_id,
        [
            *(CommitOperationAdd(path, content) for path, content in made.items()),
            *(CommitOperationDelete(path) for path in gone),
        ],
        repo_type=repo_type,
        revision=revision,
        commit_message=message,
    )
    return Published(str(url), commit, commit.oid != head.sha)


def _read(api: HfApi, repo_id: str, repo_type: str, revision: str | None, path: str) -> bytes:
    return Path(api.hf_hub_download(repo_id, path, repo_type=repo_type, revision=revision)).read_bytes()


def _content(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _into_card(theirs: bytes, ours: bytes) -> bytes:
    """A card that a person changed, with our section on bias and our numbers; ours where it has no such section."""
    from huggingface_hub import RepoCard

    from hf_fairness.report.merge import own_section, update_card

    text = ours.decode()
    section = own_section(text)
    if section is None:
        return ours
    card: Any = RepoCard(text, ignore_metadata_errors=True)
    return update_card(theirs.decode(), section, card.data.to_dict()).encode()


def push_section(
    repo_id: str, section: str, metadata: Mapping[str, Any], *, token: str | None = None, message: str | None = None
) -> Published:
    """Put a section on bias into the card of a model that is on the Hub; nothing else in the card changes.

    Args:
        repo_id: a model's repository that is there.
        section: what :func:`hf_fairness.report.card_section` returned.
        metadata: what :func:`hf_fairness.report.card_metadata` returned.
        token: of the Hub; None: that of the environment or of the login.
        message: of the commit.

    Returns:
        Address, commit, and whether anything had changed.

    Raises:
        OSError: the repository is not there, or the Hub refuses; the message holds no token.
        ValueError: the card there has a front matter that cannot be read.
    """
    from huggingface_hub import CommitOperationAdd

    from hf_fairness.report.merge import update_card

    with _without_secrets(repo_id):
        api = _api(token)
        head: Any = api.repo_info(repo_id)
        cards = [sibling.rfilename for sibling in head.siblings or [] if sibling.rfilename == CARD]
        text = _read(api, head.id, "model", head.sha, CARD).decode("utf-8-sig") if cards else f"# {head.id}\n"
        new = update_card(text or f"# {head.id}\n", section, metadata)
        commit = api.create_commit(
            head.id,
            [CommitOperationAdd(CARD, new.encode())],
            commit_message=message or "Say what hf-fairness measured",
            parent_commit=head.sha,
        )
        return Published(f"{api.endpoint}/{head.id}", commit, commit.oid != head.sha)


def is_hub_id(name: Any) -> bool:
    """Whether a name is that of a model on the Hub, and no folder of this machine: then a card can name it.

    Example:
        >>> is_hub_id("org/model"), is_hub_id("/home/me/model"), is_hub_id("../m/x"), is_hub_id("")
        (True, False, False, False)
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, and not re-exported

    if not isinstance(name, str) or not name or name.startswith((".", "/", "~")) or Path(name).exists():
        return False
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def hide_local_base(folder: Path) -> None:
    """Take the path of a base model on this machine out of the configuration of LoRA adapters; ids stay."""
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if not is_hub_id(config.get("base_model_name_or_path")):
        config["base_model_name_or_path"] = None
        atomic_write_text(path, json.dumps(config, indent=2) + "\n")


def write_splits(folder: Path, splits: Mapping[str, Any]) -> None:
    """Write splits as parquet where ``load_dataset`` looks for them.

    Args:
        folder: of the data set.
        splits: split -> rows; those without any row are left out.
    """
    from hf_fairness.report.dataset_card import data_file

    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        if len(rows):
            rows.to_parquet(folder / data_file(split))
