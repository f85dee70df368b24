"""CrowS-Pairs, StereoSet and Bias-IR beside the audits of a method that changes an encoder."""

from __future__ import annotations

import csv
import importlib
import json

import numpy as np
import pytest
from datasets import Dataset
from transformers import AutoModelForMaskedLM

from hf_fairness.arguments import BenchmarkArguments
from hf_fairness.attributes import load_attribute
from hf_fairness.cli import command
from hf_fairness.measure import bias_ir, crows_pairs, stereoset
from hf_fairness.runs import Run
from hf_fairness.scores.crows_pairs import crows_pairs_change
from hf_fairness.scores.stereoset import stereoset_change
from hf_fairness.trainers import CCDArguments, CCDConfig
from hf_fairness.trainers.ccd.method import CCDMethod
from hf_fairness.trainers.training.benchmarks import CrowSPairs, StereoSet, open_benchmarks
from hf_fairness.trainers.training.benchmarks import read_benchmarks as read
from support.ccd_case import make_encoder
from support.utility_case import write_glue, write_tasks

GENDER = load_attribute("gender")
WORKS = ("sings", "reads", "cooks", "drives", "teaches", "paints", "digs", "sews", "runs", "swims", "codes", "heals")
PAIRS = [
    {"sent_more": f"She {work}.", "sent_less": f"He {work}.", "stereo_antistereo": "stereo", "bias_type": "gender"}
    for work in WORKS
] + [
    {"sent_more": "The old man fell.", "sent_less": "The man fell.", "stereo_antistereo": "stereo", "bias_type": "age"}
]
TARGETS = ("mother", "Sister", "chef", "schoolgirl", "father", "brother", "he", "she", "man", "woman", "nurse", "aunt")


def item(target: str) -> dict:
    words = zip(("stereotype", "anti-stereotype", "unrelated"), ("kind", "rude", "tin"), strict=True)
    kinds = "gender" if target != "chef" else "profession"
    sentences = [{"sentence": f"The {target} is {word}.", "gold_label": of, "id": word} for of, word in words]
    return {"target": target, "bias_type": kinds, "context": f"The {target} is BLANK.", "sentences": sentences}


