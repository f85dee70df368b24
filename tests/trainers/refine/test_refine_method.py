"""`hf-fairness refine` on pairs of a small world and a tiny encoder: arms, sets, report, seeds, resume."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from datasets import Dataset, load_dataset

from hf_fairness.cli import command
from hf_fairness.record import Record
from hf_fairness.refine import subtract
from support import refine_case
from support.kill_world import write_csv

pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning"),  # the world is tiny
]


def stages(out):
    return {each["stage"]: each["started"] for each in json.loads((out / "manifest.json").read_text())["stages"]}


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> list[str]:
    return refine_case.make_words(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def run(words, tmp_path_factory):
    """Every refinement at one percentile, with texts and a set of pairs with scores."""
    out = tmp_path_factory.mktemp("run") / "out"
    columns = refine_case.rows(30, seed=1, kind="score")
    names = {"premise": "sentence1", "hypothesis": "sentence2", "score": "score"}
    sts = write_csv(out.parent / "sts.csv", {names[name]: values for name, values in columns.items()})
    result = command("refine")(
        [*words, "--percentiles", "80", "--sts_pairs", sts, "--show_texts", "2", "--output_dir", str(out)]
    )
    return out, result


def test_the_arms_and_what_they_are_compared_with(run):
    out, _result = run
    record = Record.from_json(json.loads((out / "report" / "record.json").read_text()))
    kinds = ("sub", "aug", "replace")
    refined = [name for kind in kinds for name in (f"{kind}-80", f"random-{kind}-80")]
    assert [arm.name for arm in record.arms] == ["original", *refined]
    assert record.arm("method").name == "sub-80"
    assert record.arm("control").name == "random-sub-80"
    pairs = {(gap.arm, gap.against) for gap in record.gaps}
    for kind in kinds:
        assert {(f"{kind}-80", f"random-{kind}-80"), (f"{kind}-80", "original")} <= pairs
    ids = {measure.id for measure in record.measures}
    assert ids == {
        "seat/mean_abs_effect_size",
        "seat/tests/work/effect_size",
        "seat/retention/kinds/effect_size",
        "bias_score/held-out texts/absolute_mean",
        "utility/test pairs/accuracy",
        "utility/sts/sts_spearman",
    }
    gaps = {(gap.measure, gap.arm, gap.against): gap for gap in record.gaps}
    for id_ in ids - {"utility/test pairs/accuracy"}:  # all arms may be right on the same few rows
        assert gaps[id_, "sub-80", "random-sub-80"].ci95 is not None


def test_the_corpora_are_those_of_the_functions(run):
    out, result = run
    arms, scores = result["arms"], np.load(out / "scores" / "scores.npz")["rows"]
    n = arms["original"]["n_train"]
    assert len(scores) == n
    left = len(subtract(Dataset.from_dict({"row": range(n)}), percentile=80, scores=scores))
    assert arms["sub-80"]["n_train"] == arms["random-sub-80"]["n_train"] == left < n
    assert arms["aug-80"]["n_added"] == arms["random-aug-80"]["n_added"] > 0
    assert arms["replace-80"]["n_train"] == arms["random-replace-80"]["n_train"]
    steps = {name: each["steps"] for name, each in arms.items()}
    assert all(steps[name] == -(-each["n_train"] // 16) for name, each in arms.items())


def test_encoders_differ_and_the_numbers_are_theirs(run):
    out, result = run
    from sentence_transformers import SentenceTransformer

    folders = {name: out / f"train_{name}" / "model" for name in result["arms"]}
    vectors = {name: SentenceTransformer(str(path), device="cpu").encode(["a nurse"]) for name, path in folders.items()}
    assert len({vector.tobytes() for vector in vectors.values()}) == len(vectors)
    with np.load(out / "scores_sub-80" / "seat.npz") as arrays:
        x, y = arrays["work/x"], arrays["work/y"]
    d = (x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1)
    assert result["results"]["seat"]["sub-80"]["seat"]["tests"]["work"]["effect_size"] == pytest.approx(d)
    change = result["comparisons"]["seat"]["sub-80 - original"]["seat/tests/work/effect_size"]["difference_ci95"]
    values = [
        result["results"]["seat"][name]["seat"]["tests"]["work"]["effect_size"] for name in ("sub-80", "original")
    ]
    assert change[0] < values[0] - values[1] < change[1]


def test_the_report_shows_scores_words_direction_and_texts(run):
    out, _ = run
    report = (out / "report" / "report.md").read_text()
    for said in (
        "What was changed in the corpus",
        "Words that carry most bias",
        "Bias scores of the corpus",
        "Given names were swapped by the 30 pairs",
        "as many epochs",
    ):
        assert said in report
    assert {"scores.svg", "direction.svg"} <= {path.name for path in (out / "report").iterdir()}
    record = Record.from_json(json.loads((out / "report" / "record.json").read_text()))
    texts = [text for found in record.texts.values() for text in found]
    assert 0 < len(texts) <= 4
    card = (out / "model" / "README.md").read_text()
    assert "Dolci et al. 2023" in card
    for text in [str(out), *(text.rpartition(" (")[0] for text in texts)]:
        assert text not in card


def test_the_model_opens_without_our_code(run):
    out, _ = run
    code = (
        "import sys\n"
        "from sentence_transformers import SentenceTransformer\n"
        "SentenceTransformer(sys.argv[1], device='cpu').encode('She sings.')\n"
        "assert not any(name.startswith('hf_fairness') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(out / "model")], check=True)


def test_the_corpus_can_be_published(run, tmp_path):
    _, result = run
    artefact = result["artefacts"]["corpus"]
    artefact.write(tmp_path, "tester/it-corpus")
    rows = load_dataset(str(tmp_path))
    assert len(rows["train"]) == result["arms"]["sub-80"]["n_train"]
    assert "leaves" in (tmp_path / "README.md").read_text() or "all rows but" in (tmp_path / "README.md").read_text()


def test_rows_scored_by_the_encoder_that_was_trained_on_all_of_them(words, tmp_path):
    """Two seeds: each has a scorer of its own; a run that is gone on with makes nothing twice."""
    more = ["--percentiles", "80", "--refinements", "sub", "--score_model", "original", "--n_seeds", "2"]
    line = [*words, *more, "--output_dir", str(tmp_path / "out")]
    result = command("refine")(line)
    first = stages(tmp_path / "out")
    assert {"scores", "scores-seed_43", "train_original-seed_43", "train_random-sub-80-seed_43"} <= set(first)
    scores = [np.load(tmp_path / "out" / name / "scores.npz")["rows"] for name in ("scores", "scores-seed_43")]
    assert not np.allclose(*scores)
    assert result["scores"]["scorer"]["model"] == "original"
    again = command("refine")(line)
    assert stages(tmp_path / "out") == first
    assert again["results"] == result["results"]


def test_scores_of_similarity_are_learned_by_the_cosine(words, tmp_path):
    """Half of the deeds are like any place, the others like none: the cosine tells them apart after training only."""
    places, deeds = refine_case.PLACES, refine_case.DEEDS
    columns: dict[str, list] = {"sentence1": [], "sentence2": [], "score": []}
    for n, place, (k, deed) in itertools.product("ab", places, enumerate(deeds)):
        for name, value in zip(columns, (f"in the {place}", f"he {deed} {n}", 5.0 * (k < 3)), strict=True):
            columns[name].append(value)
    data = write_csv(tmp_path / "pairs.csv", columns)
    place = words.index("--dataset") + 1
    line = [*words[:place], data, *words[place + 1 :], "--test_dataset", data, "--refinements", "sub", "--no_control"]
    line += ["--percentiles", "90", "--output_dir", str(tmp_path / "out")]
    found = [command("refine")([*line, "--num_train_epochs", n]) for n in ("0.1", "10")]
    values = [each["results"]["test pairs"]["original"]["sts_spearman"] for each in found]
    assert list(found[1]["results"]["test pairs"]) == ["original", "sub-90"]
    assert values[1] > 0.7 > values[0] + 0.2
