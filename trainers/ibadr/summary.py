"""What only a report of IBADR says: what became of the samples, what one text gives away, what leaked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from hf_fairness.record import Table, interval, mapping, number
from hf_fairness.report.text import format_value

#: What became of samples, in the order of the table: what it is called there, and the kind that the picture shows.
FATES = {
    "drawn": ("drawn", ""),
    "accepted": ("added to the pool", "added"),
    "low_confidence": ("below the threshold", "below the threshold"),
    "in_pool": ("texts in the pool", "not new"),
    "in_pool_other_label": ("texts in the pool, other label", "not new"),
    "repeated": ("texts of an earlier sample", "not new"),
    "repeated_other_label": ("texts of an earlier sample, other label", "not new"),
    "unended": ("did not end", "not readable"),
    "wrong_parts": ("not the texts of a row", "not readable"),
    "empty_text": ("an empty text", "not readable"),
    "broken_text": ("broken characters", "not readable"),
}
#: Numbers of a round, and where they stand in what it found.
NUMBERS = {
    "pool before: mean bias degree": "pool/mean",
    "agreement of validation rows as biased, with true labels": "judge/expected_agreement",
    "new ones: agreement with the judge": "agreement/before/agreement",
    "new ones: by chance": "agreement/before/chance",
    "new ones: kappa": "agreement/before/kappa",
    "new ones: mean bias degree": "degrees/before/mean",
    "new ones: anti-artefact share": "anti_artefact/before/anti_artefact_share",
    "added ones: agreement with the judge": "agreement/after/agreement",
    "added ones: by chance": "agreement/after/chance",
    "added ones: kappa": "agreement/after/kappa",
    "added ones: mean bias degree": "degrees/after/mean",
    "added ones: anti-artefact share": "anti_artefact/after/anti_artefact_share",
    "as many original rows: distinct 1-grams": "diversity/original/distinct_1",
    "as many original rows: distinct 2-grams": "diversity/original/distinct_2",
    "as many original rows: distinct 3-grams": "diversity/original/distinct_3",
    "added ones: distinct 1-grams": "diversity/after/distinct_1",
    "added ones: distinct 2-grams": "diversity/after/distinct_2",
    "added ones: distinct 3-grams": "diversity/after/distinct_3",
    "generator: mean loss per token": "generator/loss",
}
LIMITS = (
    "Intervals are over the rows at hand, not over other trainings: two seeds can differ by more. Read a difference "
    "beside the control, which was trained for as many steps.",
    "Bias here is what a shallow model learns from few rows. It need not be wrong, and a bias that is hard to learn is "
    "not seen.",
    "A challenge set tests the shortcuts that it was made for. A higher accuracy there does not show that a model has "
    "no others.",
    "The agreement of samples with a judge says how the judge sees them: it is itself trained on the biased data. Have "
    "people read a sample of the added rows.",
    "What a generator that was trained elsewhere has read is not known: the overlap with challenge sets is measured on "
    "the added rows only.",
)
CONVENTION = (
    "accuracy over all rows of a set; a published challenge set counts labels as its authors do; models are chosen by "
    "the accuracy on the validation rows, so theirs there is somewhat too high; intervals and paired comparisons "
    "resample the rows (or whole clusters of them) and say nothing of another training; bias degree: probability that "
    "the shallow model gives to a row's label"
)


def tell(extras: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the record.

    Args:
        extras: ``data``, ``rounds``, ``pool``, ``partial_input`` and ``leakage`` of the result; ``ablations`` and
            ``added``, where there are such models.
        results: set -> arm -> numbers.
    """
    rounds, data, pool = extras["rounds"], extras["data"], extras["pool"]
    missing = {
        "Test rows: none were given, and the validation rows chose the models": "test" not in results,
        "Challenge sets: none were given, so nothing is known of shortcuts": not set(results) - {"validation", "test"},
        "What one text of a pair gives away (partial input): not asked for, or the rows have one text": not extras[
            "partial_input"
        ],
    }
    return {
        "task": "text-classification",
        "subject": {key: data[key] for key in ("columns", "label_names")}
        | {f"{part} rows": data[part]["n"] for part in ("train", "validation", "test") if part in data},
        "outcome": f"{pool['n_added']:,} rows were added to {pool['n_original']:,} "
        + (f"in {len(rounds)} {'round' if len(rounds) == 1 else 'rounds'}." if rounds else "from a pool made before."),
        "cautions": tuple(each["caution"] for each in rounds if each["caution"]),
        "tables": tuple(
            table
            for table in (
                rounds_table(rounds),
                guard_table(extras),
                added_table(extras["added"]),
                *(rounds_table(each, title) for title, each in extras["ablations"].items()),
            )
            if len(table.rows) > 1
        ),
        "not_measured": tuple(text for text, lacks in missing.items() if lacks),
    }


