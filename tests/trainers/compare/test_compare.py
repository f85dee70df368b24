"""`hf-fairness compare`: methods and further models on one bench."""

from __future__ import annotations

import importlib
import json
from dataclasses import fields
from types import SimpleNamespace

import pytest

from hf_fairness.cli import command, main
from hf_fairness.record import Record
from hf_fairness.trainers import CompareArguments, CompareConfig
from hf_fairness.trainers.baselines import BASELINES, baseline
from hf_fairness.trainers.training.encoder import EncoderConfig
from hf_fairness.trainers.training.stopping import DivergedError
from support.ccd_case import make_encoder

WORDS = ["--dataset", "demo", "--max_rows", "120", "--n_samples", "50", "--n_bootstrap", "20", "--use_cpu"]
TRAINING = ["--max_steps", "4", "--learning_rate", "1e-3", "--disable_tqdm", "True", "--report_to", "none"]
METHODS = ["--methods", "none", "control", "ccd"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return make_encoder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def without_seat():
    """SEAT's thousands of texts are not the point here."""
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("hf_fairness.measure.audit")  # by its name one gets the function
        patch.setattr(module, "built_in_tests", lambda attribute: [])
        yield


@pytest.fixture(scope="module")
def run(encoder, without_seat, tmp_path_factory):
    """Two seeds, a further model, and the same once more."""
    folder = tmp_path_factory.mktemp("run")
    other = make_encoder(folder / "published")
    words = [encoder, other, *METHODS, *WORDS, *TRAINING, "--n_seeds", "2", "--output_dir", str(folder / "out")]
    result = command("compare")(words)
    started = stages(folder / "out")
    return folder / "out", result, started, command("compare")(words)


def stages(out):
    return {each["stage"]: each["started"] for each in json.loads((out / "manifest.json").read_text())["stages"]}


@pytest.mark.whole
def test_every_arm_is_measured_and_compared_with_the_original_and_the_control(run):
    out, result, _, _ = run
    record = Record.from_json(json.loads((out / "report" / "record.json").read_text()))
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("before", "original"),
        ("control", "control"),
        ("ccd", "method"),
        ("published", "rival"),
    ]
    pairs = {(gap.arm, gap.against) for gap in record.gaps}
    assert pairs == {
        ("control", "before"),
        ("ccd", "before"),
        ("ccd", "control"),
        ("published", "before"),
        ("published", "ccd"),
    }
    paired = [gap for gap in record.gaps if gap.measure == "cced/built-in/cced"]
    assert all(gap.ci95 is not None for gap in paired)
    assert {claim["arm"] for claim in result["claims"]} == {"ccd", "published"}
    assert set(result["costs"]) == {"control", "ccd"}


@pytest.mark.whole
def test_the_paired_interval_against_the_control_is_that_of_the_audit_with_it_for_reference(run, encoder):
    """The same number from the two saved models, without the command."""
    from datasets import load_from_disk

    from hf_fairness.measure.audit import audit

    out, result, _, _ = run
    rows = {"held-out rows": load_from_disk(out / "variants" / "audit")}
    models = (str(out / f"train_{name}" / "model") for name in ("ccd", "control"))
    ours, theirs = models
    found = audit(ours, reference=theirs, variants=rows, probes=False, n_bootstrap=20, n_samples=50, device="cpu")
    gap = result["comparisons"]["audit"]["ccd - control"]["cced/held-out rows/cced"]
    assert gap["difference_ci95"] == found.report["cced"]["held-out rows"]["cced_change_ci95"]


@pytest.mark.whole
def test_the_report_has_the_table_the_picture_and_the_model(run):
    out = run[0]
    report = (out / "report" / "report.md").read_text()
    assert "**League table**" in report
    assert (out / "report" / "bias_against_utility.svg").is_file()
    card = (out / "model" / "README.md").read_text()
    assert "content-conditional debiasing" in card
    assert str(out) not in card


