"""What the project pushes can be pulled again: every library of the stack against the fake Hub."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from support.fake_hub import FakeHub

pytestmark = pytest.mark.whole


@pytest.fixture
def api(fake_hub: FakeHub) -> HfApi:
    return HfApi(endpoint=fake_hub.url, token="fake")


FOLDER = """
    import sys
    from pathlib import Path
    from huggingface_hub import HfApi

    work, api = Path(sys.argv[1]), HfApi()
    source = work / "source"
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "a é.txt").write_text("ä")
    (source / "sub" / "deep" / "w.safetensors").write_bytes(bytes(range(256)) * 100)
    (source / "big.txt").write_bytes(b"x" * 1_200_000)
    for kind in ("model", "dataset", "space"):
        where = dict(repo_id="tester/thing", repo_type=kind)
        api.create_repo(**where, **({"space_sdk": "gradio"} if kind == "space" else {}))
        first = api.upload_folder(folder_path=source, **where)
        api.upload_file(path_or_fileobj=b"two", path_in_repo="b.txt", **where)
        got = Path(api.snapshot_download(**where))
        for path in (path for path in source.rglob("*") if path.is_file()):
            assert (got / path.relative_to(source)).read_bytes() == path.read_bytes(), path
        assert (got / "b.txt").read_text() == "two"
        old = sorted(api.list_repo_files(revision=first.oid, **where))
        assert old == [".gitattributes", "a é.txt", "big.txt", "sub/deep/w.safetensors"], old
        tree = [item.path for item in api.list_repo_tree(path_in_repo="sub", recursive=True, **where)]
        assert tree == ["sub/deep", "sub/deep/w.safetensors"], tree
        api.delete_folder("sub", **where)
        assert not api.file_exists(filename="sub/deep/w.safetensors", **where)
        tree = [item.path for item in api.list_repo_tree(**where)]
        assert tree == [".gitattributes", "a é.txt", "b.txt", "big.txt"], tree
