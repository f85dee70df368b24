"""Fine-tuning a copy of an encoder on GLUE: it learns, twice alike, sees no further than the whole model lets it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding
from tokenizers import Tokenizer, models

from hf_fairness.arguments import UtilityArguments
from hf_fairness.measure import read_transfer_task
from hf_fairness.trainers.training import glue
from hf_fairness.trainers.training.utility import open_utility, read_utility
from support.ccd_case import make_encoder
from support.utility_case import pairs, write_glue

SETTINGS = {"seed": 3, "num_train_epochs": 4, "learning_rate": 3e-3, "per_device_train_batch_size": 8, "use_cpu": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """GLUE with RTE alone."""
    return write_glue(tmp_path_factory.mktemp("glue"))


@pytest.fixture(scope="module")
def task(folder):
    arguments = UtilityArguments(glue_tasks=["RTE"], glue_data=folder)
    (found,) = read_utility(arguments, open_utility(arguments)).fine_tuned
    return found


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> SentenceTransformer:
    base = make_encoder(tmp_path_factory.mktemp("base"))
    return SentenceTransformer(base, device="cpu")


def with_layer(encoder: SentenceTransformer, weight: torch.Tensor) -> SentenceTransformer:
    """A copy with a linear layer behind the pooling, as an eraser is saved."""
    found = copy.deepcopy(encoder)
    size = len(weight)
    found.append(Dense(size, size, bias=False, activation_function=torch.nn.Identity(), init_weight=weight))
    return found


def test_the_task_is_read_from_its_folder(task):
    assert (task.name, len(task.train), len(task.measured), len(task.classes)) == ("RTE", 48, 24, 2)


def test_what_is_named_wrongly_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="--glue_tasks holds 'cola', expected some of sst2, mrpc, rte, wnli"):
        UtilityArguments(glue_tasks=["cola"])
    with pytest.raises(ValueError, match="--glue_epochs is 0, expected more than 0"):
        UtilityArguments(glue_epochs=0)
    with pytest.raises(ValueError, match="--glue_max_rows is 1, expected 2 or more"):
        UtilityArguments(glue_max_rows=1)
    (tmp_path / "WNLI").mkdir()
    for part in ("train", "dev"):
        Dataset.from_dict({**pairs(4), "label": [1] * 4}).to_csv(str(tmp_path / "WNLI" / f"{part}.csv"))
    arguments = UtilityArguments(glue_tasks=["wnli"], glue_data=str(tmp_path))
    with pytest.raises(ValueError, match="--glue_tasks WNLI: all 4 train rows have the label '1'"):
        read_utility(arguments, open_utility(arguments))
    (tmp_path / "WNLI" / "dev.csv").unlink()
    Dataset.from_dict(pairs(4)).to_csv(str(tmp_path / "WNLI" / "train.csv"))
    with pytest.raises(ValueError, match="--glue_tasks WNLI: all rows are in one part"):
        read_utility(arguments, open_utility(arguments))


def test_a_model_without_transformer_is_refused():
    words = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    static = SentenceTransformer(modules=[StaticEmbedding(words, embedding_dim=4)], device="cpu")
    with pytest.raises(ValueError, match="--glue_tasks fine-tune a transformer, and this model begins with Static"):
        glue.check_encoder(static)


def test_the_head_reads_the_embedding_of_the_whole_model_at_one_length(encoder):
    """A layer behind the pooling counts, is not trained, and a length of embeddings does not matter."""
    width = encoder.get_embedding_dimension()
    inputs = {"input_ids": torch.tensor([[2, 5, 7, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}

    def logits(model: SentenceTransformer) -> torch.Tensor:
        torch.manual_seed(0)
        return glue.EncoderClassifier(copy.deepcopy(model), 2).eval()(**inputs)["logits"]

    plain = logits(encoder)
    assert torch.allclose(logits(with_layer(encoder, 5.0 * torch.eye(width))), plain, atol=1e-5)
    normalized = copy.deepcopy(encoder)
    normalized.append(Normalize())
    assert torch.allclose(logits(normalized), plain, atol=1e-5)
    half = torch.diag((torch.arange(width) % 2).float())
    assert not torch.allclose(logits(with_layer(encoder, half)), plain, atol=1e-3)
    classifier = glue.EncoderClassifier(with_layer(encoder, half), 2)
    trained = {name for name, weight in classifier.named_parameters() if weight.requires_grad}
    assert {name.split(".")[0] for name in trained} == {"encoder", "head"}
    assert all(name.startswith("encoder.0.") for name in trained if name.startswith("encoder"))


@pytest.mark.whole
def test_it_learns_is_the_same_twice_and_goes_on_from_what_is_there(encoder, task, tmp_path):
    before = copy.deepcopy(encoder.state_dict())
    glue.fine_tune_all(encoder, [task], tmp_path, SETTINGS, max_rows=None)
    first = glue.answers_of(task, tmp_path)
    assert np.mean(first == task.gold[task.measured]) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["RTE.json"]
    assert all(torch.equal(before[name], weight) for name, weight in encoder.state_dict().items())
    stamp = (tmp_path / "RTE.json").stat().st_mtime_ns
    glue.fine_tune_all(encoder, [task], tmp_path, SETTINGS, max_rows=None)
    assert (tmp_path / "RTE.json").stat().st_mtime_ns == stamp
    again = glue.fine_tune(encoder, task, tmp_path / "again", SETTINGS, max_rows=None)
    assert (again == first).all()


@pytest.mark.whole
def test_a_projection_that_takes_all_out_leaves_the_majority(encoder, task, tmp_path):
    """What `AutoModelForSequenceClassification` would miss: a rank of 0 behind the pooling."""
    width = encoder.get_embedding_dimension()
    nothing = with_layer(encoder, torch.zeros(width, width))
    told = glue.fine_tune(nothing, task, tmp_path, {**SETTINGS, "num_train_epochs": 1}, max_rows=32)
    assert len(set(told)) == 1


def test_rows_of_one_part_are_read_as_such():
    """Folds are of heads on frozen embeddings; a fine-tuning needs a part of its own."""
    assert not len(read_transfer_task("rte", pairs(8)).test)
