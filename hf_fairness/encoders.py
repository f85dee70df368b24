"""One protocol for everything that turns texts into vectors, and a function that makes it of what one has.

``as_encoder`` takes a Hub id, a folder, a SentenceTransformer, a transformers model with its tokenizer, word
vectors, or a function. Heavy libraries are imported when an adapter needs them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hf_fairness._encoder_adapters import (
    EXPECTED,
    POOLINGS,
    BaseEncoder,
    FunctionEncoder,
    RecurrentEncoder,
    RememberingEncoder,
    SentenceTransformerEncoder,
    TransformersEncoder,
    Vectors,
    check_texts,
    check_vectors,
    is_a,
    is_live,
    split_pair,
)
from hf_fairness._opening import as_dtype, find_tokenizer, for_reading, open_pretrained, opening, refuse_dtype
from hf_fairness._word_vectors import (
    WORD,
    InputEmbeddings,
    StaticEncoder,
    input_embeddings,
    own_word_vectors,
    read_word_vectors,
)
from hf_fairness.utils import hub_problem

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

#: Files that are read as word vectors: one word and its numbers a line.
WORD_VECTOR_FILES = (".txt", ".vec", ".glove")

__all__ = [
    "WORD",
    "BaseEncoder",
    "Encoder",
    "FunctionEncoder",
    "InputEmbeddings",
    "RecurrentEncoder",
    "RememberingEncoder",
    "SentenceTransformerEncoder",
    "StaticEncoder",
    "TransformersEncoder",
    "Vectors",
    "as_encoder",
    "as_reference",
    "check_texts",
    "check_vectors",
    "input_embeddings",
    "own_word_vectors",
    "read_word_vectors",
    "token_encoder",
]


@runtime_checkable
class Encoder(Protocol):
    """Anything that maps texts to vectors."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts, float32, shape (n, d), in input order."""
        ...


