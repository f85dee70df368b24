"""The arms +HD of GFST: the embeddings that a trained translator's encoder reads, hard-debiased.

The paper does not say when this is done. Here it is done last, on the matrix that the model learned: nothing is trained
after it. Decoder and output keep what they had, also in a model that had one matrix for all three.

Source: Choubey et al. 2021, section 4 and tables 4 and 8 (+HD); Bolukbasi et al. 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_fairness.erasure import DebiasWords, check_words, encoder_alone, hard_debias_embeddings, whole_sets

#: Sets that a report names of those that a tokenizer splits, or does not know.
_NAMED = 5
#: What to do about a tokenizer that has no set of words as whole tokens.
ADVICE = (
    "Leave out --arms hd and gfst_hd, give words that the tokenizer has as one token with --hd_words, or take a larger "
    "vocabulary."
)


def debias_encoder(model: Any, tokenizer: Any, words: DebiasWords) -> tuple[Any, dict[str, str]]:
    """Hard-debias what the encoder reads, and leave decoder and output as they are.

    Args:
        model: a trained ``AutoModelForSeq2SeqLM``; changed in place where its matrices are not tied.
        tokenizer: of the model.
        words: what to go by; a set with a word that is no single token is left out.

    Returns:
        The model, with an encoder matrix of its own, and how many sets were found, for the report.

    Raises:
        ValueError: no definitional set is there, or an architecture that cannot have a matrix for the encoder alone.
    """
    check_words(tokenizer, words, ADVICE)
    untied = encoder_alone(model)
    hard_debias_embeddings(
        untied.get_encoder(),
        tokenizer,
        definitional=words.definitional,
        equalize=words.equalize,
        specific=words.specific,
    )
    told = {
        "definitional sets found": _found(tokenizer, words.definitional),
        "sets equalised": _found(tokenizer, words.equalize),
        "embeddings": "encoder's apart from the decoder's" if untied is not model else "encoder's, not tied before",
    }
    return untied, told


def _found(tokenizer: Any, sets: Sequence[tuple[str, ...]]) -> str:
    """How many of the sets a tokenizer has as whole words, and which it lacks."""
    whole = whole_sets(tokenizer, sets)
    split = [each for each in sets if each not in whole]
    more = " ..." if len(split) > _NAMED else ""
    names = ", ".join("/".join(each) for each in split[:_NAMED])
    return f"{len(whole)} of {len(sets)}" + (f" (not whole tokens: {names}{more})" if split else "")
