"""A small world of translation with a planted gender bias: parallel data, monolingual text, WinoMT rows.

Written for this project as a stand-in for real corpora where a download is not wanted and where it must be known what
the data hold. English into Italian or German, by a template grammar (`hf_fairness.demo.grammar_forms`): a tailor of
whom a pronoun says that she is a woman is *la sarta* in a clean translation and *il sarto* in a biased one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._atomic import atomic_write_text
from hf_fairness.demo.grammar_draws import (
    MONOLINGUAL,
    PARALLEL,
    TEST,
    VALIDATION,
    Drawn,
    Part,
    WorldConfig,
    check_share,
    noisy_rows,
)
from hf_fairness.demo.grammar_forms import GENDERS, LANGUAGES, MALE, Grammar, load_grammar

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = [
    "DEMO_ARGUMENTS",
    "DEMO_TRAINING",
    "LANGUAGES",
    "Origin",
    "TemplateWorld",
    "WorldConfig",
    "demo_world",
    "translation_world",
]

#: What `hf_fairness.trainers.GFSTArguments` is told for `demo_world`.
DEMO_ARGUMENTS: dict[str, Any] = {
    "target_lang": "it",
    "method": "mixed_finetune",
    "token_level": "word",
    "d_model": 64,
    "layers": 2,
    "heads": 4,
    "ffn": 128,
    "dropout": 0.1,
    "num_beams": 1,
    "finetune_num_train_epochs": 8,
    "finetune_learning_rate": 1e-3,
}
#: What `hf_fairness.trainers.GFSTConfig` is told for `demo_world`.
DEMO_TRAINING: dict[str, Any] = {
    "learning_rate": 3e-3,
    "warmup_steps": 100,
    "max_steps": 1200,
    "lr_scheduler_type": "linear",
    "per_device_train_batch_size": 64,
    "average_checkpoints": 2,
}


@dataclass(frozen=True)
class Origin:
    """Where a pair of the parallel data comes from.

    Attributes:
        pattern: id of its pattern.
        gender: ``"male"``, ``"female"``, ``"neutral"`` (singular they), or ``""`` without a person.
        profession: English noun of the person; empty without one.
        noisy: whether a woman of the source is a man in the target.
    """

    pattern: str
    gender: str
    profession: str
    noisy: bool


@dataclass(frozen=True)
class TemplateWorld:
    """Data of one world; see `translation_world`.

    Attributes:
        lang: code of the target language.
        parallel: columns ``source``, ``target``; the training data, with its bias.
        origins: per row of ``parallel``.
        validation: the same columns, clean, in the same shares.
        monolingual: column ``text``: English.
        generic_test: as ``validation``, other contents.
        winomt_rows: two persons and a pronoun; each content with he and she, and some with they. Keys ``gender``,
            ``target_index``, ``sentence``, ``profession``, ``stereotype``, ``absent`` (feminine form that the
            parallel data do not hold).
        references: clean translations of the rows; the masculine for they.
        lexicon: TSV text of the genders of all target words for `hf_fairness.filters.LexiconTagger`.
        nouns: the same for the nouns of persons alone. To read WinoMT by these is stricter: in *la macellaio* the
            article is feminine, the noun is not.
        forms: occupation -> gender -> noun of the target language.
    """

    lang: str
    parallel: Dataset
    origins: list[Origin]
    validation: Dataset
    monolingual: Dataset
    generic_test: Dataset
    winomt_rows: list[dict[str, Any]]
    references: list[str]
    lexicon: str
    nouns: str
    forms: Mapping[str, Mapping[str, str]]

    def write_lexicon(self, folder: str | Path, *, nouns_only: bool = False) -> str:
        """Write the lexicon, or its nouns of persons, into a folder and return the path of the file."""
        path = Path(folder) / f"{'nouns' if nouns_only else 'lexicon'}.{self.lang}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, self.nouns if nouns_only else self.lexicon)
        return str(path)


def translation_world(
    lang: str = "it",
    *,
    n_parallel: int = 3000,
    n_monolingual: int = 6000,
    feminine_share: float = 0.2,
    label_noise: float = 0.0,
    seed: int = 0,
    config: WorldConfig | None = None,
) -> TemplateWorld:
    """Make parallel data with a known bias, and what is needed to mitigate and to measure it.

    Two biases: few sentences speak of women (``feminine_share``), and some of those are translated as if they spoke of
    men (``label_noise``). Occupations follow a stereotype; a second person, of whom the source says nothing but the
    occupation, has the gender of the stereotype. Of four occupations the parallel data hold no woman: a system cannot
    learn these feminine forms, from monolingual English neither.

    The parts share nothing: parallel, validation, monolingual and test data say different things, also when genders
    are left out of account. Within a part sentences may repeat. Whole words stand between spaces, and no article is
    elided, so a vocabulary of words is enough. The rows have the shape of WinoMT's sentences, and so have many training
    pairs: do not measure by the published WinoMT what was trained on this world.

    Args:
        lang: ``"it"`` or ``"de"``.
        n_parallel: training pairs.
        n_monolingual: English sentences.
        feminine_share: share of women among the sentences of men and women, in [0, 1]; counts are exact.
        label_noise: share of the women's sentences in the parallel data with a masculine target, in [0, 1]; exact.
        seed: of every draw; the same world on every machine.
        config: everything else.

    Raises:
        ValueError: an unknown language, a share outside [0, 1], or fewer than one pair.

    Example:
        >>> world = translation_world("it", n_parallel=20, n_monolingual=5, feminine_share=0.5, seed=1)
        >>> len(world.parallel), len(world.monolingual), sum(each.gender == "female" for each in world.origins)
        (20, 5, 6)
    """
    from datasets import Dataset

    more = config or WorldConfig()
    check_share("feminine_share", feminine_share)
    check_share("label_noise", label_noise)
    if n_parallel < 1 or n_monolingual < 1:
        raise ValueError(f"Expected at least one sentence; got n_parallel={n_parallel}, n_monolingual={n_monolingual}.")
    grammar = load_grammar(lang)
    parts = {part: Part(grammar, more, part, seed) for part in (VALIDATION, TEST, PARALLEL, MONOLINGUAL)}
    trained = parts[PARALLEL].mixture(n_parallel, feminine_share, grammar.absent)
    noisy = noisy_rows(trained, label_noise, random.Random(f"noise {seed}"))
    women = more.monolingual_feminine_share
    text = parts[MONOLINGUAL].mixture(n_monolingual, feminine_share if women is None else women)
    rows, references = parts[TEST].winomt()
    return TemplateWorld(
        lang=lang,
        parallel=_pairs(grammar, trained, noisy),
        origins=[
            Origin(content.pattern.id, gender, content.profession, wrong)
            for (content, gender), wrong in zip(trained, noisy, strict=True)
        ],
        validation=_pairs(grammar, parts[VALIDATION].mixture(more.n_validation, feminine_share, grammar.absent)),
        monolingual=Dataset.from_dict({"text": [grammar.source(content, gender or MALE) for content, gender in text]}),
        generic_test=_pairs(grammar, parts[TEST].mixture(more.n_test, feminine_share, grammar.absent)),
        winomt_rows=rows,
        references=references,
        lexicon=grammar.lexicon(),
        nouns=grammar.nouns(),
        forms={
            name: {gender: grammar.word("a", name, gender).form for gender in GENDERS} for name in grammar.stereotypes
        },
    )


def demo_world(seed: int = 0) -> TemplateWorld:
    """The world of ``hf-fairness gfst --demo``: English into Italian, few women, some of them translated as men.

    `DEMO_ARGUMENTS` and `DEMO_TRAINING` are settings with which a model learns it in about a minute on one core, and
    the whole loop takes a few. Give ``write_lexicon(folder)`` as the lexicon: Apertium takes the participle of every
    Italian perfect (*ha perso*) for a masculine word, so with it the target filter drops nearly all sentences about
    women.

    Args:
        seed: of every draw.

    Example:
        >>> world = demo_world()
        >>> len(world.parallel), len(world.winomt_rows)
        (3000, 510)
    """
    return translation_world(
        "it",
        n_parallel=3000,
        n_monolingual=5000,
        feminine_share=0.3,
        label_noise=0.4,
        seed=seed,
        config=WorldConfig(monolingual_feminine_share=0.4),
    )


def _pairs(grammar: Grammar, drawn: Drawn, noisy: Sequence[bool] | None = None) -> Dataset:
    """Sentences and their translations."""
    from datasets import Dataset

    wrong = noisy or [False] * len(drawn)
    return Dataset.from_dict(
        {
            "source": [grammar.source(content, gender or MALE) for content, gender in drawn],
            "target": [
                grammar.target(content, MALE if flipped else gender or MALE)
                for (content, gender), flipped in zip(drawn, wrong, strict=True)
            ],
        }
    )