def as_encoder(
    model: Any,
    *,
    tokenizer: Any = None,
    batch_size: int = 32,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    pooling: str = "mean",
    normalize: bool | None = None,
    max_length: int | None = None,
    show_progress: bool | None = None,
) -> BaseEncoder:
    """Make an encoder of whatever the user has.

    A folder or Hub repository with ``modules.json`` opens as a SentenceTransformer. One with only
    ``config.json`` opens as AutoModel with ``pooling`` over the attended tokens and normalisation, said in
    the log. Code from a repository is never run.

    Args:
        model: a Hub id or local folder; a text file of word vectors (GloVe); a SentenceTransformer; a transformers
            (or PEFT) model, whose head is left out, or the pair of it and its tokenizer; a mapping of words to vectors
            (gensim's KeyedVectors too); an object with ``encode``; a function.
        tokenizer: for a transformers model; None looks where the model came from.
        batch_size: texts per forward pass; batches are sorted by length.
        device: None means where the model is.
        dtype: of the weights of a model that is opened by name, such as "float16"; None means that of its weights.
        pooling: "mean", "cls" or "max", for transformers models; a SentenceTransformer has its own.
        normalize: scale vectors to length 1; None means what the model does, and yes for a bare AutoModel
            folder. A SentenceTransformer with a Normalize module cannot do without.
        max_length: tokens; None means what the model can take.
        show_progress: None means on a terminal, on the main process, when there is much to encode.

    Returns:
        An object with ``encode(texts) -> float32 (n, d)`` in input order, and ``name``.

    Raises:
        TypeError: an object that is no encoder.
        ValueError: a folder without a model, an unknown pooling, a transformers model without tokenizer, an option
            that an encoder which is open already, or the modules of a SentenceTransformer, decided otherwise.

    Example:
        >>> as_encoder({"a": [1.0, 0.0], "b": [0.0, 1.0]}).encode(["a", "a b"]).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    if pooling not in POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}.")
    if isinstance(model, BaseEncoder):
        pooled = None if pooling == "mean" else pooling
        late = {"tokenizer": tokenizer, "dtype": dtype, "pooling": pooled, "normalize": normalize}
        for name, value in {**late, "max_length": max_length}.items():
            if value is not None and value != model.opened_with(name):
                raise ValueError(f"{model.name} is open already: got {name}={value!r}, give it where it is opened.")
        return model
    model, tokenizer = split_pair(model, tokenizer)
    run: dict[str, Any] = {"batch_size": batch_size, "device": device, "show_progress": show_progress}
    pool: dict[str, Any] = {"pooling": pooling, "max_length": max_length}
    if isinstance(model, (str, Path)):
        return _open(model, tokenizer, normalize, run, pool, dtype)
    refuse_dtype(dtype)
    if is_a(model, "sentence_transformers", "SentenceTransformer"):
        if pooling != "mean":
            raise ValueError(f"A SentenceTransformer has its own pooling; got pooling={pooling!r}. Leave it out.")
        return SentenceTransformerEncoder(model, normalize=normalize, max_length=max_length, **run)
    if is_live(model):
        found = find_tokenizer(model, tokenizer)
        return TransformersEncoder(model, found, normalize=bool(normalize), **run, **pool)
    if isinstance(model, type):
        raise TypeError(f"model must be an instance; got the class {model.__name__}. Expected {EXPECTED}.")
    if is_a(model, "transformers", "PreTrainedTokenizerBase"):
        raise TypeError(f"model is a tokenizer ({type(model).__name__}), which has no vectors. Expected {EXPECTED}.")
    if callable(getattr(model, "encode", None)) and not isinstance(model, (bytes, bytearray)):
        return FunctionEncoder(model.encode, name=type(model).__name__, normalize=bool(normalize))
    if isinstance(model, Mapping) or (hasattr(model, "__getitem__") and hasattr(model, "vector_size")):
        if not len(model):
            raise ValueError("model is an empty mapping: word vectors need at least one word.")
        return StaticEncoder(model, normalize=bool(normalize))
    if callable(model) and not is_a(model, "torch.nn", "Module"):
        return FunctionEncoder(model, name=getattr(model, "__name__", type(model).__name__), normalize=bool(normalize))
    raise TypeError(f"model is no encoder: got {type(model).__name__} ({str(model)[:80]!r}). Expected {EXPECTED}.")


def as_reference(model: Any, *, tokenizer: Any = None, **options: Any) -> BaseEncoder:
    """Make an encoder of the model that another one is compared with: opened as that one is, with its own tokenizer.

    Args:
        model: as in ``as_encoder``; a model that does not say where it came from is given as (model, tokenizer).
        tokenizer: the other one's, which is not used.
        **options: as in ``as_encoder``.

    Returns:
        The encoder.

    Raises:
        TypeError: as ``as_encoder``.
        ValueError: as ``as_encoder``.
    """
    return as_encoder(model, **options)


def _open(
    name: str | Path, tokenizer: Any, normalize: bool | None, run: dict[str, Any], pool: dict[str, Any], dtype: Any
) -> BaseEncoder:
    """Open a folder or a Hub id."""
    text, folder = str(name), Path(name).expanduser()
    if not text.strip():
        raise ValueError(f"model is an empty string. Expected {EXPECTED}.")
    if folder.is_dir():
        text = str(folder)
        has_modules, has_config = (folder / "modules.json").is_file(), (folder / "config.json").is_file()
        if not (has_modules or has_config):
            holds = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
            raise ValueError(
                f"{folder} holds no model: neither modules.json (SentenceTransformer) nor config.json "
                f"(transformers); it holds {holds}. Point to the folder that save_pretrained wrote."
            )
    elif folder.suffix.lower() in WORD_VECTOR_FILES and folder.is_file():
        return _open_vectors(folder, normalize)
    elif folder.exists():
        raise ValueError(
            f"{folder} is a file. Expected the folder that save_pretrained wrote, a Hub id, or word "
            f"vectors as text ({', '.join(WORD_VECTOR_FILES)})."
        )
    elif isinstance(name, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ValueError(f"There is no folder {folder}. Expected a local model folder or a Hub id such as org/name.")
    else:
        from sentence_transformers.util import is_sentence_transformer_model

        try:
            has_modules = is_sentence_transformer_model(text)
        except Exception as error:  # the Hub's client has many: no network, offline mode, no such repository
            said = hub_problem(error) or f"no such folder, and the Hub did not answer with a model of that id: {error}"
            raise ValueError(f"{text} does not open as an encoder: {said}") from error
    if not has_modules:
        encoder: BaseEncoder = _open_bare(text, tokenizer, normalize, run, pool, dtype)
    elif pool["pooling"] != "mean":
        raise ValueError(f"{text} is a SentenceTransformer and has its own pooling; leave out pooling=.")
    else:
        from sentence_transformers import SentenceTransformer

        device = None if run["device"] is None else str(run["device"])
        numbers = as_dtype(dtype)

        def open_it() -> SentenceTransformer:
            with opening(text, "a SentenceTransformer"):
                kwargs = None if numbers is None else {"dtype": numbers}
                return SentenceTransformer(text, device=device, trust_remote_code=False, model_kwargs=kwargs)

        opened = for_reading("SentenceTransformer", text, (device, numbers), open_it)
        encoder = SentenceTransformerEncoder(opened, normalize=normalize, max_length=pool["max_length"], **run)
    encoder.name = text
    return encoder


def _open_vectors(file: Path, normalize: bool | None) -> StaticEncoder:
    try:
        encoder = StaticEncoder(read_word_vectors(file), normalize=bool(normalize))
    except ValueError as error:
        raise ValueError(f"{file} is a file, and holds no word vectors: {error}") from error
    encoder.name = str(file)
    return encoder


def _open_bare(
    name: str, tokenizer: Any, normalize: bool | None, run: dict[str, Any], pool: dict[str, Any], dtype: Any
) -> BaseEncoder:
    """Open a folder or id without modules.json as AutoModel and pooling."""
    model = open_pretrained("AutoModel", name, dtype=dtype, may_lack=("pooler",))
    tokens = find_tokenizer(name, tokenizer)
    scaled = normalize is None or normalize
    logger.info(
        "%s has no modules.json: opened as AutoModel with %s pooling%s.",
        name,
        pool["pooling"],
        " and normalisation" if scaled else "",
    )
    return TransformersEncoder(model, tokens, normalize=scaled, **run, **pool)


#: Modules that give token vectors and pool them.
_POOLED = (["Transformer", "Pooling"], ["WordEmbeddings", "LSTM", "Pooling"])
#: Modules of a SentenceTransformer that leave a sentence vector in the space of its token vectors.
_HARMLESS = frozenset({"Dropout", "Normalize"})


def token_encoder(encoder: BaseEncoder) -> TransformersEncoder:
    """The encoder as a transformers model, or an LSTM, with pooling, whose hidden states can be looked at.

    Args:
        encoder: what ``as_encoder`` returned.

    Returns:
        An encoder that gives the same sentence vectors.

    Raises:
        ValueError: an encoder without tokens (word vectors, a function), or one that changes the vectors after
            the pooling (a Dense module, a prompt), so that token and sentence vectors do not compare.
    """
    if isinstance(encoder, TransformersEncoder):
        found = encoder
    elif isinstance(encoder, SentenceTransformerEncoder):
        found = _open_up(encoder)
    else:
        raise ValueError(f"{encoder.name} has no token vectors: a SentenceTransformer or a transformers model has.")
    if not getattr(found.tokenizer, "is_fast", False):
        raise ValueError(
            f"{encoder.name}: the tokenizer ({type(found.tokenizer).__name__}) does not say which characters a token "
            "stands for. Load the fast one, for example AutoTokenizer.from_pretrained(...)."
        )
    return found


def _open_up(encoder: SentenceTransformerEncoder) -> TransformersEncoder:
    model = encoder.model
    kinds = [type(module).__name__ for module in model]
    prompt = (model.prompts or {}).get(model.default_prompt_name) if model.default_prompt_name else None
    made_of = kinds[: kinds.index("Pooling") + 1] if "Pooling" in kinds else kinds
    if made_of not in _POOLED or not _HARMLESS.issuperset(kinds[len(made_of) :]) or prompt:
        why = f"puts {prompt!r} before every text" if prompt else f"is made of {', '.join(kinds)}"
        raise ValueError(
            f"{encoder.name} {why}: its token vectors and its sentence vectors do not compare. A Transformer with "
            "Pooling (and Normalize) is needed, or WordEmbeddings with LSTM and Pooling; for other models take "
            "hf_fairness.encoders.input_embeddings(model)."
        )
    pooling = model[len(made_of) - 1].pooling_mode
    if pooling not in ("mean", "cls", "max"):
        raise ValueError(f"{encoder.name} pools by {pooling!r}; mean, cls and max are known here.")
    options: dict[str, Any] = {
        "batch_size": encoder.batch_size,
        "device": encoder.device,
        "pooling": pooling,
        "normalize": encoder.normalize or "Normalize" in kinds,
        "max_length": encoder.max_length or model.max_seq_length,
        "show_progress": encoder.show_progress,
    }
    if kinds[0] == "WordEmbeddings":
        return RecurrentEncoder(model, **options)
    return TransformersEncoder(model.transformers_model, model.tokenizer, **options)