"""


def test_a_folder_comes_back_as_it_was(fake_hub: FakeHub, tmp_path: Path) -> None:
    fake_hub.run(FOLDER, tmp_path)
    for kind in ("model", "dataset", "space"):
        files = fake_hub.files("tester/thing", kind)
        assert files["a é.txt"] == "ä".encode()
        assert files["big.txt"] == b"x" * 1_200_000
    assert fake_hub.unknown == []


def test_errors_are_those_of_the_hub(fake_hub: FakeHub, api: HfApi, tmp_path: Path) -> None:
    api.create_repo("tester/thing")
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo("tester/thing")
    api.create_repo("tester/thing", exist_ok=True)
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info("tester/none")
    with pytest.raises(RevisionNotFoundError):
        api.repo_info("tester/thing", revision="0" * 40)
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download("tester/thing", "none.txt", local_dir=tmp_path)
    with pytest.raises(HfHubHTTPError, match="401"):
        HfApi(endpoint=fake_hub.url, token="other").create_repo("tester/two")


def test_it_listens_to_this_machine_only_and_ends(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with FakeHub(tmp_path) as hub:
        host, port = hub._server.server_address[:2]
        assert host == "127.0.0.1"
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    started = set(threading.enumerate()) - before
    for thread in started:  # the one that answered the connection may be about to end
        thread.join(5)
    assert not any(thread.is_alive() for thread in started)


def test_a_failing_child_shows_its_error(fake_hub: FakeHub) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        fake_hub.run("1 / 0")


STACK = """
    import json, sys, warnings
    from pathlib import Path
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        AutoModel, AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification, BertModel,
        PreTrainedTokenizerFast, Trainer, TrainingArguments,
    )

    torch.manual_seed(0)
    work, seen = Path(sys.argv[1]), {}
    words = "[PAD] [UNK] she he came late the nurse".split()
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
    small = dict(vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                 intermediate_size=16, max_position_embeddings=16)

    # a model card
    from huggingface_hub import ModelCard, ModelCardData
    card = ModelCard.from_template(ModelCardData(license="apache-2.0", language="en"), model_id="tester/card")
    from huggingface_hub import create_repo
    create_repo("tester/card")
    card.push_to_hub("tester/card")
    seen["card"] = ModelCard.load("tester/card").data.license

    # datasets
    from datasets import Dataset, load_dataset
    rows = Dataset.from_dict({"text": ["she came", "he came late"], "label": [0, 1]})
    rows.push_to_hub("tester/rows")
    again = load_dataset("tester/rows", split="train")
    seen["rows"] = again.to_list() == rows.to_list() and again.features == rows.features
    seen["streamed"] = list(load_dataset("tester/rows", split="train", streaming=True)) == rows.to_list()

    # a Trainer
    model = BertForSequenceClassification(BertConfig(**small))
    train = rows.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=4, truncation=True))
    args = TrainingArguments(str(work / "trained"), max_steps=1, report_to=[], use_cpu=True, push_to_hub=True,
                             hub_model_id="tester/trained", disable_tqdm=True, save_strategy="no")
    trainer = Trainer(model, args, train_dataset=train, processing_class=tokenizer)
    trainer.train()
    trainer.push_to_hub()
    ours, theirs = trainer.model, AutoModelForSequenceClassification.from_pretrained("tester/trained")
    pairs = zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True)
    seen["trainer"] = all(a[0] == b[0] and torch.equal(a[1], b[1]) for a, b in pairs)

    # SentenceTransformer
    BertModel(BertConfig(**small)).save_pretrained(work / "bert")
    tokenizer.save_pretrained(work / "bert")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    part = Transformer(str(work / "bert"))
    encoder = SentenceTransformer(modules=[part, Pooling(8, "mean")], device="cpu")
    encoder.push_to_hub("tester/encoder")
    encoder.push_to_hub("tester/encoder", exist_ok=True)
    texts = ["she came late", "the nurse"]
    pulled = SentenceTransformer("tester/encoder", device="cpu")
    seen["encoder"] = bool((pulled.encode(texts) == encoder.encode(texts)).all())

    # PEFT
    from peft import LoraConfig, PeftModel, TaskType, get_peft_model
    base = AutoModel.from_pretrained(work / "bert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        config = LoraConfig(task_type=TaskType.FEATURE_EXTRACTION, init_lora_weights=False)
        lora = get_peft_model(base, config)
    lora.push_to_hub("tester/lora")
    back = PeftModel.from_pretrained(AutoModel.from_pretrained(work / "bert"), "tester/lora")
    ids = torch.tensor([[2, 4, 5]])
    seen["peft"] = torch.equal(lora.eval()(ids).last_hidden_state, back.eval()(ids).last_hidden_state)

    # a metric in a Space
    import evaluate
    from huggingface_hub import HfApi
    space = work / "half"
    space.mkdir()
    (space / "half.py").write_text(
        "import evaluate\\nimport datasets\\n\\n\\nclass Half(evaluate.Metric):\\n"
        "    def _info(self):\\n"
        "        features = datasets.Features({'predictions': datasets.Value('float64')})\\n"
        "        return evaluate.MetricInfo(description='', citation='', features=features)\\n\\n"
        "    def _compute(self, predictions):\\n        return {'half': sum(predictions) / 2}\\n"
    )
    HfApi().create_repo("tester/half", repo_type="space", space_sdk="gradio")
    HfApi().upload_folder(repo_id="tester/half", repo_type="space", folder_path=space)
    metric = evaluate.load("tester/half", module_type="metric")
    seen["metric"] = metric.compute(predictions=[1.0, 2.0])["half"]
    print(json.dumps(seen))
"""


def test_every_library_pushes_and_pulls(fake_hub: FakeHub, tmp_path: Path) -> None:
    seen = json.loads(fake_hub.run(STACK, tmp_path).splitlines()[-1])
    assert seen == {
        "card": "apache-2.0",
        "rows": True,
        "streamed": True,
        "trainer": True,
        "encoder": True,
        "peft": True,
        "metric": 1.5,
    }
    assert "model.safetensors" in fake_hub.files("tester/trained")
    assert b"tags:" in fake_hub.files("tester/encoder")["README.md"]
    assert "data/train-00000-of-00001.parquet" in fake_hub.files("tester/rows", "dataset")
    assert fake_hub.unknown == []
