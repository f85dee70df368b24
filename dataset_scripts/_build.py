"""Build a data set as a folder of parquet files with a card, and push it."""

from __future__ import annotations

import hashlib
import logging
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.dataset_scripts import builder_class
from hf_fairness.dataset_scripts._card import BuiltConfig, place_of, render_card
from hf_fairness.dataset_scripts._files import MissingFilesError, sha256
from hf_fairness.publishing import CARD, folder_files, publish
from hf_fairness.runs import atomic_folder

if TYPE_CHECKING:
    from hf_fairness.dataset_scripts._base import RawDataset
    from hf_fairness.publishing import Published

logger = logging.getLogger(__name__)

#: Most bytes of one parquet file, before compression.
SHARD = 500_000_000


def check_right(name: str, right: bool) -> None:
    """Raise unless the rows may be pushed: nothing keeps them back, or the caller states to have the right.

    Raises:
        PermissionError: restricted rows, and no such statement.
    """
    about = builder_class(name).about
    if about.restricted and not right:
        raise PermissionError(
            f"{about.title} may not be redistributed ({about.licence_note or about.licence}), so it is not pushed. If "
            "you have the right to publish it, say so with --i_have_the_right, and think of --hub_private_repo."
        )


def build(
    name: str,
    output: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    configs: Sequence[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> dict[str, BuiltConfig]:
    """Write parquet files and a card; the folder appears whole or not at all.

    Args:
        name: one of ``available()``.
        output: folder to write.
        data_dir: as in ``load``.
        configs: configurations; None: all whose raw files are in ``data_dir``, or all.
        cache_dir: folder of the cache; None: that of `datasets`.
        overwrite: replace the folder, if it holds a data set that was built.

    Returns:
        What was built, by configuration.

    Raises:
        FileExistsError: the folder is there, or appeared meanwhile.
        RunLockedError: another process builds into the folder.
        OSError: raw files are missing, or cannot be fetched.
        ValueError: an unknown name, or a damaged raw file.
    """
    kind, folder = builder_class(name), Path(output)
    options: dict[str, Any] = {} if cache_dir is None else {"cache_dir": str(cache_dir)}
    built: dict[str, BuiltConfig] = {}
    with atomic_folder(folder, replace=True, check=lambda: _check_output(folder, overwrite)) as place:
        builders = _builders(kind, configs, data_dir, options)
        for config, builder in builders.items():
            built[config] = _write(builder, config, place)
        render_card(name, kind.about, built).save(place / CARD)
    return built


def _check_output(folder: Path, overwrite: bool) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    card = folder / CARD
    others = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".parquet" and file != card]
    if others or not card.is_file() or "hf-fairness" not in _front_matter(card):  # models have such cards, too
        raise FileExistsError(f"{folder} holds something else than a data set of this command. Choose another folder.")
    if not overwrite:
        raise FileExistsError(f"{folder} is not empty. Choose another folder, or replace its content with --overwrite.")


def _front_matter(card: Path) -> str:
    return card.read_text(encoding="utf-8").partition("\n---\n")[0]


def _builders(
    kind: type[RawDataset], configs: Sequence[str] | None, data_dir: Any, options: Mapping[str, Any]
) -> dict[str, RawDataset]:
    """Builders of the configurations asked for, or of those whose raw files are there."""
    found: dict[str, RawDataset] = {}
    missing: list[MissingFilesError] = []
    for config in configs or kind.about.configs:
        try:
            found[config] = kind(config_name=config, data_dir=data_dir, **options)
        except MissingFilesError as error:
            if configs:
                raise
            logger.info("%s: the configuration %r is left out, its raw files are not there", kind.about.title, config)
            missing.append(error)
    if not found:
        raise missing[0]
    return found


def _write(builder: RawDataset, config: str, place: Path) -> BuiltConfig:
    """Build one configuration and write its splits below a folder of its name."""
    builder.download_and_prepare()
    rows: dict[str, int] = {}
    files: dict[str, list[str]] = {}
    for split, dataset in builder.as_dataset().items():
        n = min(len(dataset), math.ceil(dataset.data.nbytes / SHARD))
        files[split] = [f"{config}/{split}-{i:05d}-of-{n:05d}.parquet" for i in range(n)]
        (place / config).mkdir(exist_ok=True)
        for i, path in enumerate(files[split]):
            dataset.shard(n, i, contiguous=True).to_parquet(place / path)
        rows[split] = len(dataset)
    raws = {name: entry["checksum"] for name, entry in (builder.info.download_checksums or {}).items()}
    written = [sha256(place / path) for paths in files.values() for path in paths]
    return BuiltConfig(rows, files, raws, hashlib.sha256(" ".join(written).encode()).hexdigest()[:16])


def push(
    name: str,
    folder: str | os.PathLike[str],
    repo_id: str,
    *,
    private: bool | None = None,
    right: bool = False,
    token: str | None = None,
) -> Published:
    """Publish a built folder in one commit; it takes the place of what was built and pushed before.

    Args:
        name: of the builder.
        folder: what ``build`` wrote.
        repo_id: name of the repository on the Hub.
        private: whether a new repository is private.
        right: statement that these rows may be published by the caller.
        token: of the Hub; None: that of the environment or of the login.

    Returns:
        What was done, see `hf_fairness.publishing.publish`.

    Raises:
        PermissionError: restricted rows, without ``right``; a public repository, with ``private``.
        ValueError: the repository holds configurations that the folder lacks.
    """
    from huggingface_hub import DatasetCard, HfApi

    check_right(name, right)
    api, files = HfApi(token=token), folder_files(Path(folder))
    if api.file_exists(repo_id, CARD, repo_type="dataset"):
        there = _configs(DatasetCard.load(api.hf_hub_download(repo_id, CARD, repo_type="dataset")))
        lost = sorted(there - _configs(DatasetCard.load(Path(folder, CARD))))
        if lost:
            raise ValueError(
                f"{repo_id} holds the configurations {', '.join(lost)}, which {folder} lacks and which would be "
                "lost. Build them all together, or push to another repository."
            )
    wanted = {path: file for path, file in files.items() if path.endswith(".parquet")}
    card = Path(folder, CARD).read_text(encoding="utf-8").replace(place_of(name), repo_id)
    how: dict[str, Any] = {"repo_type": "dataset", "private": private, "token": token}
    return publish({**wanted, CARD: card.encode()}, repo_id, message=f"Build {name} with hf-fairness", **how)


def _configs(card: Any) -> set[str]:
    return {str(config["config_name"]) for config in card.data.get("configs") or []}
