"""The GFST recipe end to end on a tiny Marian: from scratch with every variant, sizes, steps, control, drops."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from datasets import load_from_disk
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_fairness.measure.translator.translation import translate
from hf_fairness.record import Record
from hf_fairness.report import summarize
from hf_fairness.trainers import run_gfst
from support import gfst_world
from support.gfst_case import arguments, config, shows
from support.manifest import stages
from support.record_case import through_json, verdicts

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:fast_align learned to align")]
ARMS = ["randst", "no_target_filter", "female"]
SIZE, TIMES = 40, 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory, lexicon, parallel, texts):
    """A run from scratch with every arm: its folder and its report."""
    out = tmp_path_factory.mktemp("whole")
    own = arguments(lexicon, arms=ARMS, upsample=TIMES, max_pairs=SIZE)
    test = gfst_world.pairs(40, 9, noise=0.0)
    rows = {"winomt_rows": gfst_world.winomt_rows(), "test": test}
    return out, run_gfst(own, parallel, texts, config=config(out, average_checkpoints=2), **rows)


def test_the_source_filter_keeps_sentences_of_one_gender(whole, texts):
    out, report = whole
    rows = load_from_disk(str(out / "filter_source"))
    pronoun = {"male": "he", "female": "she"}
    assert all(pronoun[row["source_gender"]] in row["text"].split() for row in rows)
    numbers = report["data"]["filter_source"]
    assert numbers["n"] == len(texts)
    assert numbers["reasons"] == {"empty": 2, "encoding": 1, "mixed": 1, "none": 1, "too_long": 1}
    assert sum(numbers["by_group"].values()) == len(rows) == 300


def test_the_target_filter_drops_the_wrong_genders(whole):
    """First the harm: the initial model makes wrong pairs; none of them is among the balanced ones."""
    out, report = whole
    translated = load_from_disk(str(out / "translate"))
    wrong = [row for row in translated if not shows(row["target"], row["source_gender"])]
    assert len(wrong) >= 5
    balanced = load_from_disk(str(out / "balance"))
    assert all(shows(row["target"], row["source_gender"]) for row in balanced)
    dropped = report["data"]["filter_target"]["by_gender"]["female"]["reasons"]
    assert dropped["opposite_gender"] >= 5


def test_groups_are_balanced_exactly(whole):
    out, report = whole
    balanced = load_from_disk(str(out / "balance"))
    assert Counter(balanced["source_gender"][:]) == {"male": SIZE, "female": SIZE}
    assert report["data"]["balance"]["per_group"] == SIZE
    translated = {(row["source"], row["target"]) for row in load_from_disk(str(out / "translate"))}
    assert {(row["source"], row["target"]) for row in balanced} <= translated


def test_random_pairs_are_as_many_and_unfiltered(whole, texts):
    out, _ = whole
    rows = load_from_disk(str(out / "randst"))
    assert len(rows) == 2 * SIZE
    assert set(rows["source"][:]) <= set(texts["text"][:])
    assert any(not shows(row["target"], "female") and "she" in row["source"].split() for row in rows)


def test_arms_have_the_sizes_and_steps_they_should(whole, parallel):
    _, report = whole
    arms, n = report["arms"], len(parallel)
    assert list(arms) == ["baseline", "gfst", "control", *ARMS]
    assert arms["baseline"]["steps"] == 120
    assert {name: arms[name]["n_pairs"] for name in arms} == {
        "baseline": 0, "gfst": 2 * SIZE, "control": 0, "randst": 2 * SIZE, "no_target_filter": 2 * SIZE, "female": SIZE
    }  # fmt: skip
    assert arms["gfst"]["steps"] == round(120 * (n + TIMES * 2 * SIZE) / n)
    assert arms["female"]["steps"] == round(120 * (n + TIMES * SIZE) / n)
    assert arms["control"]["steps"] == arms["randst"]["steps"] == arms["gfst"]["steps"]
    assert arms["gfst"]["history"]["n"] == n + TIMES * 2 * SIZE
    assert arms["control"]["history"]["n"] == n
    assert all(len(arm["history"]["averaged"]["steps"]) == 2 for arm in arms.values())


def test_every_model_is_measured_and_compared(whole):
    _, report = whole
    others = ["baseline", "control", *ARMS]
    results, pairs = report["results"], {f"gfst - {other}" for other in others}
    assert set(results["winomt"]) == {"gfst", *others} == set(results["test"])
    assert set(report["comparisons"]["winomt"]) == pairs == set(report["comparisons"]["test"])
    for name, scores in results["winomt"].items():
        assert 0.5 <= scores["accuracy"] <= 1.0, name
        assert scores["accuracy_ci95"] is not None
        gap = report["comparisons"]["winomt"].get(f"gfst - {name}", {}).get("delta_r")
        if gap is not None:
            assert gap["a"] == pytest.approx(report["results"]["winomt"]["gfst"]["delta_r"])
            assert gap["b"] == pytest.approx(scores["delta_r"])
    assert report["results"]["winomt"]["baseline"]["delta_r"] > 0.05  # there was something to reduce
    assert "version:" in report["results"]["test"]["gfst"]["signatures"]["bleu"]
    assert set(report["explained"]) == {"accuracy", "delta_g", "delta_r"}
    assert report["results"]["winomt"]["gfst"]["tagger"].startswith("lexicon")


def test_the_run_leaves_what_was_promised(whole, lexicon):
    out, report = whole
    made = stages(out)
    assert all(stage["status"] == "done" for stage in made.values())
    for name in ("parallel", "filter_source", "translate", "filter_target", "balance", "randst"):
        assert (out / name / "README.md").read_text().startswith("---\n"), name
        assert len(load_from_disk(str(out / name))) > 0
    assert "opposite" in (out / "filter_target" / "README.md").read_text()
    for name in ("initial", "train_gfst", "train_control"):
        assert "steps" in (out / name / "model" / "README.md").read_text()
        assert {path.name for path in (out / name).iterdir()} == {"model"}  # no checkpoints, no copies of the data
    assert set(report["files"]) == {"json", "markdown", "html", "results", "kept"}
    assert set(report["files"].values()) == set((out / "report").iterdir())
    written = json.loads(report["files"]["results"].read_text())
    assert written["results"]["winomt"] == report["results"]["winomt"]
    record = json.loads(report["files"]["json"].read_text())
    assert Record.from_json(record).to_json() == record == report["record"].to_json()
    published = [path for folder in ("model", "report") for path in (out / folder).rglob("*") if path.is_file()]
    assert not [path.name for path in published if str(out).encode() in path.read_bytes()]
    assert not [path.name for path in published if lexicon.encode() in path.read_bytes()]
    card = (out / "model" / "README.md").read_text()
    assert "model-index:" in card
    assert "Got worse" in card
    assert "pipeline_tag: translation" in card


def test_the_model_opens_and_translates(whole):
    out, _ = whole
    model = AutoModelForSeq2SeqLM.from_pretrained(str(out / "model"))
    tokenizer = AutoTokenizer.from_pretrained(str(out / "model"))
    texts = [row["sentence"] for row in gfst_world.winomt_rows()[:20]]
    found = translate(model, tokenizer, texts, num_beams=1)
    assert found == json.loads((out / "predict_gfst" / "translations.json").read_text())["winomt"][:20]
    assert any(shows(text, "male") for text in found)


def test_the_record_has_the_numbers_of_the_result_and_judges_them(whole):
    """Where a gap keeps its sign, the paired interval decides, and nearer to the ideal is better."""
    _, report = whole
    record = through_json(report["record"])
    keys = {f"winomt/{key}" for key in ("accuracy", "delta_g", "delta_r", "f1_male", "f1_female")}
    assert {measure.id for measure in record.measures} >= keys | {"test/bleu", "test/chrf"}
    for measure in record.measures:
        scores = report["results"][measure.id.split("/")[0]]
        assert {arm: (value.value, list(value.ci95 or ())) for arm, value in measure.values.items()} == {
            arm: (each[measure.metric], each.get(f"{measure.metric}_ci95") or []) for arm, each in scores.items()
        }
    found, by_id = verdicts(record), {measure.id: measure for measure in record.measures}
    checked = set()
    for part, pairs in report["comparisons"].items():
        for names, gaps in pairs.items():
            other = names.removeprefix("gfst - ")
            for key, gap in gaps.items():
                measure, ends = by_id.get(f"{part}/{key}"), gap["difference_ci95"]
                if measure is None or ends is None or (measure.ideal == 0 and gap["a"] * gap["b"] <= 0):
                    continue
                nearer = abs(measure.ideal - gap["a"]) < abs(measure.ideal - gap["b"])
                wanted = "unclear" if ends[0] <= 0 <= ends[1] else "improved" if nearer else "worse"
                assert found[measure.id, "gfst", other] == wanted, (measure.id, other)
                checked.add(wanted)
    assert len(checked) > 1


def test_what_got_worse_and_every_other_model_stand_in_the_report(whole):
    _, report = whole
    record, summary = report["record"], summarize(report["record"])
    written = report["files"]["markdown"].read_text()
    against = {key[0] for key, kind in verdicts(record).items() if key[2] == "baseline" and kind == "worse"}
    assert len(summary.worse) == len(against)
    assert {arm.role for arm in record.arms} == {"original", "method", "control", "rival", "variant"}
    for arm in record.arms:
        assert f"- {arm.title}: {arm.about}" in written
    heads = [f"**{title}**" for title in ("Got worse", "Improved", "Beside the others")]
    places = [written.index(head) for head in (*heads, "### Models", "### Measurements")]
    assert places == sorted(places)
    for stage in ("filter source", "filter target", "balance", "randst"):
        assert f"| {stage} |" in written
