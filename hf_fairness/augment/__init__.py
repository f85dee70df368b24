"""Rewrites of texts along an attribute: counterfactual swaps, neutral forms, one variant per group, no terms.

Functions work on one text (:func:`swap`, :func:`neutralize`, :func:`group_variants`); the classes are
callables for ``datasets.map``, on a Dataset or a stream, and pure functions of a row: the same result for any
``batch_size``, ``num_proc`` and order. They keep every row, record each edit, and refuse to overwrite a column.
Ray, Spark and others call ``.arrow`` of an instance, with tables: see :mod:`hf_fairness.maps`.
:func:`summarize` counts what they touch and what they leave alone,
:class:`SwapQuality` says which swaps to trust, :class:`PerplexityRatio` asks a language model.
The augmentations of :mod:`.nlu` know no attribute.

What the rules do where opinions differ:

* Several columns (premise and hypothesis) are swapped together. Where the label says the attribute itself,
  ``label_column=`` guards it: refuse, mark, or swap the label too.
* A name is not a term. Words that are part of a name stay (*Burger King*, *Queen Elizabeth Hospital*, *Mother
  Teresa*, the *Dallas Cowboys*); titles and kinship before a name are swapped (*Mr. Smith*, *Prince George*,
  *Aunt Ann*), given names only with ``names=True`` (those of the attribute) or ``names=load_names(...)`` (a dated
  source of your own). In a headline in title case a capital says nothing, and terms are swapped.
* *Mr* becomes *Ms* before a name, and *Mrs* beside *Mrs*; *Mrs*, *Ms* and *Miss* become *Mr*: none is invertible.
* What is no prose stays to the letter: tags and their attributes, addresses, names of files, @handles, #hashtags,
  code, placeholders. The text between tags and the text of a link are prose.
* Idioms and things stay (*mother tongue*, *man, this is slow*, male connectors); :func:`summarize` counts them.
* Forms that serve everybody (*host*, *author*, *manager*) are written and never read as terms.
* Words that belong to one group by meaning (*pregnant*) are never touched; ``Attribute.inherent_in`` lists
  them.
* All terms of a text change, not those of one person: *He met his wife* becomes *She met her husband*.
* A text that is not English comes back as it is, without terms; :func:`summarize` counts such texts.
* *her* and *his* are resolved by the words beside them. What no neighbour settles (*we saw her duck*) takes
  the likelier reading, a possessive; ``tagger=SpacyTagger(...)`` asks a tagger first.
* A swap that breaks grammar or sense (*pregnant he*, *Mrs John*) is still made: ``quality=True`` keeps it out of
  an augmentation, :class:`SwapQuality` marks it.
"""

from hf_fairness.augment.augmentation import (
    CounterfactualAugmentation,
    CounterfactualSubstitution,
    CounterfactualSwap,
)
from hf_fairness.augment.contrastive_claims import ContrastiveClaims, SubstitutionNegator
from hf_fairness.augment.edits import Edit, apply_edits, parse_edits
from hf_fairness.augment.language import looks_english
from hf_fairness.augment.nlu import MaskedSubstitution, Paraphrase, SynonymSubstitution, TextSwap
from hf_fairness.augment.objections import REASONS
from hf_fairness.augment.perplexity import PerplexityRatio
from hf_fairness.augment.quality import SwapQuality
from hf_fairness.augment.removal import RemoveTerms
from hf_fairness.augment.rewrite import group_variants, neutralize, swap
from hf_fairness.augment.summary import summarize
from hf_fairness.augment.tagger import SpacyTagger
from hf_fairness.augment.variants import GroupVariants, Neutralize

__all__ = [
    "REASONS",
    "ContrastiveClaims",
    "CounterfactualAugmentation",
    "CounterfactualSubstitution",
    "CounterfactualSwap",
    "Edit",
    "GroupVariants",
    "MaskedSubstitution",
    "Neutralize",
    "Paraphrase",
    "PerplexityRatio",
    "RemoveTerms",
    "SpacyTagger",
    "SubstitutionNegator",
    "SwapQuality",
    "SynonymSubstitution",
    "TextSwap",
    "apply_edits",
    "group_variants",
    "looks_english",
    "neutralize",
    "parse_edits",
    "summarize",
    "swap",
]
