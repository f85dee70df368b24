"""Rules of the engine that no other test shows: each with a sentence on both sides of the line."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import apply_edits, parse_edits, rendering, swap
from hf_fairness.augment.edits import Edit, dump_edits
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.lexicon import TermFinder
from hf_fairness.augment.rendering import render, write

BOTH = {"male": "female", "female": "male"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("Her and her friends went home.", "Him and his friends went home."),
        ("He thanked her and his team.", "She thanked his and her team."),
        ("It keeps giving her night terrors.", "It keeps giving him night terrors."),
        ("They gave her final interviews in June.", "They gave his final interviews in June."),
        ("We have seen her trash her brand.", "We have seen him trash his brand."),
        ("We have seen her trash.", "We have seen his trash."),
        ("Photos showed her slumped forward.", "Photos showed him slumped forward."),
        ("Photos showed her bed in the corner.", "Photos showed his bed in the corner."),
        ("I write to her daily.", "I write to him daily."),
        ("I know her daily routine.", "I know his daily routine."),
        ("She broke her four times.", "He broke him four times."),
        ("She met her four sons.", "He met his four daughters."),
        ('The season has "Man in a Hurry," and more.', 'The season has "Man in a Hurry," and more.'),
        ('"Man is in a hurry," she said.', '"Woman is in a hurry," he said.'),
        ("Ten Things Women Make And Men Hate · 1. Flip flops", "Ten Things Men Make And Women Hate · 1. Flip flops"),
        ("Everyone has his or her own way.", "Everyone has her or his own way."),
        ("Womens fashion for men", "Mens fashion for women"),
    ],
)
def test_rules(source, wanted):
    assert swap(source) == wanted


def test_edits_of_several_columns_say_theirs():
    edits = [Edit(0, 3, "She", "He", "female->male", "premise"), Edit(0, 2, 'h"', "é", "male->female")]
    text = dump_edits(edits)
    assert parse_edits(text) == edits
    assert [sorted(item) for item in json.loads(text)] == [
        ["column", "direction", "from", "span", "to"],
        ["direction", "from", "span", "to"],
    ]
    for broken in ('[{"span": [1], "from": "", "to": "", "direction": ""}]', '[{"span": [1, 2, 3]}]'):
        with pytest.raises(ValueError, match="Not a value of an `edits` column"):
            parse_edits(broken)


def test_the_words_find_what_the_expression_finds(shared):
    """Real news: looking words up gives the same places as the regular expression over every letter."""
    lines = (shared / "data" / "gfst" / "news.2017.MALE.en-it.en").read_text(encoding="utf-8").splitlines()[:4_000]
    lines += ["@he said", "his.com and hers.net", "see http://x.org/he", "first lady", "Mother Nature", "he-man he"]
    lines += [
        "&quot; he said &quot; he",
        "&him; he",
        "R & D: he",
        "&he",
        "he&#39;s",
        "a\0he b",
        "\0",
        "she \ud800 he",
        "x_y he",
    ]
    finder: TermFinder = engine_for(load_attribute("gender"))._terms
    assert [finder.find(*each) for each in zip(lines, finder.plain(lines), strict=True)] == list(
        map(finder.find, lines)
    )
    quick = 0
    for line in lines:
        hits, _, words, _ = finder.find(line)
        assert hits == finder._search(line), line
        quick += line.isascii() and bool(words)
    assert quick > 3_000


def test_what_is_written_is_what_is_rendered(shared, monkeypatch):
    lines = (shared / "data" / "gfst" / "news.2017.FEMALE.en-he.en").read_text(encoding="utf-8").splitlines()[:4_000]
    lines += ["an actress and a waiter", "he or she", "men and women", "A heroine or a hero.", "his or hers"]
    engine, rendered = engine_for(load_attribute("gender")), []

    def counted(*arguments):
        rendered.append(arguments)
        return render(*arguments)

    monkeypatch.setattr(rendering, "render", counted)
    for targets in (BOTH, {"female": "male"}, {"male": "female"}):
        for line in lines:
            hits, scan = engine.find(line)
            text, record = write(line, hits, scan, targets)
            wanted, edits = render(line, hits, scan, targets)
            assert (text, record) == (wanted, dump_edits(edits))
            assert apply_edits(line, edits) == text
    assert 0.9 < 1 - len(rendered) / (3 * len(lines)) < 1  # most texts without edits being made first


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("My fiancée left him.", "My fiancé left her."),
        ("The fiancés of Kéman and Mané met her.", "The fiancées of Kéman and Mané met him."),
    ],
)
def test_a_decomposed_text_has_the_terms_of_the_composed_one(source, wanted):
    assert swap(source) == wanted
    assert normalize("NFC", swap(normalize("NFD", source))) == wanted
    assert load_attribute("gender").counts(normalize("NFD", source)) == load_attribute("gender").counts(source)
