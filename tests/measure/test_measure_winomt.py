"""WinoMT from translations: rows, words for the person, alignments, quality beside it, comparison."""

from __future__ import annotations

import numpy
import pandas
import pytest
from datasets import Dataset

from hf_fairness.measure.translator.winomt import WinoMTConfig, winomt
from hf_fairness.measure.translator.winomt_data import (
    as_rows,
    clusters_of,
    person_indices,
    read_translations,
    read_winomt,
)
from hf_fairness.scores.translation_quality import translation_quality
from hf_fairness.utils import FairnessWarning

SENTENCE = "The developer argued with the designer because {} did not like the design."
ROWS = [
    {"gender": "female", "target_index": 1, "sentence": SENTENCE.format("she"), "profession": "developer"},
    {"gender": "male", "target_index": 1, "sentence": SENTENCE.format("he"), "profession": "developer"},
    {"gender": "female", "target_index": 5, "sentence": SENTENCE.format("she"), "profession": "designer"},
]
GERMAN = [
    "Die Entwicklerin stritt mit dem Designer, weil sie das Design nicht mochte.",
    "Der Entwickler stritt mit dem Designer, weil er das Design nicht mochte.",
    "Der Entwickler stritt mit der Designerin, weil sie das Design nicht mochte.",
]
LINKS = ["0-0 1-1", "0-0 1-1", "4-4 5-5"]


