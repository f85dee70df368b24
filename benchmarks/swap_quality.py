"""Are swaps correct? Token errors against human counterparts, beside a dictionary and other libraries.

    python -m benchmarks.swap_quality       writes benchmarks/results/swap_quality.json

Needs the third-party data in ../shared beside the project. Every pair is swapped both ways. A token is a word or a
sign; the token error rate is the edit distance between the tokens of a swap and those of the human text, over the
tokens of the human text (0 is ideal). Systems:

- hf-fairness: `hf_fairness.augment.swap`
- dictionary: `str.split`, one counterpart per word, capitals kept; the same lexicon, *her* is always *his*
- dictionary_words: the same on words without the signs that touch them
- langfair, nlpaug: where they can be imported. LangFair's own lists, each text written for the group of the human
  text; it writes lower case, so there is a rate without regard to case too. nlpaug's ReservedAug gets our pairs.
"""

from __future__ import annotations

import collections
import contextlib
import csv
import difflib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exams.texts import DATA
from benchmarks.study import RESULTS, ROOT, write_results
from benchmarks.token_errors import nearest_errors, token_error_rates, tokens
from hf_fairness.attributes import load_attribute
from hf_fairness.augment import swap
from hf_fairness.runs import content_key
from hf_fairness.utils import package_versions

CONFIG: dict[str, Any] = {
    "sets": {
        "winogender": "all 240 templates, male and female form",
        "grep_biasir": "titles and documents in M and F form that differ",
        "crows_pairs": "pairs of bias_type gender with equally many words, that differ in gendered terms only and in "
        "all of them (in the others one person of two is flipped, or names and stereotypes change)",
    },
    "bars": {"winogender_exact": 0.99, "share_of_dictionary_errors": 0.5},
    "sources": [
        *("benchmarks/swap_quality.py", "benchmarks/token_errors.py", "hf_fairness/augment/*.py"),
        *("hf_fairness/augment/data/*.json", "hf_fairness/attributes/data/gender.en.json"),
    ],
}

Pairs = list[tuple[str, str]]
#: Writes a text for a group; the group is ignored by systems that swap both ways.
Rewrite = Callable[[str, str], str]

GENDER = load_attribute("gender")
_CASES = {"he": "she", "him": "her", "his": "her", "himself": "herself", "hers": "his", "her": "his", "she": "he"}


