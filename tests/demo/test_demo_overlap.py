"""No five words in a row of the demo's texts stand in the sets that evaluate what was trained on them."""

from __future__ import annotations

import csv
import re

from hf_fairness.demo import frames, plain_sentences, triple_frames, variants
from hf_fairness.demo._filling import GROUP_SLOT, fillings, load_frames, realize

WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
N = 5
# Verb forms that also stand in the group slots of the triples; they say nothing about gender.
NOT_GENDERED = {"is", "are", "was", "were", "has", "have", "of"}


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def grams(tokens: list[str]) -> set[tuple[str, ...]]:
    return {tuple(tokens[i : i + N]) for i in range(len(tokens) - N + 1)}


def corpus_in_both_groups() -> list[str]:
    patterns, lists = load_frames("frames.json")
    return [realize(text, group) for frame in patterns for text in fillings(frame, lists, 8) for group in (0, 1)]


def audit_texts() -> list[str]:
    return [text for column in variants().values() for text in column]


def winogender(shared) -> list[str]:
    lines = (shared / "data/winogender/all_sentences.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines[1:]]


def grep_biasir(shared) -> list[str]:
    texts = []
    for path in sorted((shared / "data/grep_biasir").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                texts += [row[column] for column in ("query", "doc_title", "document") if row.get(column)]
    return texts


def overlap(texts: list[str], others: list[str]) -> dict[tuple[str, ...], str]:
    known = set().union(*(grams(words(other)) for other in others))
    return {gram: text for text in texts for gram in grams(words(text)) & known}


def test_none_shared_with_winogender(shared):
    reference = winogender(shared)
    assert len(reference) == 720
    assert not overlap(corpus_in_both_groups() + audit_texts(), reference)


def test_none_shared_with_grep_biasir(shared):
    reference = grep_biasir(shared)
    assert len(reference) > 1000
    assert not overlap(corpus_in_both_groups() + audit_texts(), reference)


def gendered_forms() -> set[str]:
    """Every form that stands in a group slot of the corpus or the triples."""
    texts = [frame.text for frame in (*frames(), *triple_frames())]
    for name in ("frames.json", "triples.json"):
        texts += [option for lists in load_frames(name)[1].values() for options in lists.values() for option in options]
    slots = [slot for text in texts for slot in GROUP_SLOT.findall(text)]
    return {word for slot in slots for form in slot.split("|") for word in words(form)} - NOT_GENDERED


def masked_grams(text: str, forms: set[str]) -> set[tuple[str, ...]]:
    return grams(["*" if word in forms or word.split("'")[0] in forms else word for word in words(text)])


def test_none_shared_between_corpus_and_triples_even_with_gendered_words_masked():
    forms = gendered_forms()
    assert {"she", "their", "landlady", "salesperson"} <= forms
    known = set().union(*(masked_grams(text, forms) for text in corpus_in_both_groups()))
    assert not {gram: text for text in audit_texts() for gram in masked_grams(text, forms) & known}


def test_plain_sentences_share_none_with_winogender_and_grep_biasir(shared):
    assert not overlap(plain_sentences(), winogender(shared))
    assert not overlap(plain_sentences(), grep_biasir(shared))


def test_plain_sentences_share_none_with_corpus_and_triples_even_with_gendered_words_masked():
    others = corpus_in_both_groups() + audit_texts()
    assert not overlap(plain_sentences(), others)
    forms = gendered_forms()
    known = set().union(*(masked_grams(text, forms) for text in others))
    assert not {gram: text for text in plain_sentences() for gram in masked_grams(text, forms) & known}


def test_the_check_finds_a_planted_copy():
    text = corpus_in_both_groups()[0]
    assert overlap([text], [f"It is known that {text}"])
    assert masked_grams(text, gendered_forms()) & masked_grams(corpus_in_both_groups()[1], gendered_forms())


def test_gendered_words_stand_in_slots_only():
    """A gendered word outside the slots would be the same in the male and the female form of a sentence."""
    lists = load_frames("frames.json")[1]
    texts = [frame.text for frame in frames()]
    texts += [option for own in lists.values() for options in own.values() for option in options]
    pairs = [slot.split("|") for text in texts for slot in GROUP_SLOT.findall(text)]
    gendered = set().union(*(set(words(male)) ^ set(words(female)) for male, female in pairs))
    assert {"he", "her", "aunt", "landlord", "ms"} <= gendered
    outside = set(words(" . ".join(GROUP_SLOT.sub(" ", text) for text in texts)))
    assert not outside & gendered
