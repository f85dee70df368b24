"""Word alignment: equal to the original program's links, and right on a language that is known."""

from __future__ import annotations

import gzip
import random
import sys
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.alignment import align, parse_pharaoh, read_pharaoh
from hf_fairness.alignment.fast_align import _cells, fast_align
from hf_fairness.utils import FairnessWarning


def link_f1(found, expected):
    """F1 of links against links."""
    hits = sum(len(set(a) & set(b)) for a, b in zip(found, expected, strict=True))
    return 2 * hits / (sum(map(len, found)) + sum(map(len, expected)))


@pytest.fixture(scope="module", params=["ru", "de"])
def original(request, shared):
    """Words of sources and translations, and the links of the original program."""
    folder = shared / "gold" / "winomt"
    lines = gzip.decompress((folder / f"google-{request.param}.tsv.gz").read_bytes()).decode("utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    links = read_pharaoh(folder / f"google-{request.param}.fast_align.gz")
    return [row[5].split() for row in rows], [row[6].split() for row in rows], links


def test_fast_align_equals_the_original_program(original):
    """The requirement is an F1 of .97; the two oddities of the program make it 1 (without them: .979 and .999)."""
    source, target, links = original
    assert len(links) == 3888
    assert link_f1(align(source, target), links) >= 0.9999


def test_systran_finds_most_links_of_the_original(original):
    pytest.importorskip("systran_align")
    source, target, links = original
    found = align(source, target, aligner="systran")
    # Both directions joined: other links than those of one direction, but mostly the same words.
    assert 0.75 < link_f1(found, links) < 0.99


def planted(seed, n=400, size=40):
    """A language of capitals with neighbours exchanged now and then, and its true links."""
    draw = random.Random(seed)
    sources, targets, links = [], [], []
    for _ in range(n):
        words = draw.sample(range(size), draw.randint(4, 9))
        order = list(range(len(words)))
        if draw.random() < 0.5:
            at = draw.randrange(len(order) - 1)
            order[at], order[at + 1] = order[at + 1], order[at]
        sources.append([f"w{word}" for word in words])
        targets.append([f"W{words[place]}" for place in order])
        links.append([(source, place) for place, source in enumerate(order)])
    return sources, targets, links


@pytest.mark.parametrize("aligner", ["fast_align", "systran"])
def test_a_known_language_is_found(aligner):
    if aligner == "systran":
        pytest.importorskip("systran_align")
    source, target, links = planted(0)
    assert link_f1(align(source, target, aligner=aligner), links) > 0.99
    # The diagonal alone does not do it: without the exchanged words it is right everywhere, with them it is not.
    diagonal = [[(place, place) for place in range(len(words))] for words in source]
    assert link_f1(diagonal, links) < 0.9


WORDS = st.lists(st.sampled_from("abcdef"), max_size=5)


@settings(max_examples=50)
@given(st.lists(st.tuples(WORDS, WORDS), max_size=6))
def test_every_target_word_has_at_most_one_link_in_range(pairs):
    source, target = [a for a, _ in pairs], [b for _, b in pairs]
    found = align(source, target)
    assert found == align(source, target)
    assert len(found) == len(pairs)
    for links, a, b in zip(found, source, target, strict=True):
        ends = [end for _, end in links]
        assert ends == sorted(set(ends))
        assert all(0 <= start < len(a) and 0 <= end < len(b) for start, end in links)


def test_empty_sides_have_no_links_and_change_nothing():
    source, target, _ = planted(1, n=50)
    found = align([[], *source, ["a"]], [["A"], *target, []])
    assert found[0] == found[-1] == []
    assert found[1:-1] == align(source, target)
    assert align([], []) == []


def test_long_pairs_are_left_out_and_counted():
    """A text of 3,000 words would weigh 9 million pairs of words."""
    source, target, _ = planted(1, n=50)
    long = [f"w{place}" for place in range(3000)]
    with pytest.warns(FairnessWarning, match=r"2 of 52 pairs have more than 250 words on a side \(up to 3000\)"):
        found = align([long, *source, ["a"]], [["W"], *target, ["W"] * 251])
    assert found[0] == found[-1] == []
    assert found[1:-1] == align(source, target)
    with pytest.warns(FairnessWarning, match="1 of 1 pairs"):
        assert fast_align([long], [long]) == [[]]
    with pytest.warns(FairnessWarning, match="more than 4 words on a side"):
        assert sum(map(bool, fast_align(source, target, max_words=4))) == sum(len(words) <= 4 for words in source) > 0


def test_as_many_pairs_of_words_as_the_text_has_words_at_most():
    """What time and memory go by grows with the text, whether by rows or by their length."""
    words = ["w"] * 250
    for rows in (1, 4, 16):
        cells = _cells([words] * rows, [words] * rows)
        assert len(cells.word) == 251 * 250 * rows


def test_null_word_takes_what_has_no_source():
    """A word that every sentence has, whatever its source, is aligned with none."""
    source, target, _ = planted(2)
    found = fast_align(source, [[*words, "!"] for words in target], null_probability=0.3)
    linked = sum(any(end == len(words) for _, end in links) for links, words in zip(found, target, strict=True))
    assert linked < 0.05 * len(source)


def test_an_aligner_of_your_own():
    found = align([["a"], []], [["A", "B"], ["C"]], aligner=lambda source, target: [[(0, 1)] for _ in source])
    assert found == [[(0, 1)], []]


def test_eflomal_is_named_when_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(ImportError, match="pip install eflomal"):
        align([["a"]], [["A"]], aligner="eflomal")


@pytest.mark.skipif(find_spec("eflomal") is None, reason="needs eflomal, which is under the GPL and built from source")
def test_eflomal_finds_most_links_of_the_original(original):
    source, target, links = original
    assert 0.75 < link_f1(align(source, target, aligner="eflomal"), links) < 0.99


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        ([["a"]], [], {}, "1 and 0 sentences"),
        (["a b"], [["A"]], {}, "string 'a b'"),
        ([["a"]], [["A"]], {"aligner": "giza"}, "Unknown aligner 'giza'"),
    ],
)
def test_errors_name_what_came(source, target, options, message):
    with pytest.raises(ValueError, match=message):
        align(source, target, **options)


@pytest.mark.parametrize(
    "options", [{"iterations": 0}, {"null_probability": 1.0}, {"tension": 0.0}, {"alpha": 0.0}, {"max_words": 0}]
)
def test_options_have_ranges(options):
    with pytest.raises(ValueError, match="iterations >= 1"):
        fast_align([["a"]], [["A"]], **options)


def test_pharaoh_files(tmp_path):
    text = "0-0 1-2\n\n10-11\n"
    (tmp_path / "links").write_text(text)
    (tmp_path / "links.gz").write_bytes(gzip.compress(text.encode()))
    expected = [[(0, 0), (1, 2)], [], [(10, 11)]]
    assert read_pharaoh(tmp_path / "links") == read_pharaoh(tmp_path / "links.gz") == expected


@pytest.mark.parametrize("bad", ["0:0", "a-0", "0-", "-1-2"])
def test_pharaoh_errors_name_the_line(bad):
    with pytest.raises(ValueError, match="Line 2"):
        parse_pharaoh(["0-0", bad])
