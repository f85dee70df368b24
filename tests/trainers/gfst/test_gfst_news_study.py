"""The study of GFST on news: what its base reads and what its pool holds; a small one runs here."""

from __future__ import annotations

import json

import pytest
from datasets import Dataset

from benchmarks import gfst_news as study
from benchmarks.gfst_real import normalised, read_pairs
from benchmarks.study import read_results


def test_tokenized_news_is_written_as_people_write_it():
    assert study.joined("The pie doesn 't fit the firm 's plan .") == "The pie doesn't fit the firm's plan."
    assert study.joined('" No , " he said ( or so ) , paying $ 2.5 !') == '"No," he said (or so), paying $2.5!'
    assert study.joined("he doesn &apos;t want it") == "he doesn't want it"


def test_women_are_the_share_that_is_asked_for():
    men, women, nobody = ("He sings.", "She sings.", "It rains.")
    rows = Dataset.from_dict({"source": [women] * 50 + [men] * 95 + [nobody] * 9, "target": ["x"] * 154})
    train, sizes = study.base_pairs({"train": rows}, 0.05)
    assert sizes == {"male": 95, "female": 5, "female_left_out": 45}
    assert sorted(train["source"]) == [men] * 95 + [women] * 5


def test_no_sentence_of_the_pool_stands_in_a_pair(shared):
    texts, counts = study.pool(dict.fromkeys(study.CONFIG["pool"], 40))
    assert [each["n"] for each in counts.values()] == [40] * len(counts)
    assert len(set(texts["text"])) == 40 * len(counts)
    sources = {normalised(source) for gender in ("male", "female") for source, _ in read_pairs(gender)}
    assert not sources & {normalised(text) for text in texts["text"]}
    assert counts["glue/MRPC/train.tsv"]["by_gender"]["none"] > 20


def test_a_gap_that_is_not_there_is_named():
    values = {"winomt/delta_r": 0.01, "test/bleu": 0.2}
    measures = {key: {"baseline": {"value": value}} for key, value in values.items()}
    assert study.misses({"measures": measures}) == ["baseline delta_r is 0.010, expected at least 0.05"]


@pytest.fixture(scope="module")
def recorded():
    return read_results(study.FILE)


def test_there_was_a_gap_in_a_model_that_translates(recorded):
    assert study.misses(recorded) == []
    sizes = recorded["n"]["base"]
    assert sizes["female"] / (sizes["female"] + sizes["male"]) == pytest.approx(
        study.CONFIG["feminine_share"], abs=1e-3
    )


def test_the_recorded_study_is_whole(recorded):
    seeds = [f"seed={seed}" for seed in range(study.CONFIG["n_seeds"])]
    assert list(recorded["by_seed"]) == list(recorded["gaps_by_seed"]) == seeds
    assert set(recorded["arms"]) == {"baseline", "gfst", "control", *study.CONFIG["gfst"]["arms"]}
    assert recorded["n"]["winomt"] == 3888
    assert recorded["n"]["test"] == 1000
    steps = {name: arm.get("steps") for name, arm in recorded["arms"].items()}
    assert steps["gfst"] == steps["control"] == steps["randst"] > 0
    for by_arm in recorded["by_seed"].values():
        assert by_arm["baseline"] == recorded["by_seed"]["seed=0"]["baseline"]  # one base
    for key in study.MEASURES:
        for arm, found in recorded["measures"][key].items():
            values = [by_arm[arm][key] for by_arm in recorded["by_seed"].values()]
            assert found["value"] == pytest.approx(sum(values) / len(values))


def test_no_text_is_in_the_file(recorded, shared):
    written = study.FILE.read_text(encoding="utf-8")
    texts = study.pool(dict.fromkeys(study.CONFIG["pool"], 20))[0]["text"]
    assert not any(text in written for text in texts)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_a_small_study_runs_whole_and_holds_no_text(shared, tmp_path):
    found = study.study(tmp_path, quick=True)
    assert list(found["arms"]) == ["baseline", "gfst", "control", "randst", "gfst_hd"]
    assert set(found["by_seed"]) == set(found["gaps_by_seed"]) == {"seed=0"}
    steps = {name: arm.get("steps") for name, arm in found["arms"].items()}
    assert steps["gfst"] == steps["control"] == steps["randst"] > 0
    for group in ("male", "female"):
        part = found["kept"][group]
        assert 0 < part["kept"] < part["n"]
    written = study.table(found)
    assert all(title in written for title in ("| GFST |", "| control |", "| RandST |", "GFST less control", "kept"))
    texts = json.dumps(found)
    assert not any(text in texts for text in study.pool(study.QUICK["pool"])[0]["text"])