@pytest.mark.whole
def test_a_second_run_makes_nothing_anew(run):
    out, result, started, again = run
    assert stages(out) == started
    assert again["claims"] == result["claims"]
    assert again["record"] == result["record"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": ["cdd"]}, "--methods has 'cdd', expected some of none, control, ccd"),
        ({"methods": ["control"]}, "without ccd"),
        ({"methods": ["ccd", "ccd"]}, "twice"),
        ({"methods": ["none"]}, "compares nothing"),
        ({"methods": ["ccd"], "publish": "leace"}, "--publish is 'leace', expected one of ccd"),
        ({"utility_margin": 1.5}, "--utility_margin is 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(given, message):
    with pytest.raises(ValueError, match=message):
        CompareArguments(model_name_or_path="m", **given)


def test_words_behind_the_model_are_further_models():
    from hf_fairness.cli import methods

    module = importlib.import_module("hf_fairness.trainers.compare.command")
    found = methods.parse(
        [CompareArguments],
        ["demo-a", "demo-b", "demo-c", "--methods", "ccd"],
        prog="p",
        description="d",
        positional="model_name_or_path",
        further=module.COMMAND.further,
    )
    assert (found[0].model_name_or_path, found[0].models) == ("demo-a", ["demo-b", "demo-c"])


@pytest.fixture(scope="module")
def every(without_seat, tmp_path_factory):
    """All methods that a masked language model allows."""
    folder = tmp_path_factory.mktemp("every")
    model = make_encoder(folder / "model", "BertForMaskedLM")
    short = ["--max_steps", "2", "--learning_rate", "1e-3", "--disable_tqdm", "True", "--report_to", "none"]
    return command("compare")([model, *WORDS, *short, "--publish", "leace", "--output_dir", str(folder / "out")])


@pytest.mark.whole
def test_without_names_all_methods_that_can_work_are_compared_and_the_others_are_named(every):
    from hf_fairness.trainers.baselines import BASELINES

    record = every["record"]
    assert {arm.name for arm in record.arms} == {"before", "control", *BASELINES} - {"ccd-llm"}
    assert any(text.startswith("ccd-llm: ccd-llm needs finished rewrites") for text in record.not_measured)
    assert {arm.name for arm in record.arms if arm.role == "control"} == {"control", "continued", "random-directions"}
    pairs = {(gap.arm, gap.against) for gap in record.gaps}
    controls = {"ccd": "control", "cda": "continued", "dropout": "continued", "dpce": "continued", "adept": "continued"}
    controls |= dict.fromkeys(("sentence-debias", "inlp", "leace"), "random-directions")
    assert set(controls.items()) <= pairs
    assert record.arm("method").name == "leace"


@pytest.mark.whole
def test_every_model_opens_with_sentence_transformers_alone(every):
    from sentence_transformers import SentenceTransformer

    folders = sorted(every["model"].parent.glob("train_*/model"))
    assert len(folders) == len(every["record"].arms) - 1
    for folder in folders:
        vectors = SentenceTransformer(str(folder), device="cpu").encode(["She sings.", "He sings."])
        assert vectors.shape[0] == 2
    assert len(SentenceTransformer(str(every["model"]), device="cpu")) > 2  # the layer of LEACE is there


def test_a_further_model_that_is_not_there_is_refused_at_once(encoder, tmp_path):
    with pytest.raises(ValueError, match=r"--models: .*nowhere"):
        command("compare")([encoder, str(tmp_path / "nowhere"), *METHODS, *WORDS, "--output_dir", str(tmp_path / "o")])


@pytest.mark.whole
def test_a_further_model_that_is_none_is_refused_before_anything_is_trained(encoder, tmp_path):
    (tmp_path / "empty").mkdir()
    words = [encoder, str(tmp_path / "empty"), *METHODS, *WORDS, *TRAINING, "--output_dir", str(tmp_path / "o")]
    with pytest.raises((ValueError, OSError), match="empty"):
        command("compare")(words)
    assert not list((tmp_path / "o").glob("train_*"))


FAILING = ["--methods", "none", "inlp", "leace", "random-directions"]


@pytest.fixture(scope="module")
def failing(without_seat, tmp_path_factory):
    """INLP runs out of memory, LEACE's model cannot be measured; then all is as it should be."""
    from hf_fairness.trainers.baselines.inlp import INLP
    from hf_fairness.trainers.compare.method import CompareMethod

    folder = tmp_path_factory.mktemp("failing")
    words = [make_encoder(folder / "model"), *FAILING, *WORDS, "--report_to", "none", "--output_dir"]
    measure = CompareMethod.measure

    def no_memory(*given):
        raise RuntimeError("CUDA out of memory\nmore of it")

    def nan(self, fitted, *given):
        if fitted.name == "leace":
            raise ValueError("embeddings hold NaN.")
        return measure(self, fitted, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(INLP, "fit", no_memory)
        patch.setattr(CompareMethod, "measure", nan)
        status = main(["compare", *words, str(folder / "out")])
        refused = main(["compare", *words, str(folder / "published"), "--publish", "inlp"])
    first = Record.from_json(json.loads((folder / "out" / "report" / "record.json").read_text()))
    report, started = (folder / "out" / "report" / "report.md").read_text(), stages(folder / "out")
    after = command("compare")([*words, str(folder / "out")])
    return {"status": (status, refused), "record": first, "report": report, "started": started, "after": after}


@pytest.mark.whole
def test_what_fails_is_named_and_the_others_are_compared(failing):
    record, report = failing["record"], failing["report"]
    assert failing["status"] == (1, 1)
    assert [arm.name for arm in record.arms] == ["before", "random-directions"]
    assert record.cautions[0].startswith("--methods inlp: RuntimeError: CUDA out of memory. What is finished is kept")
    assert record.cautions[1].startswith("--methods leace: its model cannot be measured: embeddings hold NaN.")
    assert report.count("| failed |") == 2


@pytest.mark.whole
def test_the_next_run_goes_on_with_what_failed(failing):
    after = failing["after"]
    out = after["model"].parent
    assert "left_out" not in after
    assert {arm.name for arm in after["record"].arms} == {"before", "inlp", "leace", "random-directions"}
    kept = ("variants", "train_random-directions", "train_leace", "scores_before")
    assert {name: stages(out)[name] for name in kept} == {name: failing["started"][name] for name in kept}


@pytest.mark.parametrize(
    ("name", "error", "step", "message"),
    [
        ("leace", ValueError("--k is 0"), "fit", "--methods leace: --k is 0. What is finished is kept"),
        ("leace", OSError(28, "disk full"), "measure", r"--methods leace: its model .* disk full"),
        ("other", TypeError("no"), "fit", "--models other: no"),
        ("inlp", RuntimeError("boom"), "fit", "--methods inlp: RuntimeError: boom"),
        ("before", ValueError("rows"), "measure", "^rows$"),
    ],
)
def test_what_the_user_can_mend_stops_the_run(name, error, step, message):
    """Settings, rows and files; the model that is published; the original."""
    with pytest.raises((ValueError, TypeError, OSError, RuntimeError), match=message):
        bench(publish="inlp").leave_out(name, error, step)


def test_what_is_a_methods_own_fault_is_told():
    said = bench().leave_out("inlp", MemoryError(), "fit")
    assert said.startswith("--methods inlp: MemoryError: no message. What is finished is kept")
    said = bench().leave_out("leace", DivergedError("the loss is nan at step 3"), "fit")
    assert said.startswith("--methods leace: the loss is nan at step 3. What is finished is kept")
    with pytest.raises(RuntimeError, match="--methods inlp: RuntimeError: boom"):  # of two processes
        bench(processes=2).leave_out("inlp", RuntimeError("boom"), "fit")
    with pytest.raises(RuntimeError, match="--methods inlp: RuntimeError: boom"):  # the last one
        bench(methods=["inlp"], models=None).leave_out("inlp", RuntimeError("boom"), "fit")


def bench(processes: int = 1, **given):
    """A comparison of which nothing is opened."""
    from hf_fairness.trainers.compare.method import CompareMethod, Published

    told = {"methods": ["leace", "inlp"], "models": ["other"], **given}
    arguments = CompareArguments(model_name_or_path="m", **told)
    found = CompareMethod(None, arguments, SimpleNamespace(world_size=processes, push_to_hub=False), {}, {}, 0)
    further = {name: Published(name, name) for name in told["models"] or []}
    found._checked = {name: baseline(name) for name in told["methods"]} | further, {}
    return found


def test_what_another_method_reads_makes_none_train_anew():
    """The stage of a method depends on its own options and on the settings of every training."""
    options = {option for name in BASELINES for option in baseline(name).options}
    assert options
    assert not options & {each.name for each in fields(EncoderConfig)}
    assert options <= {each.name for each in fields(CompareConfig)}
