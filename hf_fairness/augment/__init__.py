"""Rewrites of texts along an attribute: counterfactual swaps, neutral forms, one variant per group.

Functions work on one text (:func:`swap`, :func:`neutralize`, :func:`group_variants`); the classes are
callables for ``datasets.map``. :func:`summarize` counts what they touch and what they leave alone.

What the rules do where opinions differ:

* A name is not a term. Words that are part of a name stay (*Burger King*, *Queen Elizabeth*, *Mother
  Teresa*, the *Dallas Cowboys*); courtesy titles and kinship before a name are swapped (*Mr. Smith*, *Aunt
  Ann*), given names only with ``names=True``. In a headline in title case a capital says nothing, and terms
  are swapped.
* *Mr* becomes *Mrs* as in Dolci et al. 2023; *Ms* and *Miss* become *Mr*, so these two are not invertible.
* Forms that serve everybody (*host*, *author*, *manager*) are written and never read as terms.
* Words that belong to one group by meaning (*pregnant*) are never touched; ``Attribute.inherent_in`` lists
  them.
* All terms of a text change, not those of one person: *He met his wife* becomes *She met her husband*.
* A text that is not English comes back as it is, without terms; :func:`summarize` counts such texts.
* *her* and *his* are resolved by the words beside them. What no neighbour settles (*it gave her night
  terrors*) takes the likelier reading, a possessive.
"""

from hf_fairness.augment.augmentation import CounterfactualAugmentation, CounterfactualSubstitution
from hf_fairness.augment.edits import Edit, apply_edits, parse_edits
from hf_fairness.augment.language import looks_english
from hf_fairness.augment.rewrite import group_variants, neutralize, swap
from hf_fairness.augment.summary import summarize
from hf_fairness.augment.transforms import CounterfactualSwap, GroupVariants, Neutralize

__all__ = [
    "CounterfactualAugmentation",
    "CounterfactualSubstitution",
    "CounterfactualSwap",
    "Edit",
    "GroupVariants",
    "Neutralize",
    "apply_edits",
    "group_variants",
    "looks_english",
    "neutralize",
    "parse_edits",
    "summarize",
    "swap",
]
