"""Generic augmentations of text pairs (Liu et al. 2020), which IBADR compares itself with.

Each adds rows that mark themselves in the columns ``augmented`` and ``augmentation``. They know no attribute: they
widen what a model sees and balance nothing. Labels are copied, not checked.
"""

from hf_fairness.augment.nlu.masked import MaskedSubstitution
from hf_fairness.augment.nlu.paraphrase import Paraphrase
from hf_fairness.augment.nlu.synonyms import SynonymSubstitution
from hf_fairness.augment.nlu.text_swap import TextSwap

__all__ = ["MaskedSubstitution", "Paraphrase", "SynonymSubstitution", "TextSwap"]