@pytest.fixture
def files(tmp_path):
    """Files in the published formats."""
    lines = [f"{row['gender']}\t{row['target_index']}\t{row['sentence']}\t{row['profession']}" for row in ROWS]
    (tmp_path / "en.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "en_anti.txt").write_text(lines[0] + "\n", encoding="utf-8")
    (tmp_path / "en_pro.txt").write_text(lines[1] + "\n", encoding="utf-8")
    pairs = [f"{row['sentence']} ||| {text}" for row, text in zip(ROWS, GERMAN, strict=True)]
    (tmp_path / "de.txt").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("rules", ["original", "agreement"])
def test_given_links_and_rules(rules):
    result = winomt(GERMAN, ROWS, lang="de", alignments=LINKS, rules=rules, items=True)
    assert result["accuracy"] == 1.0
    assert result["aligner"] == "given"
    assert (result["lang"], result["rules"]) == ("de", rules)
    assert [item["words"] for item in result["items"]] == ["Die Entwicklerin", "Der Entwickler", "der Designerin,"]
    assert [item["predicted"] for item in result["items"]] == ["female", "male", "female"]
    assert result["alignment_failure_rate"] == 0.0
    assert result["professions"]["designer"]["n"] == 1


def test_links_may_be_pairs_and_their_order_is_of_the_source():
    pairs = [[(1, 1), (0, 0)], [(1, 1)], []]
    result = winomt(GERMAN, ROWS, lang="de", alignments=pairs, rules="agreement", items=True)
    assert [item["words"] for item in result["items"]] == ["Die Entwicklerin", "Entwickler", ""]
    assert result["items"][2]["predicted"] == "unknown"
    assert result["alignment_failure_rate"] == result["unknown_rate"] == 1 / 3


def test_an_aligner_of_your_own_and_a_tagger_by_kind():
    def first_words(source, target):
        return [[(place, place) for place in range(min(len(a), len(b)))] for a, b in zip(source, target, strict=True)]

    result = winomt(GERMAN, ROWS, lang="de", aligner=first_words, tagger="articles", rules="agreement")
    assert result["aligner"] == "first_words"
    assert "articles" in result["tagger"]
    assert result["accuracy"] == 1.0


def test_few_rows_are_aligned_with_a_warning():
    with pytest.warns(FairnessWarning, match="fast_align learned to align from 3 rows only"):
        result = winomt(GERMAN, ROWS, lang="de")
    assert result["aligner"] == "fast_align"


def test_rows_from_the_published_files(files):
    rows = read_winomt(files / "en.txt")
    assert [row["stereotype"] for row in rows] == ["anti", "pro", ""]
    assert [{key: row[key] for key in ROWS[0]} for row in rows] == ROWS
    assert [row["stereotype"] for row in read_winomt(files / "en_pro.txt")] == ["pro"]
    (files / "en_anti.txt").write_text((files / "en_pro.txt").read_text(encoding="utf-8"), encoding="utf-8")
    both = read_winomt(files / "en.txt")
    assert [row["stereotype"] for row in both] == ["", "both", ""]
    found = winomt(GERMAN, both, lang="de", alignments=LINKS)
    assert found["accuracy_pro"] == found["accuracy_anti"] == 1.0
    (files / "en_anti.txt").unlink()
    assert [row["stereotype"] for row in read_winomt(files / "en.txt", pro=files / "en_pro.txt")] == ["", "pro", ""]
    translations = read_translations(files / "de.txt")
    assert translations == GERMAN
    assert winomt(translations, rows, lang="de", alignments=LINKS)["delta_s_accuracy"] == 0.0


@pytest.mark.parametrize("line", ["female\t1\tA sentence.", "female\tone\tA sentence.\tclerk"])
def test_errors_in_files_name_the_line(tmp_path, line):
    (tmp_path / "en.txt").write_text(f"male\t1\tThe clerk left.\tclerk\n{line}\n")
    with pytest.raises(ValueError, match="line 2: expected gender"):
        read_winomt(tmp_path / "en.txt")
    (tmp_path / "de.txt").write_text("a ||| b\na | b\n")
    with pytest.raises(ValueError, match="line 2: expected 'source"):
        read_translations(tmp_path / "de.txt")


def test_the_published_files(shared):
    folder = shared / "data" / "winomt"
    rows = read_winomt(folder / "en.txt")
    assert len(rows) == 3888
    # The file holds the anti-stereotypical rows, then the pro-stereotypical ones, then those without a stereotype.
    assert [row["stereotype"] for row in rows] == ["anti"] * 1584 + ["pro"] * 1584 + [""] * 720
    assert all(row["stereotype"] == "pro" for row in read_winomt(folder / "en_pro.txt"))
    for row, indices in zip(rows, person_indices(rows), strict=True):
        words = row["sentence"].lower().split()
        assert words[indices[-1]].strip(".,'s") in row["profession"].lower() + "s"
        assert len(indices) == 1 or words[indices[0]] in ("the", "a", "an")
    labels = clusters_of(rows, "sentence")
    # Each WinoBias sentence stands there in its male and in its female version; 19 of them differ in other words too.
    assert sum(labels[place] == labels[place + 1584] for place in range(1584)) == 1584 - 19


def test_rows_in_other_shapes():
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    expected = winomt(GERMAN, ROWS, lang="de", alignments=LINKS)
    assert winomt(GERMAN, columns, lang="de", alignments=LINKS) == expected
    assert winomt(GERMAN, Dataset.from_list(ROWS), lang="de", alignments=LINKS) == expected
    assert (
        winomt(GERMAN, [row | {"more": 1, "stereotype": None} for row in ROWS], lang="de", alignments=LINKS) == expected
    )
    with pytest.raises(ValueError, match="differ in length"):
        as_rows({"gender": ["male"], "sentence": []})
    with pytest.raises(TypeError, match="read_winomt"):
        as_rows(["male"])


def test_clusters():
    by_sentence = clusters_of(ROWS, "sentence")
    assert by_sentence[0] == by_sentence[1]  # versions of one sentence
    assert clusters_of(ROWS, "profession") == ["developer", "developer", "designer"]
    assert clusters_of(ROWS, "row") is None
    assert clusters_of([{"gender": "male"}], "sentence") is None
    with pytest.raises(ValueError, match="'sentence', 'profession', 'row'"):
        clusters_of(ROWS, "verb")
    result = winomt(GERMAN, ROWS, lang="de", alignments=LINKS)
    assert (result["meta"]["clusters"], result["meta"]["n_clusters"]) == ("sentence", 1)


def test_comparison_of_two_systems():
    male = [GERMAN[1]] * 3
    result = winomt(
        GERMAN, ROWS, lang="de", alignments=LINKS, compare_to=male, compare_alignments=LINKS, clusters="row"
    )
    found = result["comparison"]["accuracy"]
    assert (found["a"], found["b"]) == (1.0, 1 / 3)
    assert found["p_value"] == 0.5  # two rows differ, both in favour of a: 2 / 4
    swapped = winomt(
        male, ROWS, lang="de", alignments=LINKS, compare_to=GERMAN, compare_alignments=LINKS, clusters="row"
    )
    assert swapped["comparison"]["accuracy"]["difference"] == -found["difference"]


def test_quality_is_that_of_sacrebleu():
    sacrebleu = pytest.importorskip("sacrebleu")
    references = [GERMAN[0], GERMAN[1].replace("stritt", "haderte"), GERMAN[2]]
    result = winomt(GERMAN, ROWS, lang="de", alignments=LINKS, reference_translations=references)
    found = result["translation_quality"]
    assert found["bleu"] == pytest.approx(sacrebleu.corpus_bleu(GERMAN, [references]).score / 100)
    assert found["chrf"] == pytest.approx(sacrebleu.corpus_chrf(GERMAN, [references]).score / 100)
    assert found["bleu_ci95"] == [found["bleu"]] * 2  # the three rows are versions of one sentence
    assert "tok:13a" in found["signatures"]["bleu"]
    worse = [text.replace("nicht", "") for text in GERMAN]
    compared = translation_quality(GERMAN, references, compare_to=worse)
    low, high = compared["comparison"]["bleu"]["difference_ci95"]
    assert 0 < low <= compared["comparison"]["bleu"]["difference"] <= high
    assert compared["comparison"]["chrf"]["b"] == translation_quality(worse, references)["chrf"]


def test_config_and_options():
    config = WinoMTConfig(alignments=LINKS, rounding="original", n_bootstrap=10)
    assert winomt(GERMAN, ROWS, lang="de", config=config) == winomt(
        GERMAN, ROWS, lang="de", alignments=LINKS, rounding="original", n_bootstrap=10
    )
    assert winomt(GERMAN, ROWS, lang="de", config=config, seed=3)["meta"]["seed"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lang": None}, "give lang='de'"),
        ({"lang": "xx"}, "Known languages"),
        ({"predictions_are": "labels"}, "'translations' or 'genders'"),
        ({"align": "fast_align"}, "no option 'align'"),
        ({"alignments": LINKS[:2]}, "got 2 for 3 rows"),
        ({"alignments": [*LINKS[:2], "5-99"]}, r"alignments\[2\] links word 5 of 13 with word 99 of 12"),
        ({"compare_to": GERMAN[:2]}, "compare_to needs one entry per row"),
        ({"reference_translations": GERMAN[:1]}, "got 1 for 3"),
        ({"tagger": "none"}, "No tagger of kind 'none'"),
        ({"rules": "none"}, "rules"),
    ],
)
def test_errors_name_what_came(options, message):
    with pytest.raises(ValueError, match=message):
        winomt(GERMAN, ROWS, **({"lang": "de", "alignments": LINKS} | options))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"gender": "male"}, "no 'sentence'"),
        (ROWS[0] | {"target_index": 13}, "target_index 13 lies outside"),
        (ROWS[0] | {"target_index": -1}, "target_index -1 lies outside"),
        ({key: value for key, value in ROWS[0].items() if key != "gender"}, "no 'gender'"),
    ],
)
def test_errors_in_rows_name_the_row(row, message):
    with pytest.raises(ValueError, match=message):
        winomt(GERMAN[:1], [row], lang="de", alignments=LINKS[:1])


