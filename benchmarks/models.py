"""Models of the benchmarks: random weights are as fast as trained ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.runner import SkipSubject


class Size(NamedTuple):
    """The size of a BERT: width of the hidden states, layers, heads of attention."""

    width: int
    layers: int
    heads: int


#: The sizes that scores of examples are measured at.
SIZES = {"BERT-tiny": Size(128, 2, 2), "MiniLM": Size(384, 6, 12), "BERT-base": Size(768, 12, 12)}


def random_bert(class_name: str, *, width: int, layers: int, heads: int | None = None) -> tuple[Any, Any]:
    """A BERT of some size with the word pieces of MiniLM, and its tokenizer.

    Args:
        class_name: of transformers, such as "BertForMaskedLM".
        width: of the hidden states, a multiple of 64.
        layers: number of layers.
        heads: of attention; None means one for 64 of the width.

    Raises:
        SkipSubject: the package that carries MiniLM is not installed.
    """
    import torch
    import transformers

    try:
        from hf_fairness.demo import minilm_path

        tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_path())
    except ImportError as error:
        raise SkipSubject(str(error)) from None
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads or width // 64,
        intermediate_size=4 * width,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return getattr(transformers, class_name)(config).eval(), tokenizer
