"""What each command pushes to the Hub, pulled back and opened by the code of its card: the same numbers as on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_fairness.report.merge import own_section
from support import ibadr_case
from support.ccd_case import QUICK, make_encoder
from support.diet_world import BAD, GOOD
from support.diet_world import rows as planted_rows
from support.fake_hub import FakeHub, Repo
from support.tiny_bert import save_tiny_bert

pytestmark = pytest.mark.whole

START = """
import json, sys
from pathlib import Path
import numpy as np
from datasets import load_dataset, load_from_disk
from support.pulled import check_private, pull, run_card
from hf_fairness.cli import main

out = Path(sys.argv[1])
words = json.loads(sys.argv[2])
assert main(words) == 0
assert main(words) == 0  # nothing has changed
"""
#: Of commands: the words that push, the repositories that are made, and what is compared.
CCD = """
from peft import PeftModel
from transformers import AutoModel
place = pull("tester/it")
check_private(place, str(out), sys.argv[3])
theirs, ours = run_card(place), run_card(out / "model")
np.testing.assert_allclose(theirs["embeddings"], ours["embeddings"], atol=1e-6)
texts = {"input_ids": theirs["model"].tokenize(["She sings."])["input_ids"]}
adapted = PeftModel.from_pretrained(AutoModel.from_pretrained(sys.argv[3]), place / "adapter").eval()
merged = AutoModel.from_pretrained(place).eval()
base = AutoModel.from_pretrained(sys.argv[3]).eval()
state = lambda model: model(**texts).last_hidden_state.detach().numpy()
np.testing.assert_allclose(state(adapted), state(merged), atol=1e-5)
assert np.abs(state(base) - state(merged)).max() > 1e-3
rows = run_card(pull("tester/it-variants", "dataset"))["rows"]
for split, name in {"train": "train", "validation": "validation", "test": "audit"}.items():
    saved = load_from_disk(out / "variants" / name).remove_columns("source_text")
    assert len(saved) and rows[split].to_list() == saved.to_list(), split
check_private(pull("tester/it-variants", "dataset"), str(out))
assert load_dataset(str(pull("tester/it-variants", "dataset")), split="test").column_names == saved.column_names
card = (pull("tester/it-variants", "dataset") / "README.md").read_text()
assert not [text for row in saved.to_list() for text in map(str, row.values()) if len(text) > 9 and text in card]
assert "license: cc0-1.0" in card and "demo" in card and "n<1K" in card
assert all(f"| {name} |" in card for name in saved.column_names)
"""
IBADR = """
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
place, writer, pool = pull("tester/it"), pull("tester/it-generator"), pull("tester/it-pool", "dataset")
for folder in (place, writer, pool):
    check_private(folder, str(out.parent))
theirs, ours = run_card(place), run_card(out / "model")
np.testing.assert_allclose(theirs["logits"].detach(), ours["logits"].detach(), atol=1e-6)
assert theirs["label"] == ours["label"] in ("entailment", "neutral", "contradiction")
last = out / "generator-1" / sys.argv[3]
given = run_card(writer)
model = AutoModelForCausalLM.from_pretrained(last)
np.testing.assert_allclose(
    given["model"](**given["batch"]).logits.detach(), model(**given["batch"]).logits.detach(), atol=1e-6
)
assert given["row"].startswith("<|bias-1|>") or "<|bias-1|>" in given["row"]
rows = run_card(pool)["rows"]["train"]
local = run_card(out / "pool")["rows"]["train"]
assert rows.features == local.features and rows.to_list() == local.to_list()
assert len(rows) > len([row for row in rows if row["iteration"] == 0]) > 0
"""
DIET = """
place, kept = pull("tester/it"), pull("tester/it-rows", "dataset")
for folder in (place, kept):
    check_private(folder, str(out.parent))
theirs, ours, mode = run_card(place), run_card(out / "model"), sys.argv[3]
rows = run_card(kept)["rows"]["train"]
record = json.loads((place / "data_diet.json").read_text())
assert len(rows) == record["kept_rows"]
assert sum(rows["counterfactual"]) == record["kept_counterfactuals"]
if mode == "fast":
    np.testing.assert_allclose(theirs["probabilities"], ours["probabilities"], atol=1e-6)
else:
    np.testing.assert_allclose(theirs["logits"].detach(), ours["logits"].detach(), atol=1e-6)
    assert theirs["label"] == ours["label"] in ("0", "1")
if mode == "lora":
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification
    base = AutoModelForSequenceClassification.from_pretrained(sys.argv[4])
    adapted = PeftModel.from_pretrained(base, place / "adapter").eval()
    batch = theirs["tokenizer"]("She was kind.", return_tensors="pt")
    np.testing.assert_allclose(adapted(**batch).logits.detach(), theirs["logits"].detach(), atol=1e-5)
texts = load_dataset("csv", data_files=sys.argv[5], split="train")
labels = dict(zip(texts["text"], map(str, texts["label"])))
for row in rows:
    label = rows.features["label"].int2str(row["label"])
    if row["counterfactual"]:
        assert row["text"].split()[0] in ("she", "he", "queen", "king")
    else:
        assert labels[row["text"]] == label