NAN = float("nan")


@pytest.mark.parametrize("nothing", [None, NAN, pandas.NA])
def test_missing_values_are_told_or_count_as_not_known(nothing):
    for name in ("gender", "sentence", "target_index"):
        with pytest.raises(ValueError, match=rf"references\[1\] has no '{name}': it is"):
            winomt(GERMAN, [ROWS[0], ROWS[1] | {name: nothing}, ROWS[2]], lang="de", alignments=LINKS)
    open_rows = [row | {"stereotype": "pro", "profession": nothing} for row in ROWS]
    open_rows[0] |= {"stereotype": nothing}
    found = winomt(GERMAN, open_rows, lang="de", alignments=LINKS)
    assert found["professions"] == {}
    assert (found["accuracy_pro"], found["accuracy_anti"]) == (1.0, None)
    with pytest.raises(ValueError, match=r"predictions\[0\] is .*; expected a text"):
        winomt([nothing, *GERMAN[1:]], ROWS, lang="de", alignments=LINKS)
    with pytest.raises(ValueError, match=r"compare_to\[2\] is .*; expected a text"):
        winomt(GERMAN, ROWS, compare_to=[*GERMAN[:2], nothing], lang="de", alignments=LINKS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"target_index": 1.5}, r"references\[0\]: target_index 1.5 lies outside .* whole number"),
        ({"target_index": "x"}, "target_index x lies outside"),
        ({"target_index": float("inf")}, "target_index inf lies outside"),
        ({"sentence": 3}, r"references\[0\]: 'sentence' is 3; expected a text"),
        ({"profession": 2.0}, r"'profession' is 2.0; expected a text"),
        ({"stereotype": "half"}, r"stereotypes\[0\] is 'half'; expected one of 'pro', 'anti', 'both', ''"),
    ],
)
def test_other_values_are_told(row, message):
    with pytest.raises(ValueError, match=message):
        winomt(GERMAN, [ROWS[0] | row, *ROWS[1:]], lang="de", alignments=LINKS)


