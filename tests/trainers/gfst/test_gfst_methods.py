"""Mixed fine-tuning and back-translation; what the source of the models is; the sizes of the arms there."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset, load_from_disk
from safetensors.numpy import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_fairness.trainers import run_gfst
from hf_fairness.utils import FairnessWarning
from support import gfst_world
from support.gfst_case import arguments, config, shows, weights
from support.manifest import stages

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:fast_align learned to align")]


def italian(n: int, seed: int) -> Dataset:
    """Texts of the target language: of both genders, of one without a pronoun, and an empty one."""
    texts = gfst_world.pairs(n, seed, feminine=0.5, noise=0.0)["target"][:]
    return Dataset.from_dict({"text": [*texts, "La dottoressa è qui.", "Piove.", ""]})


@pytest.fixture(scope="module")
def reverse(tmp_path_factory, lexicon):
    """A translator from Italian to English, with its tokenizer."""
    out = tmp_path_factory.mktemp("reverse")
    rows = gfst_world.pairs(600, 3, feminine=0.5, noise=0.0)
    swapped = rows.rename_columns({"source": "target", "target": "source"})
    run_gfst(arguments(lexicon, until="initial"), swapped, None, config=config(out, max_steps=80))
    place = str(out / "initial" / "model")
    return AutoModelForSeq2SeqLM.from_pretrained(place), AutoTokenizer.from_pretrained(place)


def test_a_given_model_is_fine_tuned_on_equal_shares(gfst, initial, tmp_path):
    report = gfst(arms=["male"], max_pairs=30, upsample=2)
    assert report["method"] == "mixed_finetune"
    assert report["arms"]["baseline"] == {}  # it was not trained here, but it is measured
    assert "baseline" in report["results"]["winomt"]
    arms = report["arms"]
    assert arms["gfst"]["n_parallel"] == 2 * arms["gfst"]["n_pairs"] == 2 * 60
    assert arms["gfst"]["history"]["n"] == 4 * 60
    assert arms["control"]["history"]["n"] == 800
    assert arms["gfst"]["steps"] == arms["control"]["steps"] == 6
    assert arms["male"]["steps"] == 3  # half the pairs, half the updates
    assert "start" not in stages(tmp_path / "out")
    before, after = load_file(f"{initial}/model.safetensors"), weights(tmp_path / "out")
    moved = max(float(np.abs(after[name] - before[name]).max()) for name in before)
    assert 0 < moved < 0.5  # it went on from the initial weights


def test_fine_tuning_takes_the_wanted_passes(gfst):
    report = gfst(arms=["none"], settings={"max_steps": -1}, finetune_num_train_epochs=2.0, max_pairs=40, until="train")
    assert report["stages"]["train_gfst"].is_dir()
    sizes = {"n_parallel": 80, "n_pairs": 80}
    found = report["arms"]["gfst"]
    assert {name: found[name] for name in sizes} == sizes
    assert found["steps"] == round(2.0 * 160 / 32)


def test_a_live_model_gives_the_same_as_its_folder(gfst, initial, tmp_path, lexicon, parallel, texts):
    gfst(arms=["none"], until="balance")
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(initial), AutoTokenizer.from_pretrained(initial)
    own = arguments(lexicon, arms=["none"], until="balance", train_initial=False, model_name_or_path="named")
    run_gfst(own, parallel, texts, config=config(tmp_path / "live"), model=model, tokenizer=tokenizer)
    rows = [load_from_disk(str(tmp_path / out / "balance"))[:] for out in ("out", "live")]
    assert rows[0] == rows[1]


def test_back_translation_filters_targets_and_translates_them(gfst, reverse, tmp_path):
    report = gfst(method="back_translation", monolingual=italian(150, 4), reverse=reverse, arms=["randst", "female"])
    numbers = report["data"]["filter_target"]
    assert numbers["reasons"] == {"none": 2, "empty": 1}  # no gender, no pronoun
    rows = load_from_disk(str(tmp_path / "out" / "balance"))
    assert len(rows) >= 40
    assert all(shows(row["target"], row["source_gender"]) for row in rows)
    pronoun = {"male": "he", "female": "she"}
    assert all(pronoun[row["source_gender"]] in row["source"].split() for row in rows)
    assert set(rows["target"][:]) <= set(italian(150, 4)["text"])  # the natural side is the target
    assert len(load_from_disk(str(tmp_path / "out" / "randst"))) == len(rows)
    assert report["arms"]["control"]["steps"] == report["arms"]["gfst"]["steps"]
    assert report["arms"]["female"]["n_pairs"] == len(rows) // 2
    assert report["method"] == "mixed_finetune"


def test_seeds_and_values_share_what_is_the_same(gfst, tmp_path):
    """Other seeds draw pairs and train anew; the filters, the initial model and its scores are made once."""
    report = gfst(arms=["none"], control=False, n_seeds=2, sweep=["upsample=2"], max_pairs=30)
    assert list(report["arms"]) == ["baseline", "gfst"]
    assert set(report["trials"]) == {"seed=1", "upsample=2"}
    assert report["trials"]["upsample=2"]["arms"]["gfst"]["history"]["n"] == 2 * report["arms"]["gfst"]["history"]["n"]
    made = set(stages(tmp_path / "out"))
    once = ("parallel", "filter_source", "translate", "filter_target", "predict_baseline", "scores_baseline")
    assert {name for name in made if name.startswith(once)} == set(once)
    assert {name for name in made if name.startswith("balance")} == {"balance", "balance-seed_1"}
    assert {name for name in made if name.startswith("train")} == {
        "train_gfst", "train_gfst-seed_1", "train_gfst-upsample_2"
    }  # fmt: skip
    found = [each["results"]["winomt"]["gfst"]["accuracy"] for each in (report, report["trials"]["seed=1"])]
    (measure,) = [each for each in report["record"].measures if each.id == "winomt/accuracy"]
    assert measure.values["gfst"].value == pytest.approx(np.mean(found))
    assert report["record"].arm("control") is None
    assert all(text.startswith("With seed ") for text in report["record"].cautions)
    assert report["record"].tables[-1].title == "Sweep"


def test_a_prefix_and_must_she_reach_the_model(gfst):
    rows = [
        {"category": category, "gender_terms": terms, "source": gfst_world.sentence(gender, job, "sick", "here")[0]}
        for category, terms, gender, job in (
            ("2F", "dottoressa dottore", "female", "doctor"),
            ("2M", "cuoco cuoca", "male", "cook"),
        )
    ]
    given = {"must_she_rows": rows, "winomt_rows": None, "monolingual": gfst_world.monolingual(120, 7)}
    with pytest.warns(FairnessWarning, match="No WinoMT rows"):
        report = gfst(arms=["none"], prefix="The ", max_pairs=20, **given)
    assert set(report["results"]["must_she"]) == {"baseline", "gfst", "control"}
    assert "winomt" not in report["results"]
    assert "nothing is known of how these models treat gender" in report["record"].outcome
    assert {measure.set for measure in report["record"].measures} == {"MuST-SHE"}
    written = report["files"]["markdown"].read_text()
    assert "**WinoMT was not measured" in written
    assert "- WinoMT (the gender of people in translations): no rows were given" in written


def test_other_translations_are_scored_anew(gfst, tmp_path):
    """A setting of the translations alone changes what every model says, the one that was given too."""
    keys = []
    for most in (20, 30):  # either is enough
        gfst(arms=["none"], control=False, max_pairs=30, until="scores", max_new_tokens=most)
        keys.append({name: stage["key"] for name, stage in stages(tmp_path / "out").items()})
    scored = [name for name in keys[0] if name.startswith(("predict_", "scores_", "comparisons"))]
    assert len(scored) == 5
    assert not [name for name in scored if keys[0][name] == keys[1][name]]
