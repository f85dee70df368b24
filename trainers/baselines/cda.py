"""Counterfactual data augmentation: training goes on with the versions of every text about each group.

Source: Zhao et al. 2018, *Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods*; Lu et al. 2020,
*Gender Bias in Neural Natural Language Processing*; as a change of encoders: Webster et al. 2020, *Measuring and
Reducing Gendered Correlations in Pre-trained Models*.
"""

from __future__ import annotations

from typing import ClassVar

from hf_fairness.measure.variants import Variants
from hf_fairness.trainers.baselines.continued import Continued


class CDA(Continued):
    """CDA: the versions of each row about all groups are trained on, so that each group is as frequent in each context.

    What is trained with is that of `continued`, which is its control. The neutral version is no part of it: the
    published method swaps between groups. Webster et al. train a model with CDA from scratch (BERT for 1M steps, by
    the notes to their published checkpoints); here, as in all of `compare`, training goes on from the given model.
    """

    name: ClassVar[str] = "cda"
    control: ClassVar[str] = "continued"
    is_control: ClassVar[bool] = False
    title: ClassVar[str] = "CDA, continued training (Webster et al. 2020)"
    about: ClassVar[str] = "trained on with what makes encoders, on the versions of each text about all groups"

    def texts_of(self, variants: Variants, source: list[str], seed: int) -> list[list[str]]:
        """The version of each group."""
        return [list(row) for row in zip(*variants.groups.values(), strict=True)]