def test_an_index_may_be_a_whole_number_of_any_type():
    expected = winomt(GERMAN, ROWS, lang="de", alignments=LINKS)
    for kind in (float, str, numpy.int64):
        rows = [row | {"target_index": kind(row["target_index"])} for row in ROWS]
        assert winomt(GERMAN, rows, lang="de", alignments=LINKS) == expected


def test_ready_genders_have_no_translation_quality():
    with pytest.raises(ValueError, match="ready genders"):
        winomt(["male"] * 3, ROWS, predictions_are="genders", reference_translations=GERMAN)


def test_lines_of_files_end_at_line_ends_alone(tmp_path):
    """A model may write other separators; Windows writes a mark at the beginning and its own line ends."""
    path = tmp_path / "en-de.txt"
    path.write_bytes("\ufeffA ||| Eine\u2028 Zeile\r\nB ||| Zwei\x0b\r\n".encode())
    assert read_translations(path) == ["Eine\u2028 Zeile", "Zwei"]
    (tmp_path / "en.txt").write_bytes("\ufefffemale\t1\tThe cook\u0085 left.\tcook\r\n".encode())
    assert [row["gender"] for row in read_winomt(tmp_path / "en.txt")] == ["female"]


@pytest.mark.parametrize("given", ["alignments", "compare_alignments"])
def test_two_systems_are_compared_under_one_aligner(given):
    def aligner(sources, targets):
        raise AssertionError("nothing is aligned before the refusal")

    with pytest.raises(ValueError, match=f"got {given}=, expected .*alignments= too, or neither"):
        winomt(GERMAN, ROWS, lang="de", compare_to=GERMAN, aligner=aligner, **{given: LINKS})
    with pytest.raises(ValueError, match="compare_to needs one entry per row; got 2 for 3 rows"):
        winomt(GERMAN, ROWS, lang="de", compare_to=GERMAN[:2], aligner=aligner, **{given: LINKS})