assert {row["counterfactual"] for row in rows} == {True, False}
"""


def push(hub: FakeHub, out: Path, words: list[str], then: str, *more: object) -> str:
    """Run a command that pushes, twice, and then code that compares."""
    import json

    return hub.run(START + then, out, json.dumps([*map(str, words)]), *more, timeout=900)


def commits(hub: FakeHub) -> dict[str, int]:
    """Commits by repository, without the one that makes it."""
    return {name: len(repo.commits) - 1 for (_, name), repo in hub.repos.items()}


def test_ccd(fake_hub, tmp_path):
    encoder, out = make_encoder(tmp_path / "base"), tmp_path / "out"
    words = ["ccd", "--model_name_or_path", encoder, "--output_dir", out, "--max_rows", 64, "--no_control", *QUICK]
    words += ["--use_peft", "True", "--lora_dropout", "0", "--learning_rate", "1e-2", "--max_steps", "4"]
    words += ["--push_to_hub", "--hub_model_id", "it", "--push_artefacts", "variants"]
    words += ["--license", "cc0-1.0"]
    printed = push(fake_hub, out, words, CCD, encoder)
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 2
    assert commits(fake_hub) == {"tester/it": 1, "tester/it-variants": 1}
    card = fake_hub.files("tester/it")["README.md"].decode()
    assert card.index("# tester/it") < card.index("Got worse") < card.index('SentenceTransformer("tester/it")')


@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
def test_ibadr(fake_hub, tmp_path, lora):
    files = ibadr_case.write_files(tmp_path / "data")
    words = ["ibadr", files / "classifier", "--config", files / "ibadr.yaml", "--dataset", files / "train.jsonl"]
    words += ["--validation_dataset", files / "validation.jsonl", "--output_dir", tmp_path / "it"]
    words += ["--challenge", f"own={files / 'challenge.jsonl'}", *(["--generator_use_peft"] if lora else [])]
    words += ["--n_generated", "80"]
    words += ["--push_to_hub", "--push_artefacts", "generator", "pool"]
    printed = push(fake_hub, tmp_path / "it", words, IBADR, "merged" if lora else "")
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 3
    names = ("tester/it", "tester/it-generator", "tester/it-pool")
    assert commits(fake_hub) == dict.fromkeys(names, 1)
    for name, kind in zip(names, ("model", "model", "dataset"), strict=True):
        card = fake_hub.files(name, kind)["README.md"].decode()
        assert card.index(f"# {name}") < card.index("Got worse") < card.index("## How to load it")


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
@pytest.mark.parametrize("mode", ["fast", "full", "lora"])
def test_data_diet(fake_hub, tmp_path, mode):
    """Fast mode on an encoder that is on the Hub itself."""
    words = ["it", "was", "and", "on", "day", "she", "he", "queen", "king", *GOOD, *BAD, *map(str, range(40))]
    bert, train = save_tiny_bert(tmp_path / "bert", words), tmp_path / "train.csv"
    planted_rows(300, 0).to_csv(str(train))
    if mode == "fast":
        files = {path.name: path.read_bytes() for path in Path(bert).iterdir()}
        fake_hub.repos["models", "tester/base"] = Repo({"0" * 40: files})
    words = ["data-diet", "tester/base" if mode == "fast" else bert, "--dataset", train, "--max_auc_drop", "0.9"]
    words += ["--n_seeds", "1", "--n_init", "1", "--num_train_epochs", "2", "--experiments", "2", "--use_cpu"]
    words += ["--rankings", "healthy_random", "--factual_fractions", "0.5", "--counterfactual_fractions", "0.3"]
    words += ["--per_device_train_batch_size", "32", "--learning_rate", "0.005", "--output_dir", tmp_path / "it"]
    words += ["--mode", "fast" if mode == "fast" else "full", *(["--use_peft"] if mode == "lora" else [])]
    words += ["--push_to_hub", "--push_artefacts", "rows"]
    printed = push(fake_hub, tmp_path / "it", words, DIET, mode, bert, train)
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 2
    assert commits(fake_hub) | {"tester/base": 0} == {"tester/it": 1, "tester/it-rows": 1, "tester/base": 0}
    for name, kind in (("tester/it", "model"), ("tester/it-rows", "dataset")):
        card = fake_hub.files(name, kind)["README.md"].decode()
        assert card.index(f"# {name}") < card.index("Got worse") < card.index("## How to load it")


def test_an_audit_goes_into_the_card_that_is_there(fake_hub, tmp_path):
    """In one commit; the words of the author, and other files, stay as they are."""
    encoder, repo = make_encoder(tmp_path / "base"), Repo()
    card = b"---\nlicense: mit\ntags:\n- mine\n---\n# Mine\n\nMy words.\n\n## Use\n\nMine too.\n"
    repo.commit({".gitattributes": b"", "README.md": card, "config.json": b"{}"})
    fake_hub.repos["models", "tester/it"] = repo
    words = ["audit", encoder, "--output", tmp_path / "report", "--seat_tests", "6", *QUICK[:4]]
    printed = push(fake_hub, tmp_path, [*words, "--push_to_hub", "--hub_model_id", "it"], "")
    assert commits(fake_hub) == {"tester/it": printed.count("Pushed to")}  # the second says another time of day
    files = fake_hub.files("tester/it")
    text = files.pop("README.md").decode()
    assert set(files) == {".gitattributes", "config.json"}
    for words in ("license: mit", "- mine", "- hf-fairness", "# Mine\n\nMy words.\n\n## Use\n\nMine too.\n"):
        assert words in text
    section = (tmp_path / "report" / "report.md").read_text()
    assert own_section(text) == section.strip()
    assert "model-index:" in text
    assert str(tmp_path) not in text


def test_private_texts_are_pushed_only_when_asked(tmp_path, capsys):
    from hf_fairness.cli import command

    ccd = command("ccd")

    with pytest.raises(ValueError, match="--push_artefacts variants needs --push_to_hub"):
        ccd(["--model_name_or_path", "m", "--output_dir", str(tmp_path), "--push_artefacts", "variants"])
    with pytest.raises(SystemExit):
        ccd(["--model_name_or_path", "m", "--output_dir", str(tmp_path), "--push_artefacts", "pool"])
    assert "--push_artefacts: invalid choice: 'pool' (choose from 'variants')" in capsys.readouterr().err