def rounds_table(rounds: Sequence[Mapping[str, Any]], title: str = "") -> Table:
    """What became of the samples of each round, and how they are; ``title``: of the model, if it is not IBADR."""
    rows = [("samples", *(f"round {each['round']}" for each in rounds))]
    for fate, (words, _) in FATES.items():
        sizes = [each["counts"].get(fate, 0) for each in rounds]
        if any(sizes):
            rows.append((words, *(f"{n:,}" for n in sizes)))
    for words, place in NUMBERS.items():
        *path, key = place.split("/")
        entries = [reduce(mapping, path, each) for each in rounds]
        if any(key in each for each in entries):
            rows.append((words, *(_cell(each, key) for each in entries)))
    return Table(
        f"Samples, round by round{title and f': {title}'}",
        tuple(rows),
        "Bias degree: probability that the shallow model gives to the label of a row. The judge was itself trained on "
        "the biased data.",
    )


def added_table(added: Mapping[str, Mapping[str, Any]]) -> Table:
    """Rows that other ways to add rows made, and left."""
    rows = [("rows", "made", "added"), *((title, f"{n['n']:,}", f"{n['n_kept']:,}") for title, n in added.items())]
    return Table(
        "Rows that other methods added", tuple(rows), "Labels of added rows are copied or asked for: unchecked."
    )


def guard_table(extras: Mapping[str, Any]) -> Table:
    """The partial-input probe, and what added rows share with test and challenge sets."""
    probes, leaks = extras["partial_input"], mapping(extras["leakage"], "by_set")
    rows = [
        ("what", "value"),
        *(
            (f"partial input, {words}: {what}", _cell(probes[side], key))
            for side, words in (("original", "original rows"), ("pool", "pool"))
            if side in probes
            for key, what in (("accuracy", "accuracy"), ("gain", "above the majority (0)"))
        ),
        *((f"added rows that share text with {name} (0)", _cell(leak, "leak_share")) for name, leak in leaks.items()),
    ]
    return Table(
        "What one text gives away, and what added rows share with test sets",
        tuple(rows),
        "Partial input: a classifier that reads one text of the two only. Ideal values stand in parentheses.",
    )


def _cell(value: Mapping[str, Any], key: str) -> str:
    return format_value(number(value, key), interval(value, f"{key}_ci95"))


def pictures(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Data of the pictures: bias degrees around the filter, and what became of the samples; none without rounds."""
    if not rounds:
        return {}
    degrees = {
        f"round {each['round']}": {
            "before the filter": each["degrees"]["before"]["counts"],
            "after it": each["degrees"]["after"]["counts"],
            "pool": each["pool"]["counts"],
        }
        for each in rounds
    }
    means = [
        f"round {each['round']}: mean {each['pool']['mean']:.3f} in the pool, "
        f"{_cell(each['degrees']['before'], 'mean')} before, {_cell(each['degrees']['after'], 'mean')} after"
        for each in rounds
    ]
    kinds = dict.fromkeys(kind for _, kind in FATES.values() if kind)
    shares = {
        f"round {each['round']}": {
            kind: sum(n for fate, n in each["counts"].items() if FATES[fate][1] == kind) / each["counts"]["drawn"]
            for kind in kinds
        }
        for each in rounds
    }
    n_bins = len(rounds[0]["pool"]["counts"])
    return {
        "bias_degrees": {
            "kind": "histogram",
            "title": "What the filter did to the bias degrees",
            "caption": "Readable samples with new texts. To the left: the shallow model does not expect the label. "
            "Heights are relative to the highest of a round, for the pool (the line) on its own.",
            "description": f"Bias degrees of new samples around the filter; {'; '.join(means)}.",
            "x_label": "bias degree: p(label | texts) by the shallow model",
            "rows": degrees,
            "edges": [place / n_bins for place in range(n_bins + 1)],
            "outline": ["pool"],
            "grey": ["before the filter"],
        },
        "samples": {
            "kind": "bars",
            "title": "What became of the samples",
            "caption": "Samples whose texts are in the pool, or came before, are not new.",
            "x_label": "share of the samples drawn",
            "rows": shares,
            "stacked": True,
            "format": ".0%",
            "grey": ["not readable"],
        },
    }