def winogender(data: Path = DATA) -> Pairs:
    """Templates in male and female form."""
    forms: dict[str, dict[str, str]] = collections.defaultdict(dict)
    for line in (data / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, sentence = line.split("\t")
        template, group = name.removesuffix(".txt").rsplit(".", 1)
        forms[template][group] = sentence
    return [(form["male"], form["female"]) for form in forms.values()]


def grep_biasir(data: Path = DATA) -> Pairs:
    """Male and female form of a title or a document; they stand beside each other under one query."""
    forms: dict[tuple[str, str, str], dict[str, str]] = collections.defaultdict(dict)
    for path in sorted((data / "grep_biasir").glob("queries-documents_*.csv")):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                for field in ("doc_title", "document"):
                    forms[row["q_id"], row["relevant"], field][row["content_gender"]] = row[field]
    pairs = [(form["M"], form["F"]) for form in forms.values() if {"M", "F"} <= form.keys()]
    return [(male, female) for male, female in pairs if male != female]


def crows_pairs(data: Path = DATA) -> Pairs:
    """Pairs that flip every gendered term and nothing else; ``CONFIG["sets"]`` says why."""
    with (data / "crows_pairs" / "crows_pairs_anonymized.csv").open(encoding="utf-8") as file:
        pairs = [(row["sent_more"], row["sent_less"]) for row in csv.DictReader(file) if row["bias_type"] == "gender"]
    return [(a, b) for a, b in pairs if a != b and _flips_all(tokens(a), tokens(b))]


def _flips_all(a: Sequence[str], b: Sequence[str]) -> bool:
    return len(a) == len(b) and all(
        not any(GENDER.counts(x).values()) if x == y else GENDER.counts(x) != GENDER.counts(y)
        for x, y in zip(a, b, strict=True)
    )


def pairs_of_words() -> dict[str, str]:
    """One counterpart per word, in both directions: what a dictionary swap of our lexicon knows."""
    known = dict(_CASES)
    for concept in GENDER.concepts:
        for male, female in zip(concept.forms["male"], concept.forms["female"], strict=True):
            known.setdefault(male, female)
            known.setdefault(female, male)
    return known


def dictionary() -> Rewrite:
    """The usual baseline: split at blanks, look up, join."""
    known = pairs_of_words()
    known.update({word.capitalize(): other.capitalize() for word, other in [*known.items()]})
    return lambda text, group: " ".join(known.get(word, word) for word in text.split())


def dictionary_words() -> Rewrite:
    """The same, for words without the signs that touch them."""
    known = pairs_of_words()
    known.update({word.capitalize(): other.capitalize() for word, other in [*known.items()]})
    return lambda text, group: re.sub(r"\w+", lambda match: known.get(match[0], match[0]), text)


def langfair_generator() -> Any:
    """LangFair's generator of counterfactuals, with the tokeniser that needs no download."""
    import functools

    from langfair.generator import counterfactual
    from nltk.tokenize import word_tokenize

    counterfactual.word_tokenize = functools.partial(word_tokenize, preserve_line=True)
    return counterfactual.CounterfactualGenerator()


def langfair() -> Rewrite:
    """LangFair's substitution."""
    generator = langfair_generator()

    def rewrite(text: str, group: str) -> str:
        if group not in generator.gender_to_word_lists or not generator.parse_texts([text], "gender")[0]:
            return text  # nothing to write, and create_prompts takes no text without terms
        with contextlib.redirect_stdout(io.StringIO()):
            return str(generator.create_prompts([text], attribute="gender")[f"{group}_prompt"][0])

    return rewrite


def nlpaug_augmenter() -> Any:
    """Nlpaug's ReservedAug with our pairs, every word of them."""
    from nlpaug.augmenter.word import ReservedAug

    groups = [list(pair) for pair in {tuple(sorted(pair)) for pair in pairs_of_words().items()} if len(set(pair)) == 2]
    return ReservedAug(sorted(groups), case_sensitive=False, aug_p=1.0, aug_max=None)


def nlpaug() -> Rewrite:
    """Its answer to one text."""
    import random

    augmenter = nlpaug_augmenter()

    def rewrite(text: str, group: str) -> str:
        random.seed(0)
        return augmenter.augment(text)[0]

    return rewrite


SETS: dict[str, Callable[[Path], Pairs]] = {
    "winogender": winogender,
    "grep_biasir": grep_biasir,
    "crows_pairs": crows_pairs,
}
SYSTEMS: dict[str, Callable[[], Rewrite]] = {
    "hf-fairness": lambda: lambda text, group: swap(text),
    "dictionary": dictionary,
    "dictionary_words": dictionary_words,
    "langfair": langfair,
    "nlpaug": nlpaug,
}


def measure(rewrite: Rewrite, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Errors of a system on pairs, both ways.

    Returns:
        ``token_error_rate`` with its 95 % interval over texts, the same without regard to case, ``exact``: share of
        texts without an error, ``errors``, ``tokens``, ``n_texts``; ``commonest``: what was written for what.
    """
    rows = []
    wrong: collections.Counter[str] = collections.Counter()
    for source, wanted in ((s, t) for a, b in pairs for s, t in ((a, b), (b, a))):
        new = rewrite(source, GENDER.polarity(wanted))
        rows.append(nearest_errors(new, [wanted]))
        got, gold = tokens(new), tokens(wanted)
        for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, got, gold, autojunk=False).get_opcodes():
            if kind != "equal":
                wrong[f"{' '.join(got[a0:a1])} -> {' '.join(gold[b0:b1])}"] += 1
    table = np.array(rows, dtype=float)
    return {
        **token_error_rates(table),
        "errors": int(table[:, 0].sum()),
        "tokens": int(table[:, 2].sum()),
        "n_texts": len(rows),
        "commonest": [f"{count} x {what}" for what, count in wrong.most_common(10)],
    }


def config() -> dict[str, Any]:
    """The settings, and keys of the texts, of our swaps of them and of the dictionary.

    The rules count by what they write, not by their source: a faster engine leaves the study as it is.
    """
    sets = {name: load(DATA) for name, load in SETS.items()}
    swaps = {name: [(swap(a), swap(b)) for a, b in pairs] for name, pairs in sets.items()}
    return {**CONFIG, "texts": content_key(sets), "swaps": content_key(swaps), "words": content_key(pairs_of_words())}


def study(kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Measure every system that can be imported.

    Args:
        kept: results of an earlier run on the same texts and words; a peer that cannot be imported keeps its row.

    Returns:
        Per system and set what `measure` gives; ``versions`` of the peers; ``skipped``: why a system has no row.
    """
    sets = {name: load(DATA) for name, load in SETS.items()}
    results: dict[str, Any] = {"n_pairs": {name: len(pairs) for name, pairs in sets.items()}, "skipped": {}}
    results["versions"] = package_versions(["langfair", "nlpaug"])
    for name, build in SYSTEMS.items():
        try:
            rewrite = build()
        except ImportError as error:
            if kept is None or name not in kept:
                results["skipped"][name] = str(error)
            else:
                results[name] = kept[name]
                results["versions"][name] = kept["versions"][name]
            continue
        results[name] = {key: measure(rewrite, pairs) for key, pairs in sets.items()}
    return results


def misses(results: dict[str, Any]) -> list[str]:
    """Which bars the results miss, in words."""
    bars, ours, plain = CONFIG["bars"], results["hf-fairness"], results["dictionary"]
    missed = []
    if ours["winogender"]["exact"] < bars["winogender_exact"]:
        missed.append(f"winogender: {ours['winogender']['exact']:.4f} exact, expected >= {bars['winogender_exact']}")
    for name in ("grep_biasir", "crows_pairs"):
        share = ours[name]["errors"] / plain[name]["errors"]
        if share > bars["share_of_dictionary_errors"]:
            missed.append(f"{name}: {share:.2f} of the dictionary's errors, expected <= 0.5")
    return missed


def table(results: dict[str, Any]) -> str:
    """The table: token error rate with its interval, and without regard to case, per set and system."""
    systems = [name for name in SYSTEMS if name in results]
    head = [f"{name} ({results['n_pairs'][name]} pairs)" for name in SETS]
    lines = ["| token error rate, both ways | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for system in systems:
        cells = []
        for name in SETS:
            row = results[system][name]
            low, high = row["token_error_rate_ci95"]
            rate, uncased = row["token_error_rate"], row["token_error_rate_uncased"]
            case = f", without case {uncased:.4f}" if uncased < rate else ""
            cells.append(f"{rate:.4f} [{low:.4f}, {high:.4f}]{case}")
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Run the study, print a table, write the results."""
    file, settings = RESULTS / "swap_quality.json", config()
    old = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"config": {}, "results": None}
    same = all(old["config"].get(key) == settings[key] for key in ("texts", "words"))
    results = study(old["results"] if same else None)
    for name in SETS:
        print(f"\n{name}: {results['n_pairs'][name]} pairs, both ways")
        for system in (system for system in SYSTEMS if system in results):
            row = results[system][name]
            low, high = row["token_error_rate_ci95"]
            print(
                f"  {system:<18} token error rate {row['token_error_rate']:.4f} [{low:.4f}, {high:.4f}], without case "
                f"{row['token_error_rate_uncased']:.4f}, exact {row['exact']:.3f}"
            )
        print("  commonest errors of ours: " + "; ".join(results["hf-fairness"][name]["commonest"]))
    for system, reason in results["skipped"].items():
        print(f"\n{system} skipped: {reason}")
    missed = misses(results)
    print("\n" + ("\n".join(missed) or "every bar is met"))
    path = write_results(file, settings, results)
    print(f"written to {path.relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