ITEMS = [item(target) for target in TARGETS]
DOCUMENTS = [
    {"query_id": work, "query": f"who {work}", "text": f"{who} {work} well", "group": group, "category": topic}
    for topic, works in (("hands", WORKS[:6]), ("heads", WORKS[6:]))
    for work in works
    for who, group in (("he", "male"), ("she", "female"), ("they", "neutral"))
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("benchmarks")
    with (folder / "crows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(PAIRS[0]))
        writer.writeheader()
        writer.writerows(PAIRS)
    (folder / "dev.json").write_text(json.dumps({"data": {"intrasentence": ITEMS, "intersentence": []}}))
    (folder / "ir.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    names = {"crows_pairs": "crows.csv", "stereoset": "dev.json", "bias_ir": "ir.jsonl"}
    return {name: str(folder / file) for name, file in names.items()}


def test_the_part_that_counts_is_the_kind_of_bias_of_the_attribute(files):
    arguments = BenchmarkArguments(**files)
    pairs, items, documents = read(arguments, GENDER, open_benchmarks(arguments))
    sizes = [{name: len(places) for name, places in each.parts.items()} for each in (pairs, items, documents)]
    assert sizes == [{"gender": 12, "all": 13}, {"gender": 11, "all": 12}, {"all": 12, "hands": 6, "heads": 6}]
    race = [{**pair, "bias_type": "race-color"} for pair in PAIRS]
    parts = CrowSPairs.read([*race, PAIRS[0]], type(GENDER)(**{**vars(GENDER), "name": "race"})).parts
    assert {name: len(places) for name, places in parts.items()} == {"race": 13, "all": 14}
    other = CrowSPairs.read(PAIRS, load_attribute("religion")).parts
    assert {name: len(places) for name, places in other.items()} == {"all": 13}


@pytest.mark.parametrize("form", ["dicts", "data set", "columns"])
def test_rows_come_in_any_form(form):
    forms = {"dicts": lambda rows: rows, "data set": Dataset.from_list}
    forms["columns"] = lambda rows: {name: [row[name] for row in rows] for name in rows[0]}
    make = forms[form]
    assert CrowSPairs.read(make(PAIRS), GENDER).key == CrowSPairs.read(PAIRS, GENDER).key
    assert StereoSet.read(make(ITEMS), GENDER).key == StereoSet.read(ITEMS, GENDER).key
    assert CrowSPairs.read(make(PAIRS[1:]), GENDER).key != CrowSPairs.read(PAIRS, GENDER).key


def test_the_filtered_set_has_the_targets_of_the_word_list(files, tmp_path):
    """As Yang et al. did: items whose target the word list of the debiasing holds."""
    words = tmp_path / "words.txt"
    words.write_text("mother\n\nnurse\nno target\n")
    for targets, kept in (
        ("attribute", {"mother", "Sister", "father", "brother", "he", "she", "man", "woman", "aunt", "schoolgirl"}),
        (str(words), {"mother", "nurse"}),
    ):
        arguments = BenchmarkArguments(stereoset=files["stereoset"], stereoset_targets=targets)
        (items,) = read(arguments, GENDER, {"stereoset": ITEMS})
        assert set(items.columns["target"]) == kept
        assert items.n_left_out == len(TARGETS) - len(kept)
        assert list(items.parts) == ["gender"]  # nothing else is left


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"crows_pairs": [{"sent_more": "a", "sent_less": "b"}]}, "CrowS-Pairs needs .* missing: stereo_antistereo"),
        ({"crows_pairs": [{**PAIRS[0], "stereo_antistereo": "pro"}]}, "stereo_antistereo must be"),
        ({"stereoset": [{**ITEMS[0], "sentences": ITEMS[0]["sentences"][:2]}]}, "needs one sentence each labelled"),
        ({"stereoset": [{**ITEMS[0], "context": "No blank."}]}, "has no BLANK"),
        ({"bias_ir": DOCUMENTS[:1]}, "at least two groups; wanted .*male.*, got .*male"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(data, message):
    with pytest.raises(ValueError, match=message):
        read(BenchmarkArguments(), GENDER, data)


def test_wrong_flags_are_refused(files, tmp_path):
    with pytest.raises(ValueError, match="name that with --stereoset"):
        BenchmarkArguments(stereoset_targets="attribute")
    arguments = BenchmarkArguments(stereoset="x", stereoset_targets=str(tmp_path / "none.txt"))
    with pytest.raises(ValueError, match=r"--stereoset_targets: there is no such file.*or `attribute`"):
        read(arguments, GENDER, {"stereoset": ITEMS})
    arguments = BenchmarkArguments(stereoset="x", stereoset_targets="attribute")
    with pytest.raises(ValueError, match="None of the 1 targets"):
        read(arguments, GENDER, {"stereoset": [item("chef")]})
    with pytest.raises(ValueError, match="there is no such file"):
        open_benchmarks(BenchmarkArguments(crows_pairs=str(tmp_path / "none.csv")))


def test_a_model_without_head_is_measured_on_documents_alone(tmp_path):
    encoder = make_encoder(tmp_path / "base")
    config = CCDConfig(output_dir=str(tmp_path / "out"), use_cpu=True, report_to="none")
    data = {"crows_pairs": PAIRS, "stereoset": ITEMS, "bias_ir": DOCUMENTS}
    with Run(str(tmp_path / "out"), {}, resume=True) as run:
        method = CCDMethod(run, CCDArguments(model_name_or_path=encoder), config, data, {}, 0)
        assert list(method.unasked()) == ["CrowS-Pairs", "StereoSet"]
        assert all("no masked-language-model head" in why for why in method.unasked().values())


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    """A masked language model through the command, without SEAT, whose thousands of texts are not the point here."""
    out = tmp_path_factory.mktemp("run")
    encoder = make_encoder(out / "base", "BertForMaskedLM")
    flags = [word for name, file in files.items() for word in (f"--{name}", file)]
    flags += ["--dataset", "demo", "--max_rows", "96", "--n_samples", "50", "--n_bootstrap", "20", "--use_cpu"]
    flags += ["--disable_tqdm", "True", "--senteval_folds", "3", "--senteval"]
    flags += [f"{name}={file}" for name, file in write_tasks(out).items()]
    flags += ["--glue_tasks", "rte", "--glue_data", write_glue(out / "glue"), "--glue_max_rows", "16"]
    flags += ["--glue_epochs", "1"]
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("hf_fairness.measure.audit")  # by its name one gets the function
        patch.setattr(module, "built_in_tests", lambda attribute: [])
        words = [encoder, *flags, "--max_steps", "3", "--learning_rate", "1e-2", "--sweep", "beta=0", "--no_control"]
        yield command("ccd")([*words, "--output_dir", str(out / "ccd")]), encoder, out / "ccd", flags


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")  # the world is tiny
def test_every_arm_and_every_beta_is_measured_as_the_metrics_measure_it(run, files):
    result, encoder, out, _ = run
    record = result["record"]
    values = {measure.id: measure.values for measure in record.measures}
    AutoModelForMaskedLM.from_pretrained(out / "model")
    for arm, model in (("before", encoder), ("after", str(out / "model"))):
        pairs = crows_pairs(files["crows_pairs"], model=model, device="cpu", n_bootstrap=0)["bias_types"]["gender"]
        items = stereoset(files["stereoset"], model=model, device="cpu", n_bootstrap=0)["domains"]["gender"]
        found = bias_ir(DOCUMENTS, model=model, device="cpu", n_bootstrap=0)
        assert values["crows_pairs/gender/stereotype_score"][arm].value == pairs["stereotype_score"]
        for key in ("lm_score", "stereotype_score", "icat"):
            assert values[f"stereoset/gender/{key}"][arm].value == items[key]
        assert values["bias_ir/all/male_ratio"][arm].value == found["male_ratio"]
        assert values["bias_ir/heads/male_ratio"][arm].value == found["categories"]["heads"]["male_ratio"]
        assert values["bias_ir/all/mean_deviation"][arm].extras == {"by chance": found["chance_mean_deviation"]}
        assert not values["bias_ir/all/male_ratio"][arm].extras
    trial = result["trials"]["beta=0"]["results"]["stereoset"]["after"]["parts"]["gender"]
    assert trial["icat_ci95"]
    heading, *rows = record.tables[0].rows
    place = next(place for place, title in enumerate(heading) if "ICAT" in title)
    assert {row[0]: row[place] for row in rows if row[1] == "after"}.keys() == {"as asked", "beta=0"}


@pytest.mark.whole
def test_gaps_are_paired_over_items(run):
    """Both arms were asked the same items, so the interval of the difference comes from these."""
    result, _, out, _ = run
    gaps = {gap.measure: gap for gap in result["record"].gaps if gap.against == "before"}
    files = [out / f"scores_{arm}" for arm in ("after", "before")]
    after, before = (np.load(file / "crows_pairs.npz")["scores"] for file in files)
    assert np.abs(after - before).min() > 1e-4  # the head is asked over the trained body
    wins = [(side.round(3) @ [1.0, -1.0] > 0).mean() for side in (after, before)]
    change, gap = crows_pairs_change(after, before), gaps["crows_pairs/all/stereotype_score"]
    assert (gap.difference, gap.p_value) == (
        pytest.approx(wins[0] - wins[1]),
        change["stereotype_score_change_p_value"],
    )
    assert gap.ci95 == tuple(change["stereotype_score_change_ci95"])
    after, before = (np.load(file / "stereoset.npz")["scores"] for file in files)
    change = stereoset_change(after, before, TARGETS)
    for key in ("lm_score", "stereotype_score", "icat"):
        gap = gaps[f"stereoset/all/{key}"]
        assert (gap.difference, gap.p_value) == (
            pytest.approx(change[f"{key}_change"]),
            change[f"{key}_change_p_value"],
        )
    assert any("Blodgett" in limit for limit in result["record"].limits)


@pytest.mark.whole
def test_tasks_of_utility_stand_beside_them(run):
    """In every command that changes an encoder; the report shows what was asked without the folders above it."""
    result, _, out, _ = run
    record = result["record"]
    values = {measure.id: measure.values for measure in record.measures}
    for name in ("utility/MRPC/accuracy", "utility/MRPC/f1", "utility/SICK-R/pearson", "utility/SICK-R/mse"):
        assert set(values[name]) == {"before", "after"}
    told = [np.load(out / f"scores_{arm}" / "MRPC.npz")["predicted"] for arm in ("after", "before")]
    gap = next(gap for gap in record.gaps if gap.measure == "utility/MRPC/accuracy")
    assert gap.difference == pytest.approx(
        (told[0] == np.arange(20) % 2).mean() - (told[1] == np.arange(20) % 2).mean()
    )
    assert set(values["utility/GLUE-RTE/accuracy"]) == {"before", "after"}
    stages = {each["stage"] for each in json.loads((out / "manifest.json").read_text())["stages"]}
    assert {name for name in stages if name.startswith("glue")} == {"glue_before", "glue_after", "glue_after-beta_0"}
    assert record.asked["senteval"] == ["mrpc=MRPC", "sick-r=sick.jsonl"]


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_layer_after_the_pooling_leaves_the_language_model_out(run, tmp_path):
    _, encoder, _, flags = run
    found = command("sentence-debias")([encoder, *flags, "--output_dir", str(tmp_path / "out"), "--no_control"])
    record = found["record"]
    assert {measure.id.split("/")[0] for measure in record.measures} & {"crows_pairs", "stereoset"} == set()
    assert [measure.values.keys() for measure in record.measures if measure.id == "bias_ir/all/male_ratio"] == [
        {"before", "after"}
    ]
    said = [text for text in record.not_measured if text.startswith(("CrowS-Pairs", "StereoSet"))]
    assert len(said) == 2
    assert all("after the pooling changes no token" in text for text in said)
