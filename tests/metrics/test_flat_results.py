"""`compute(..., flat=True)`: the numbers of a result, as a Trainer logs them."""

from __future__ import annotations

import doctest
import json
import math
import threading
import warnings
from pathlib import Path

import evaluate
import numpy as np
import pytest
from datasets import Dataset
from transformers import Trainer, TrainingArguments

import hf_fairness
from hf_fairness import modules
from support.metric_case import FOLDER, METRICS, case_of, compute
from support.tiny_bert import tiny_bert

GROUPS = ["female", "male"] * 16


def _load(name, **options):
    return evaluate.load(hf_fairness.metric_path(name), **options)


def _expected(result, path=()):
    """The numbers of a nested result by path, without what is written down in `flatten`."""
    for key, value in result.items():
        here = (*path, str(key))
        if isinstance(value, dict):
            if key != "meta":
                yield from _expected(value, here)
        elif str(key).endswith("_ci95") and value is not None:
            yield "_".join((*here, "low")), value[0]
            yield "_".join((*here, "high")), value[1]
        elif type(value) in (int, float):
            yield "_".join(here), value


@pytest.mark.parametrize("name", METRICS)
def test_flat_numbers_are_those_of_the_result(name):
    valid = case_of(name).VALID
    flat, nested = compute(name, valid | {"flat": True}), compute(name, valid)
    assert type(flat) is type(nested) is dict
    assert flat == dict(_expected(nested))
    assert list(flat) == [key for key, _ in _expected(nested)]
    assert len(flat) >= 3
    assert all(type(key) is str and type(value) in (int, float) for key, value in flat.items())
    assert all(math.isfinite(value) for value in flat.values())
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat
    assert flat == hf_fairness.flatten(nested)
    assert compute(name, valid | {"flat": False}) == nested


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("name", METRICS)
def test_degenerate_inputs_give_finite_numbers_too(name):
    case = case_of(name)
    for entry in case.DEGENERATE.values():
        if isinstance(entry, str) or isinstance(entry[1], str):
            continue
        inputs = {key: value for key, value in (case.VALID | entry[0]).items() if value is not None}
        flat = compute(name, inputs | {"flat": True})
        assert flat
        assert all(type(value) in (int, float) and math.isfinite(value) for value in flat.values())


@pytest.mark.parametrize("name", METRICS)
def test_help_names_flat_once_in_the_arguments(name):
    module = _load(name)
    arguments = module.inputs_description.split("Returns:")[0]
    assert arguments.count("    flat: ") == 1
    assert "    flat: " in type(module).__doc__
    assert module.inputs_description in module.compute.__doc__
    assert len(doctest.DocTestParser().get_examples(module.inputs_description)) > 1


@pytest.mark.parametrize("name", METRICS)
def test_a_result_reads_well(name, capsys):
    result = compute(name, case_of(name).VALID)
    hf_fairness.show(result, entries=None)
    table, _, notes = capsys.readouterr().out.partition("\n\n")
    names = [line.split()[0] for line in table.splitlines()[2:]]
    assert [key for key in result if key != "meta" and not key.endswith("_ci95") and result[key] != ""] == [
        line.split()[0] for line in table.splitlines()[2:] if line[0] != " "
    ]
    assert not [name for name in names if name.endswith("_ci95")]
    assert len({line.index("]") for line in table.splitlines() if "]" in line}) == 1
    assert [word for word in ("Ideal: ", "Direction: ", "Convention: ") if notes.count(word) != 1] == []


@pytest.mark.parametrize("name", METRICS)
def test_cards_show_both(name):
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert "hf_fairness.show(result)" in card
    sentence = card.split("flat=True)` returns")[1].split("\n\n")[0]
    keys = [key for key in sentence.split("`") if key.endswith("_ci95_low")]
    flat = compute(name, case_of(name).VALID | {"flat": True})
    assert len(keys) == 1
    assert set(keys) <= set(flat)
    assert keys[0].removesuffix("_ci95_low") in flat


