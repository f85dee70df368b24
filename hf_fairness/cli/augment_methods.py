"""The methods of `hf-fairness augment`, in one table."""

from __future__ import annotations

import dataclasses

from hf_fairness.cli import augment_jobs as jobs
from hf_fairness.cli.augment_jobs import Method

_COPIED = "The added rows have the labels of their sources. Nothing checked that a label still holds."
_GROUPS = "All terms of a text change together, whoever they speak of; words that carry a group without naming it stay."
_UNJUDGED = "Nothing judged the added counterfactuals: broken ones may be among them."
_MODEL = "A model chose the words: its own biases and errors are in the texts."
_CHOSEN = "Rows were chosen by a score of one model; compare with as many rows chosen at random before you credit it."

_OF_ONE_MODEL = (
    "A score is that of one model along one direction: another model scores the same texts otherwise. direction.json "
    "holds the direction; `--direction direction.json` scores another corpus along it."
)
_BY_SCORE = {"model_name_or_path": "a model that scores the texts", "score_column": "columns of ready scores"}
_COMPENSATE = Method(
    "add the counterfactual of the rows with the highest bias score",
    "hf_fairness.refine:compensate",
    jobs.refined,
    (*jobs.SWAP, *jobs.SCORE, "score_column", "percentile"),
    required=("percentile",),
    one_of=_BY_SCORE,
    parallel=False,
    added="counterfactual",
    limits=(_CHOSEN, _GROUPS, _COPIED, _UNJUDGED),
)

#: Name -> method, in the order of the help text.
METHODS: dict[str, Method] = {
    "swap": Method(
        "put the counterfactual of each text beside it",
        "hf_fairness.augment:CounterfactualSwap",
        jobs.swapped,
        (*jobs.SWAP, *jobs.JUDGE),
        suffix="_counterfactual",
        limits=(_GROUPS,),
    ),
    "cda": Method(
        "add after each row with terms its counterfactual row (counterfactual data augmentation)",
        "hf_fairness.augment:CounterfactualAugmentation",
        jobs.swapped,
        (*jobs.SWAP, *jobs.JUDGE),
        added="counterfactual",
        limits=(_GROUPS, _COPIED),
    ),
    "cds": Method(
        "write the counterfactual for a text with a fixed probability (counterfactual data substitution)",
        "hf_fairness.augment:CounterfactualSubstitution",
        jobs.swapped,
        (*jobs.SWAP, *jobs.JUDGE, "probability", "seed"),
        suffix="_substituted",
        limits=(_GROUPS,),
    ),
    "neutralize": Method(
        "put beside each text a version that names no group",
        "hf_fairness.augment:Neutralize",
        jobs.rewritten,
        ("attribute", "names", "tagger", "pronouns", "reflexive"),
        suffix="_neutral",
        limits=(_GROUPS,),
    ),
    "variants": Method(
        "write one version of each text per group and a neutral one, as `ccd` and `audit` read them",
        "hf_fairness.augment:GroupVariants",
        jobs.one_column,
        ("attribute", "names", "tagger", "prefix"),
        n_columns=1,
        marked="has_terms",
        limits=(_GROUPS,),
    ),
    "remove": Method(
        "put beside each text one without the terms (attribute blindness; seldom grammatical)",
        "hf_fairness.augment:RemoveTerms",
        jobs.rewritten,
        ("attribute", "names", "tagger", "placeholder"),
        suffix="_blind",
        limits=("The texts are seldom grammatical, and what is left of them often still tells the group.",),
    ),
    "balance": Method(
        "sample down (or up) until every group has as many rows",
        "hf_fairness.refine:balance",
        jobs.balanced,
        ("attribute", "sampling", "group_column", "within", "seed"),
        limits=("Equal numbers of rows do not make what the rows say equal.",),
    ),
    "score": Method(
        "put the bias score of each text beside it, for --score_column",
        "hf_fairness.measure.encoder.bias_score:BiasScore",
        jobs.scored,
        ("attribute", *jobs.SCORE),
        required=("model_name_or_path",),
        parallel=False,
        limits=(_OF_ONE_MODEL,),
    ),
    "subtract": Method(
        "leave out the rows with the highest bias score",
        "hf_fairness.refine:subtract",
        jobs.refined,
        ("attribute", *jobs.SCORE, "score_column", "percentile"),
        required=("percentile",),
        one_of=_BY_SCORE,
        parallel=False,
        limits=(_CHOSEN,),
    ),
    "compensate": _COMPENSATE,
    "replace": dataclasses.replace(
        _COMPENSATE,
        summary="put the counterfactual in the place of the rows with the highest bias score",
        function="hf_fairness.refine:replace",
    ),
    "text-swap": Method(
        "add after each row one with premise and hypothesis exchanged",
        "hf_fairness.augment.nlu:TextSwap",
        jobs.exchanged,
        ("label_column", "labels"),
        n_columns=2,
        added="augmented",
        limits=(_COPIED, "Entailment holds in one direction only."),
    ),
    "synonyms": Method(
        "add after each row one with synonyms of WordNet",
        "hf_fairness.augment.nlu:SynonymSubstitution",
        jobs.one_column,
        ("rate", "seed", "wordnet", "protect"),
        n_columns=1,
        added="augmented",
        limits=(_COPIED,),
    ),
    "mlm": Method(
        "add after each row one with words that a masked language model fills in",
        "hf_fairness.augment.nlu:MaskedSubstitution",
        jobs.one_column,
        ("model_name_or_path", "rate", "top_k", "seed", "protect", "batch_size", "device"),
        required=("model_name_or_path",),
        n_columns=1,
        parallel=False,
        added="augmented",
        limits=(_COPIED, _MODEL),
    ),
    "paraphrase": Method(
        "add after each row one translated into another language and back",
        "hf_fairness.augment.nlu:Paraphrase",
        jobs.one_column,
        ("forward_model", "backward_model", "num_beams", "batch_size", "device"),
        required=("forward_model", "backward_model"),
        n_columns=1,
        parallel=False,
        added="augmented",
        limits=(_COPIED, _MODEL),
    ),
    "llm": Method(
        "ask a chat model for one version of each text per group and a neutral one",
        "hf_fairness.generation:LLMGroupVariants",
        jobs.asked,
        ("attribute", "model_name_or_path", "base_url", "prompt", "cache_dir", *jobs.LLM),
        one_of={"model_name_or_path": "a chat model", "base_url": "a server"},
        n_columns=1,
        parallel=False,
        batch_size=64,
        marked="has_terms",
        limits=(_MODEL, "Of each version only the count of group terms and the share of kept words were checked."),
    ),
}
