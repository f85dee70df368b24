"""Hard debiasing as a baseline: the token embeddings that an encoder reads are neutralised and equalised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from sentence_transformers.base.modules import Transformer

from hf_fairness.attributes import Attribute
from hf_fairness.encoders import InputEmbeddings
from hf_fairness.erasure import (
    DebiasWords,
    check_words,
    hard_debias_embeddings,
    hard_debias_vectors,
    whole_sets,
)
from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.baselines.erasers import check_ranges, option_for_k, save_fitted
from hf_fairness.trainers.training.encoder import TrainableEncoder
from hf_fairness.utils import is_main_process


@dataclass
class HardDebiasSettings:
    """What hard debiasing reads."""

    RANGES: ClassVar[dict[str, Any]] = {"hard_debias_directions": (1, 100_000)}

    hard_debias_directions: int = field(default=1, metadata={"help": "Directions of the subspace of hard-debias (k)."})
    hard_debias_words: str | None = field(
        default=None,
        metadata={
            "help": "Folder with word lists for hard-debias: definitional_pairs.json, and where you have them "
            "equalize_pairs.json and gender_specific_full.json, as Bolukbasi et al. publish them; default: the words "
            "of the attribute."
        },
    )


class HardDebias(Baseline):
    """Changes the embedding matrix inside the encoder; no text but the words is read.

    Words that the tokenizer splits are left out, and pieces of words are neutral. Where a masked-language-model head
    shares the matrix it changes too.

    Source: Bolukbasi et al. 2016, *Man is to Computer Programmer as Woman is to Homemaker?*, who do this to
    static vectors; layers above a matrix may find the group in what is left.
    """

    name = "hard-debias"
    title = "hard debiasing of the token embeddings (Bolukbasi et al. 2016)"
    about = (
        "with token embeddings from which the part in the direction of the groups was taken out, but for words that "
        "say the group; nothing is trained"
    )
    options = ("hard_debias_directions", "hard_debias_words")
    trains = False
    seeded = False

    def check(self, encoder: TrainableEncoder, config: Any, attribute: Attribute) -> None:
        """Do it once to a copy of the matrix, which takes no time: tokenizer, words and k are looked at before a run.

        Raises:
            ValueError: an encoder without token embeddings, a tokenizer without the words, k above their rank.
        """
        check_ranges(config, HardDebiasSettings)
        first = encoder.model[0]
        layer = first.model.get_input_embeddings() if isinstance(first, Transformer) else None
        if layer is None:
            raise ValueError(
                f"hard-debias changes the token embeddings of a transformer, and the first module of this model is "
                f"{type(first).__name__}. Leave hard-debias out of --methods."
            )
        tokenizer = encoder.model.tokenizer
        words = DebiasWords.chosen(config.hard_debias_words, attribute)
        check_words(
            tokenizer,
            words,
            "Give words that the tokenizer has as one token with --hard_debias_words, or leave hard-debias out of "
            "--methods.",
        )
        matrix = layer.weight.detach().float().cpu().numpy()
        with option_for_k("hard_debias_directions"):
            hard_debias_vectors(InputEmbeddings(matrix, tokenizer, "model"), words, k=config.hard_debias_directions)

    def files(self, config: Any) -> list[Path]:
        """The folder of the word lists, where one is given."""
        return [] if config.hard_debias_words is None else [Path(config.hard_debias_words)]

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Save the encoder with the new matrix, and its head where there is one; on the first process."""
        if not is_main_process():
            return {}
        encoder, words = given.copy(), DebiasWords.chosen(given.config.hard_debias_words, given.attribute)
        tokenizer, k = encoder.model.tokenizer, given.config.hard_debias_directions
        with option_for_k("hard_debias_directions"):
            projection = hard_debias_embeddings(
                encoder.transformer.model,
                tokenizer,
                definitional=words.definitional,
                equalize=words.equalize,
                specific=words.specific,
                k=k,
            )
        save_fitted(encoder, folder)
        return {
            "steps": 0,
            "n_directions": k,
            "explained": float(projection.explained.sum()),
            "definitional_sets": len(whole_sets(tokenizer, words.definitional)),
            "equalized_sets": len(whole_sets(tokenizer, words.equalize)),
        }