def test_added_batches():
    metric = _load("equalized_odds")
    predictions, references = [1, 0, 0, 1, 1, 1, 0, 0] * 4, [1, 1, 0, 0] * 8
    expected = metric.compute(predictions=predictions, references=references, groups=GROUPS, flat=True)
    for half in (slice(0, 16), slice(16, 32)):
        metric.add_batch(predictions=predictions[half], references=references[half], groups=GROUPS[half])
    assert metric.compute(flat=True) == expected
    metric.add_batch(predictions=predictions[:16], references=references[:16], groups=GROUPS[:16])
    rest = {"predictions": predictions[16:], "references": references[16:], "groups": GROUPS[16:]}
    assert metric.compute(**rest, flat=True) == expected
    metric.add_batch(predictions=predictions, references=references, groups=GROUPS)
    assert hf_fairness.flatten(metric.compute(flat=False)) == expected


def test_two_processes(tmp_path):
    """The second process gets None, as ever; files and locks of evaluate serve threads as well."""
    predictions, references = [1, 0, 0, 1, 1, 1, 0, 0] * 4, [1, 1, 0, 0] * 8
    inputs = {"predictions": predictions, "references": references, "groups": GROUPS}
    found = {}

    def process(rank):
        metric = _load("equalized_odds", num_process=2, process_id=rank, experiment_id="flat", cache_dir=str(tmp_path))
        found[rank] = metric.compute(**{key: values[rank::2] for key, values in inputs.items()}, flat=True)

    threads = [threading.Thread(target=process, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    whole = _load("equalized_odds").compute(
        **{key: values[0::2] + values[1::2] for key, values in inputs.items()}, flat=True
    )
    assert found == {0: whole, 1: None}


def test_several_together():
    """`evaluate.combine` hands `flat` on, and names apart what both have."""
    both = evaluate.combine([_load("demographic_parity"), _load("equalized_odds")])
    found = both.compute(
        predictions=[1, 0, 0, 1, 1, 1, 0, 0] * 4, references=[1, 1, 0, 0] * 8, groups=GROUPS, flat=True
    )
    assert all(type(value) in (int, float) for value in found.values())
    assert {"demographic_parity_difference", "equalized_odds_difference"} <= set(found)


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    """A small classifier in training, whose metrics are fairness metrics and nothing else."""
    words = ["she", "he", "sings", "works"]
    model, tokenizer = tiny_bert(words, "BertForSequenceClassification", num_labels=2, hidden_size=16)
    rows = Dataset.from_dict({"text": [f"{words[i % 2]} {words[2 + i // 2 % 2]}" for i in range(32)]})
    rows = rows.add_column("label", [int(i // 2 % 4 != 3 if i % 2 == 0 else i // 2 % 4 == 3) for i in range(32)])
    rows = rows.map(lambda row: tokenizer(row["text"]), remove_columns=["text"])
    parity, odds = _load("demographic_parity"), _load("equalized_odds")

    def compute_metrics(prediction):
        inputs = {"predictions": prediction.predictions.argmax(axis=-1), "references": prediction.label_ids}
        return parity.compute(**inputs, groups=GROUPS, flat=True) | odds.compute(**inputs, groups=GROUPS, flat=True)

    folder = tmp_path_factory.mktemp("flat")
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder),
            num_train_epochs=6,
            lr_scheduler_type="constant",
            learning_rate=0.0005,
            per_device_train_batch_size=8,
            eval_strategy="epoch",
            save_strategy="epoch",
            logging_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="eval_demographic_parity_difference",
            greater_is_better=False,
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            seed=0,
        ),
        train_dataset=rows,
        eval_dataset=rows,
        processing_class=tokenizer,
        compute_metrics=compute_metrics,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hf_fairness.FairnessWarning)  # a constant prediction before it has learned
        trainer.train()
    return trainer


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_trainer_logs_returns_and_saves_the_numbers(trainer, capsys):
    metrics = trainer.evaluate()
    predictions = trainer.predict(trainer.eval_dataset)
    expected = _load("demographic_parity").compute(
        predictions=predictions.predictions.argmax(axis=-1), references=predictions.label_ids, groups=GROUPS
    )
    keys = ("demographic_parity", "demographic_parity_difference", "overall_positive_rate")
    assert {key: metrics[f"eval_{key}"] for key in keys} == {key: expected[key] for key in keys}
    for group, rate in expected["positive_rate"].items():
        assert metrics[f"eval_positive_rate_{group}"] == rate
    ends = [metrics[f"eval_demographic_parity_difference_ci95_{end}"] for end in ("low", "high")]
    assert ends == expected["demographic_parity_difference_ci95"]
    assert "eval_equalized_odds_difference" in metrics
    assert all(type(value) in (int, float) for value in metrics.values())
    assert trainer.state.log_history[-1]["eval_positive_rate_female"] == metrics["eval_positive_rate_female"]
    trainer.log_metrics("eval", metrics)
    assert "eval_demographic_parity_difference" in capsys.readouterr().out
    trainer.save_metrics("eval", metrics)
    assert json.loads(Path(trainer.args.output_dir, "eval_results.json").read_text(encoding="utf-8")) == metrics
    assert predictions.metrics["test_n"] == 32


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_trainer_chooses_a_checkpoint_by_them(trainer):
    logged = [entry for entry in trainer.state.log_history if "eval_demographic_parity_difference" in entry][:6]
    gaps = [entry["eval_demographic_parity_difference"] for entry in logged]
    assert len(gaps) == 6
    assert min(gaps) < gaps[-1]
    for entry, gap in zip(logged, gaps, strict=True):
        assert abs(entry["eval_positive_rate_female"] - entry["eval_positive_rate_male"]) == pytest.approx(gap)
        assert entry["eval_demographic_parity"] == pytest.approx(1 - gap)
    assert trainer.state.best_metric == min(gaps)
    best = logged[int(np.argmin(gaps))]["step"]
    assert trainer.state.best_model_checkpoint.endswith(f"checkpoint-{best}")
    assert trainer.evaluate()["eval_demographic_parity_difference"] == min(gaps)


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_a_trainer_that_adds_batch_by_batch(trainer, tmp_path):
    odds, seen = _load("equalized_odds"), []

    def compute_metrics(prediction, compute_result):
        labels = prediction.label_ids
        groups = GROUPS[len(seen) : len(seen) + len(labels)]
        odds.add_batch(predictions=prediction.predictions.argmax(-1), references=labels, groups=groups)
        seen.extend(labels)
        return odds.compute(flat=True) if compute_result else {}

    batches = Trainer(
        model=trainer.model,
        args=TrainingArguments(
            output_dir=str(tmp_path), batch_eval_metrics=True, report_to="none", use_cpu=True, disable_tqdm=True
        ),
        eval_dataset=trainer.eval_dataset,
        processing_class=trainer.processing_class,
        compute_metrics=compute_metrics,
    )
    found, whole = batches.evaluate(), trainer.evaluate()
    assert len(seen) == 32
    shared = [key for key in found if "equalized_odds" in key or "rates" in key]
    assert len(shared) > 20
    assert {key: found[key] for key in shared} == {key: whole[key] for key in shared}


def test_the_metric_of_ones_own_in_the_docstring_opens_as_a_module(tmp_path):
    """Its lines, in a file, are a module of evaluate; the examples beside it are run with all others."""
    examples = doctest.DocTestParser().get_examples(modules.__doc__)
    lines = [example.source for example in examples if example.source.startswith(("from", "import", "@"))]
    assert sum(line.startswith("@") for line in lines) == 1
    folder = tmp_path / "answer_length"
    folder.mkdir()
    (folder / "answer_length.py").write_text("".join(lines), encoding="utf-8")
    metric = evaluate.load(str(folder))
    found = metric.compute(predictions=[10, 12, 11, 20, 22, 21], groups=["a"] * 3 + ["b"] * 3, flat=True)
    assert (found["gap"], found["means_b_words"], found["n"]) == (10.0, 21.0, 6)
    metric.add_batch(predictions=[10, 12, 11], groups=["a"] * 3)
    metric.add_batch(predictions=[20, 22, 21], groups=["b"] * 3)
    assert metric.compute(flat=True) == found
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTest(examples, {}, "modules", None, 0, None))
    assert (runner.tries, runner.failures) == (len(examples), 0)
