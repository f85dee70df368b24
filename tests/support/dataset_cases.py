"""Raw files in the layout of every source, in `raw/`: few rows, texts of our own. How each can be damaged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RAW = Path(__file__).parent.parent / "dataset_scripts" / "raw"


@dataclass(frozen=True)
class Case:
    """What is built of a folder of `raw/`, and how its files can be damaged.

    Attributes:
        config: the configuration that is built.
        victim: the file that is damaged.
        kind: csv, tsv, bare (tsv without header), jsonl, json or lines.
        rows: number of rows of each split.
        column: a column or key that must be there.
        label: a piece with a label, the same with a label that there is none, the place of the error.
        ids: whether the file names ids, so that one can occur twice.
    """

    config: str
    victim: str
    kind: str
    rows: dict[str, int]
    column: str = ""
    label: tuple[str, str, str] | None = None
    ids: bool = True


CASES = {
    "crows_pairs": Case(
        *("default", "crows_pairs_anonymized.csv", "csv", {"test": 2}, "bias_type"),
        label=(",age,", ",aged,", "line 2"),
    ),
    "fever": Case(
        *("pairs", "fever.train.jsonl", "jsonl", {"train": 3, "dev": 2}, "evidence"),
        label=('"REFUTES"', '"REFUTED?"', "line 3"),
        ids=False,
    ),
    "fever_symmetric": Case(
        *("v0.1", "symmetric_v0.1/fever_symmetric_generated.jsonl", "jsonl", {"generated": 2, "full": 2}, "claim"),
        label=('"REFUTES"', '"NOT ENOUGH INFO"', "line 2"),
    ),
    "glue4": Case(
        *("rte", "RTE/train.tsv", "tsv", {"train": 2, "dev": 2}, "label"),
        label=("B\tentailment", "B\tmaybe", "line 2"),
        ids=False,
    ),
    "grep_biasir": Case(
        *("default", "queries-documents_Career.csv", "csv", {"test": 6}, "content_gender"),
        label=(",F,Towards", ",X,Towards", "line 3"),
    ),
    "hans": Case(
        *("default", "heuristics_evaluation_set.txt", "tsv", {"train": 3, "evaluation": 3}, "heuristic"),
        label=("\nnon-entailment\tThe baker saw", "\nno entailment at all\tThe baker saw", "line 3"),
    ),
    "iptts": Case(
        *("default", "iptts_gender_madlib.csv", "csv", {"test": 2}, "gender"),
        label=(",male,", ",man,", "line 3"),
        ids=False,
    ),
    "jigsaw_unintended_bias": Case(
        *("default", "train.csv", "csv", {"train": 2, "test_public": 2}, "comment_text"),
        label=("59849,0.6", "59849,6", "line 3"),
    ),
    "multinli": Case(
        *("default", "multinli_1.0_train.jsonl", "jsonl"),
        {"train": 3, "dev_matched": 3, "dev_mismatched": 3},
        "genre",
        label=('"contradiction"', '"contradicted"', "line 3"),
    ),
    "must_she": Case(
        *("en-it", "MONOLINGUAL.it_v1.2.tsv", "tsv", {"test": 2}, "GENDERTERMS"), label=("\t2M\t", "\tM2\t", "line 3")
    ),
    "news_commentary": Case("en-de", "news-commentary-v16.de-en.tsv", "bare", {"train": 2}, ids=False),
    "nli_adversarial": Case(
        *("all", "robust_nli.txt", "jsonl", {"test": 8}, "hypo"),
        label=('"non-entailment"', '"hardly"', "line 3"),
        ids=False,
    ),
    "professions": Case("default", "professions.json", "json", {"test": 2}, label=("0.4", '"male"', "item 1")),
    "scramble": Case(
        *("default", "test/labels.comp_ml_short", "lines", {"test": 12}), label=("0\n", "3\n", "line 2"), ids=False
    ),
    "sick": Case(
        *("default", "SICK.txt", "tsv", {"train": 1, "trial": 1, "test": 1}, "relatedness_score"),
        label=("CONTRADICTION", "CONTRADICTS", "line 3"),
    ),
    "snli": Case(
        *("default", "snli_1.0/snli_1.0_dev.jsonl", "jsonl", {"train": 3, "dev": 3, "test": 3}, "pairID"),
        label=('"contradiction"', '"hidden"', "line 3"),
    ),
    "stereoset": Case(
        *("intrasentence", "dev.json", "json", {"dev": 2}, "context"),
        label=('"gold_label": "unrelated"', '"gold_label": "unknown"', "item 1, sentence 3"),
    ),
    "stsb": Case(*("default", "STS-B/dev.tsv", "tsv", {"train": 2, "dev": 2}, "score"), label=("4.5", "5.5", "line 2")),
    "twitter_sexism": Case(
        *("pairs", "Twitter_train_original_gender.csv", "csv", {"train": 2, "valid": 2}, "Class"),
        label=("bake,1", "bake,2", "line 3"),
        ids=False,
    ),
    "wikipedia_toxicity": Case(
        *("default", "toxicity_annotated_comments.tsv", "tsv", {"train": 2, "test": 1}, "sample"),
        label=("\ttest\n", "\texam\n", "line 4"),
    ),
    "winogender": Case(
        *("sentences", "all_sentences.tsv", "tsv", {"test": 12}, "sentence"),
        label=("baker.buyer.0.female", "baker.buyer.0.femail", "line 3"),
    ),
    "winomt": Case(*("all", "en.txt", "bare", {"test": 5}), label=("female\t4", "femail\t4", "line 4"), ids=False),
}
