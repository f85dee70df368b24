"""The models of an IBADR experiment: rows of a table that say what each is trained on, and with which loss.

Tables 3 to 7 of Wang et al. 2023 compare IBADR with other ways to debias; ``RECIPES`` has them under the names that
``--arms`` takes. A model is the classifier on the original rows, but for what its row of the table says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transformers import Trainer

from hf_fairness.maps import RowsFunction
from hf_fairness.record import Arm, Role
from hf_fairness.trainers.experiment import Plan
from hf_fairness.trainers.training.bias_trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
from hf_fairness.trainers.training.dct import DCTTrainer

if TYPE_CHECKING:
    from hf_fairness.trainers.ibadr.arguments import IBADRArguments
    from hf_fairness.trainers.ibadr.data import PairTask

#: Rows that models are trained on unless another name is said: of `ROUNDS`, of `AUGMENTATIONS`, or of a pool that was
#: made before.
ORIGINAL = "original"
#: Rows that rounds of a generator refine -> settings of the config with which these rounds differ from those of IBADR.
#: That of the z-filter knows no bias and writes all at once, as that of Wu et al. 2022.
ROUNDS: dict[str, dict[str, Any]] = {
    "ibadr": {},
    "z_filter": {"use_indicators": False, "iterative": False},
    "without_update": {"update_shallow": False},
    "lowest_indicator": {"random_indicator": False},
    "without_update_lowest": {"update_shallow": False, "random_indicator": False},
    "without_indicators": {"use_indicators": False},
    "without_rounds": {"iterative": False},
    "without_filter": {"confidence_threshold": 0.0},
    "biased_filter": {"confidence_from": "main"},
}
#: Those of which a z-filter leaves some.
FILTERED = "z_filter"
#: The original rows, and those that an augmentation makes of them.
AUGMENTATIONS = ("crossaug", "text_swap", "synonyms", "mlm", "paraphrase")
#: Words of data sets for a text that another supports, and that it refutes. Fact verification, for which CrossAug was
#: made, has the first two; a hypothesis that a premise entails or contradicts is in the same relation to it.
SUPPORTS, REFUTES = ("supports", "supported", "entailment"), ("refutes", "refuted", "contradiction")


@dataclass(frozen=True)
class Recipe:
    """How a model is trained: on which rows, and with which loss.

    Attributes:
        plan: its name, what it needs and what it is compared with.
        rows: what it is trained on, by name.
        loss: the trainer.
        size: so many of the added rows; None: all.
    """

    plan: Plan
    rows: str = ORIGINAL
    loss: type[Trainer] = Trainer
    size: int | None = None


def _recipe(
    name: str,
    title: str,
    about: str,
    role: Role,
    against: tuple[str, ...] = (),
    *,
    needs: tuple[str, ...] = ("ibadr",),
    **how: Any,
) -> Recipe:
    return Recipe(Plan(Arm(name, title, role, about), needs, against), **how)


def _rival(name: str, title: str, about: str, **how: Any) -> Recipe:
    return _recipe(name, title, about, "rival", ("base", "ibadr"), **how)


def _ablation(name: str, title: str, about: str) -> Recipe:
    return _recipe(name, title, f"IBADR, {about}", "variant", ("base", "ibadr"), rows=name)


#: Every model, in the order of the report; the first three are trained unless the arguments say otherwise.
_EACH = (
    _recipe("base", "base", "trained on the original rows", "original", needs=()),
    _recipe(
        "ibadr",
        "IBADR",
        "trained on the original and the added rows",
        "method",
        ("base", "control"),
        needs=("base",),
        rows="ibadr",
    ),
    _recipe("control", "control", "trained on the original rows for as many steps as IBADR", "control"),
    _recipe(
        "poe",
        "PoE",
        "product of experts with the shallow model, on the original rows",
        "rival",
        ("base",),
        loss=PoETrainer,
    ),
    _recipe(
        "ibadr_poe",
        "IBADR + PoE",
        "product of experts with the shallow model, on the refined rows",
        "variant",
        ("ibadr",),
        rows="ibadr",
        loss=PoETrainer,
    ),
    _rival("reweight", "Reweight", "less weight on rows that the shallow model gets right", loss=ReweightTrainer),
    _rival(
        "confreg",
        "Conf-reg",
        "towards the base model's distribution, flattened where the shallow model is sure",
        loss=ConfRegTrainer,
    ),
    _rival("dct", "DCT", "debiasing contrastive learning against what the shallow model reads", loss=DCTTrainer),
    _rival(
        "crossaug",
        "CrossAug",
        "on the original rows and contrastive ones, whose false claims come from rules and not from a trained model",
        rows="crossaug",
    ),
    _rival(
        "z_filter",
        "z-filter",
        "on the original rows and what a z-filter leaves of those of a generator without indicators",
        rows="z_filter",
    ),
    _rival(
        "z_filter_poe",
        "z-filter + PoE",
        "on the rows of the z-filter, product of experts with the shallow model",
        rows="z_filter",
        loss=PoETrainer,
    ),
    _ablation("without_update", "w/o USM", "the shallow model stays as it was"),
    _ablation("lowest_indicator", "lowest indicator", "asked for the lowest indicator only"),
    _ablation(
        "without_update_lowest",
        "w/o USM, lowest indicator",
        "the shallow model stays as it was, and only the lowest indicator is asked for",
    ),
    _ablation("without_indicators", "w/o indicators", "the generator is told no bias degree"),
    _ablation("without_rounds", "w/o iteration", "all samples from the generator of the first round"),
    _ablation("without_filter", "w/o filter", "every readable new sample is added"),
    _ablation("biased_filter", "biased filter", "the base model's confidence filters"),
    _rival("text_swap", "text swap", "on the original rows and those with exchanged texts", rows="text_swap"),
    _rival("synonyms", "Sub (synonym)", "on the original rows and copies with synonyms", rows="synonyms"),
    _rival("mlm", "Sub (MLM)", "on the original rows and copies with words of a masked language model", rows="mlm"),
    _rival("paraphrase", "paraphrase", "on the original rows and copies translated there and back", rows="paraphrase"),
)
RECIPES = {each.plan.arm.name: each for each in _EACH}


def smaller(size: int) -> Recipe:
    """The classifier on the original rows and so many of the added ones."""
    about = f"trained on the original rows and {size:,} of the added ones"
    title = f"IBADR, {size:,} added rows"
    return Recipe(Plan(Arm(f"ibadr_{size}", title, "variant", about), ("ibadr",)), rows="ibadr", size=size)


def given_pool(name: str, first: bool) -> Recipe:
    """The classifier on the original rows and those of a pool that was made before; the first one is the method."""
    about = "trained on the original rows and those of a pool that was made before"
    role: Role = "method" if first else "variant"
    return _recipe(f"with_{name.replace(' ', '_')}", name, about, role, ("base", "control"), needs=("base",), rows=name)


def chosen(arguments: IBADRArguments, pools: Sequence[str] = ()) -> dict[str, Recipe]:
    """The models that the arguments ask for, by name, in the order of the report.

    Args:
        arguments: of the run.
        pools: names of pools that take the place of the rounds.

    Returns:
        With pools: those in the place of IBADR, and a control of as many steps as the first.
    """
    if pools:
        methods = [given_pool(name, place == 0) for place, name in enumerate(pools)]
    else:
        methods = [RECIPES["ibadr"], *map(smaller, arguments.added_sizes or ())]
    name, control = methods[0].plan.arm.name, RECIPES["control"]
    controls = [replace(control, plan=replace(control.plan, needs=(name,)))] if arguments.control else []
    others = [recipe for name, recipe in RECIPES.items() if name in arguments.chosen_arms]
    return {each.plan.arm.name: each for each in (RECIPES["base"], *methods, *controls, *others)}


def augmentation(name: str, arguments: IBADRArguments, task: PairTask, seed: int, device: str | None) -> RowsFunction:
    """What adds rows to the original ones, for `datasets.map`.

    Args:
        name: of the arm.
        arguments: say which column is the hypothesis, and which models are asked.
        task: the data.
        seed: of its draws.
        device: where models run.

    Raises:
        ValueError: the data are not of the kind that it is made for, or a model is missing.
        FileNotFoundError: there is no WordNet.
    """
    from hf_fairness.augment import (
        ContrastiveClaims,
        MaskedSubstitution,
        Paraphrase,
        SubstitutionNegator,
        SynonymSubstitution,
        TextSwap,
    )

    a, columns = arguments, task.columns
    part, other = (columns[0], columns[-1]) if a.hypothesis_first else (columns[-1], columns[0])
    if name in ("text_swap", "crossaug") and len(columns) != 2:
        raise ValueError(f"--arms {name} takes pairs of texts; the data have the one text column {columns[0]!r}.")
    if name == "text_swap":
        return TextSwap(*columns)
    if name == "synonyms":
        return SynonymSubstitution(part, seed=seed, wordnet=a.wordnet)
    if name == "mlm":
        _needs(name, {"masked_model": a.masked_model})
        return MaskedSubstitution(part, a.masked_model, seed=seed, device=device)
    if name == "paraphrase":
        _needs(name, {"forward_model": a.forward_model, "backward_model": a.backward_model})
        return Paraphrase(part, a.forward_model, a.backward_model, device=device)
    supports, refutes = (_number(task.label_names, words) for words in (SUPPORTS, REFUTES))
    if supports is None or refutes is None:
        raise ValueError(
            f"--arms crossaug is made for fact verification: it needs labels such as {SUPPORTS[0]} and {REFUTES[0]} "
            f"(or {SUPPORTS[2]} and {REFUTES[2]}); the data have {', '.join(task.label_names)}."
        )
    return ContrastiveClaims(part, other, supports=supports, refutes=refutes, negate=SubstitutionNegator(seed))


def _needs(name: str, settings: Mapping[str, Any]) -> None:
    lacking = [key for key, value in settings.items() if not value]
    if lacking:
        raise ValueError(f"--arms {name} needs --{' and --'.join(lacking)}: an id on the Hub or a folder.")


def _number(names: Iterable[str], words: Sequence[str]) -> int | None:
    """Number of the label that is one of some words."""
    return next((number for number, name in enumerate(names) if name.casefold() in words), None)
