"""What each command pushes to the Hub, pulled back and opened by the code of its card: the same numbers as on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccd_case import QUICK, make_encoder
from fake_hub import FakeHub

START = """
import json, sys
from pathlib import Path
sys.path.append(sys.argv[1])
import numpy as np
from datasets import load_dataset, load_from_disk
from pulled import check_private, pull, run_card
from hf_fairness.cli import main

out = Path(sys.argv[2])
words = json.loads(sys.argv[3])
assert main(words) == 0
assert main(words) == 0  # nothing has changed
"""
#: Of commands: the words that push, the repositories that are made, and what is compared.
CCD = """
from peft import PeftModel
from transformers import AutoModel
place = pull("tester/it")
check_private(place, str(out), sys.argv[4])
theirs, ours = run_card(place), run_card(out / "model")
np.testing.assert_allclose(theirs["embeddings"], ours["embeddings"], atol=1e-6)
texts = {"input_ids": theirs["model"].tokenize(["She sings."])["input_ids"]}
adapted = PeftModel.from_pretrained(AutoModel.from_pretrained(sys.argv[4]), place / "adapter").eval()
merged = AutoModel.from_pretrained(place).eval()
base = AutoModel.from_pretrained(sys.argv[4]).eval()
state = lambda model: model(**texts).last_hidden_state.detach().numpy()
np.testing.assert_allclose(state(adapted), state(merged), atol=1e-5)
assert np.abs(state(base) - state(merged)).max() > 1e-3
rows = run_card(pull("tester/it-variants", "dataset"))["rows"]
for split, name in {"train": "train", "validation": "validation", "test": "audit"}.items():
    saved = load_from_disk(out / "variants" / name)
    assert len(saved) and rows[split].to_list() == saved.to_list(), split
check_private(pull("tester/it-variants", "dataset"), str(out))
"""


def push(hub: FakeHub, out: Path, words: list[str], then: str, *more: object) -> str:
    """Run a command that pushes, twice, and then code that compares."""
    import json

    tests = Path(__file__).resolve().parent.parent
    return hub.run(START + then, tests, out, json.dumps([*map(str, words)]), *more, timeout=900)


def commits(hub: FakeHub) -> dict[str, int]:
    """Commits by repository, without the one that makes it."""
    return {name: len(repo.commits) - 1 for (_, name), repo in hub.repos.items()}


def test_ccd(fake_hub, tmp_path):
    encoder, out = make_encoder(tmp_path / "base"), tmp_path / "out"
    words = ["ccd", "--model_name_or_path", encoder, "--output_dir", out, "--max_rows", 64, "--no_control", *QUICK]
    words += ["--use_peft", "True", "--lora_dropout", "0", "--learning_rate", "1e-2", "--max_steps", "4"]
    words += ["--push_to_hub", "--hub_model_id", "it", "--push_artefacts", "variants"]
    printed = push(fake_hub, out, words, CCD, encoder)
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 2
    assert commits(fake_hub) == {"tester/it": 1, "tester/it-variants": 1}
    card = fake_hub.files("tester/it")["README.md"].decode()
    assert card.index("# tester/it") < card.index("Got worse") < card.index('SentenceTransformer("tester/it")')


def test_private_texts_are_pushed_only_when_asked(tmp_path):
    from hf_fairness.cli import ccd

    with pytest.raises(ValueError, match="--push_artefacts variants needs --push_to_hub"):
        ccd.main(["--model_name_or_path", "m", "--output_dir", str(tmp_path), "--push_artefacts", "variants"])
    with pytest.raises(ValueError, match="push_artefacts has 'pool', expected some of variants"):
        ccd.main(["--model_name_or_path", "m", "--output_dir", str(tmp_path), "--push_artefacts", "pool"])
