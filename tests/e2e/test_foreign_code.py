"""Models and data sets that bring code of their own: it never runs, whatever is answered to a question."""

from __future__ import annotations

import ast
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

import hf_fairness
from hf_fairness import cli
from hf_fairness.demo import corpus
from support.tiny_bert import save_tiny_bert

WORDS = ["he", "she", "they", "is", "a", "nurse", "doctor", "the", "."]
TEXTS = ["he is a nurse .", "she is a doctor ."]
TRIPLES = {"male": ["he is a nurse ."] * 8, "female": ["she is a nurse ."] * 8, "neutral": ["they is a nurse ."] * 8}
AUTO = ("Model", "ModelForMaskedLM", "ModelForCausalLM", "ModelForSequenceClassification", "ModelForSeq2SeqLM")
#: The module that every trap holds: it leaves a mark when it is imported, and would work if it were.
CODE = """
open({marker!r}, "w").write("code of a folder ran")
from transformers import BertConfig, BertModel, BertTokenizer
import torch
class TrapConfig(BertConfig):
    model_type = "trap"
class Trap(BertModel):
    config_class = TrapConfig
class TrapTokenizer(BertTokenizer):
    pass
class TrapModule(torch.nn.Module):
    @staticmethod
    def load(path):
        return TrapModule()
def load_dataset(*a, **k):
    pass
"""


class _Mark:
    """Leaves a mark when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """The file that code of a trap would write; whoever asks whether to run it hears yes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "marker"


def _edit(folder: Path, name: str, **entries) -> None:
    file = folder / name
    old = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**old, **entries}))


def _model_class(folder: Path) -> None:
    """A kind of model that transformers does not know."""
    classes = {f"Auto{kind}": "modeling_trap.Trap" for kind in AUTO}
    _edit(folder, "config.json", model_type="trap", auto_map={"AutoConfig": "modeling_trap.TrapConfig", **classes})
    _tokenizer_class(folder)


def _tokenizer_class(folder: Path) -> None:
    """A tokenizer that transformers does not know, of a model that it does."""
    _edit(
        folder,
        "tokenizer_config.json",
        tokenizer_class="TrapTokenizer",
        auto_map={"AutoTokenizer": ["modeling_trap.TrapTokenizer", None]},
    )


def _module_class(folder: Path) -> None:
    """A SentenceTransformer of a module that sentence-transformers does not know."""
    modules = [{"idx": 0, "name": "0", "path": "", "type": "modeling_trap.TrapModule"}]
    (folder / "modules.json").write_text(json.dumps(modules))


def _pickled_weights(folder: Path) -> None:
    """Weights whose reading calls a function."""
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": _Mark(folder.parent / "marker")}, 2))


TRAPS = {trap.__name__.strip("_"): trap for trap in (_model_class, _tokenizer_class, _module_class, _pickled_weights)}


@pytest.fixture(params=sorted(TRAPS))
def trap(request, tmp_path, marker) -> Path:
    folder = tmp_path / request.param
    save_tiny_bert(folder, WORDS, "BertForMaskedLM", hidden_size=16, intermediate_size=16, num_hidden_layers=1)
    (folder / "modeling_trap.py").write_text(CODE.format(marker=str(marker)))
    TRAPS[request.param](folder)
    return folder


def _ccd(model, **options):
    from hf_fairness.trainers import CCDConfig, CCDTrainer

    args = CCDConfig(output_dir="ccd", use_cpu=True, report_to="none", max_steps=1, disable_tqdm=True, **options)
    return CCDTrainer(model=model, args=args, train_dataset=Dataset.from_dict(TRIPLES))


def _module(name, **inputs):
    import evaluate

    return evaluate.load(hf_fairness.metric_path(name)).compute(**inputs)


def _generator(model):
    from hf_fairness.trainers import IBADRConfig
    from hf_fairness.trainers.ibadr.generator import open_generator

    return open_generator(model, config=IBADRConfig(output_dir="unused", use_cpu=True), n_labels=2, n_texts=1)


def _chat(model):
    from hf_fairness.generation.local import LocalClient

    return LocalClient(model).complete([{"role": "user", "content": "hello"}])


def _imported(path):
    """A function of the package by its dotted path."""
    import importlib

    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"hf_fairness.{module}"), name)


CROWS = {"sent_more": TEXTS[0], "sent_less": TEXTS[1], "stereo_antistereo": "stereo", "bias_type": "gender"}
STEREO = {
    "target": "nurse",
    "bias_type": "gender",
    "context": "BLANK is a nurse .",
    "sentences": [
        {"sentence": f"{word} is a nurse .", "gold_label": label, "id": label}
        for word, label in (("she", "stereotype"), ("he", "anti-stereotype"), ("doctor", "unrelated"))
    ],
}
#: Everything that opens a model by its folder.
OPENERS = {
    "as_encoder": lambda m: _imported("encoders.as_encoder")(m).encode(TEXTS),
    "BiasScore": lambda m: _imported("measure.encoder.bias_score.BiasScore")("text", m)({"text": TEXTS}),
    "bias_score": lambda m: _module("bias_score", texts=TEXTS, model=m),
    "seat": lambda m: _module("seat", model=m, tests=["6"], n_samples=10, n_bootstrap=2),
    "cced": lambda m: _module("cced", model=m, variants=TRIPLES),
    "bias_ir": lambda m: _module(
        "bias_ir",
        model=m,
        documents=[{"query_id": "1", "query": "nurse", "text": text, "group": text[:2]} for text in TEXTS],
    ),
    "crows_pairs": lambda m: _module("crows_pairs", rows=[CROWS], model=m),
    "stereoset": lambda m: _module("stereoset", rows=[STEREO], model=m),
    "challenge_accuracy": lambda m: _module(
        "challenge_accuracy",
        dataset="hans",
        references=[{"premise": TEXTS[0], "hypothesis": TEXTS[1], "label": "entailment", "heuristic": "x"}],
        model=m,
    ),
    "Classifier": lambda m: _imported("measure.classifier.classifier.Classifier")(m),
    "PerplexityRatio": lambda m: _imported("augment.perplexity.PerplexityRatio")(m, "text")(
        {"text": TEXTS, "text_counterfactual": TEXTS[::-1]}
    ),
    "CCDTrainer": lambda m: _ccd(m),
    "CCDTrainer with head": lambda m: _ccd(m, keep_mlm_head=True),
    "classifier to train": lambda m: _imported("trainers.training.pair_training.open_pair_classifier")(
        m, label_names=["a", "b"]
    ),
    "tokenizer": lambda m: _imported("_opening.find_tokenizer")(m),
    "generator": _generator,
    "chat": _chat,
    "translator": lambda m: _imported("trainers.gfst.checks.check_translator")(m, None, None),
}


#: Those that open a folder with modules.json as a SentenceTransformer.
SENTENCES = ("as_encoder", "BiasScore", "bias_score", "seat", "cced", "bias_ir", "CCDTrainer")


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("name", OPENERS)
def test_no_entry_runs_the_code_of_a_model_folder(trap, marker, name, capsys):
    said = "opened"  # as the class of transformers, where it has one
    try:
        OPENERS[name](str(trap))
    except (ImportError, AttributeError):
        raise  # of this test: what it names is not there
    except Exception as error:
        said = str(error)
    assert not marker.exists()
    assert "Do you wish to run" not in capsys.readouterr().out
    assert "trust_remote_code" not in said
    assert "weights_only" not in said
    refused = trap.name == "model_class" or (trap.name == "module_class" and name in SENTENCES)
    assert not refused or "never runs" in said


def _live(folder, kind):
    """A live model that says that it came from a folder."""
    import transformers

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = getattr(transformers, kind)(transformers.BertConfig(vocab_size=20, is_decoder="LMHead" in kind, **sizes))
    model.name_or_path = model.config.name_or_path = str(folder)
    return model


#: Everything that looks for the tokenizer of a live model where that came from.
LIVE = {
    "as_encoder": "BertModel",
    "CCDTrainer": "BertModel",
    "Classifier": "BertForSequenceClassification",
    "tokenizer": "BertModel",
    "PerplexityRatio": "BertLMHeadModel",
    "crows_pairs": "BertForMaskedLM",
}


@pytest.mark.parametrize("trap", ["model_class", "tokenizer_class"], indirect=True)
@pytest.mark.parametrize("name", LIVE)
def test_the_tokenizer_of_a_live_model_runs_no_code(trap, marker, name):
    if trap.name == "model_class":
        with pytest.raises((ValueError, TypeError), match="never runs"):
            OPENERS[name](_live(trap, LIVE[name]))
    else:  # transformers has a class for the tokenizer of a model that it knows, and takes that one
        OPENERS[name](_live(trap, LIVE[name]))
    assert not marker.exists()


COMMANDS = {
    "audit": "audit {model} --output out",
    "ccd": "ccd --model_name_or_path {model} --dataset {data} --output_dir out --use_cpu --max_steps 1",
    "data-diet": "data-diet {model} --dataset {data} --output_dir out",
    "data-diet full": "data-diet {model} --dataset {data} --output_dir out --mode full",
    "ibadr": "ibadr {model} --dataset {data} --generator_model {model} --n_shallow 8 --output_dir out",
    "gfst": "gfst {model} --dataset {pairs} --monolingual_dataset {data} --target_lang it --output_dir out --use_cpu",
    "augment bias score": "augment {data} --method subtract --percentile 50 --model_name_or_path {model} "
    "--output_dir out",
    "augment words": "augment {data} --method mlm --model_name_or_path {model} --output_dir out",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("trap", "name"),
    [("model_class", name) for name in COMMANDS] + [("module_class", name) for name in ("audit", "ccd", "data-diet")],
    indirect=["trap"],
)
def test_no_command_runs_the_code_of_a_model_folder(trap, marker, name, capfd, tmp_path):
    rows = {"text": corpus()[:200:5], "label": [0, 1] * 20}
    Dataset.from_dict(rows).to_csv(str(tmp_path / "data.csv"))
    Dataset.from_dict({"en": TEXTS * 10, "it": TEXTS * 10}).to_csv(str(tmp_path / "pairs.csv"))
    cli.main(COMMANDS[name].format(model=trap, data="data.csv", pairs="pairs.csv").split())
    said = "".join(capfd.readouterr())
    assert not marker.exists()
    assert "Do you wish to run" not in said
    assert "trust_remote_code" not in said
    assert "never runs" in said


def test_a_data_set_with_a_loading_script_does_not_run_it(marker, tmp_path):
    from hf_fairness.sources import open_dataset

    folder = tmp_path / "scripted"
    folder.mkdir()
    code = CODE.format(marker=str(marker))
    (folder / "scripted.py").write_text(code)
    with pytest.raises((ValueError, RuntimeError), match="scripted"):
        open_dataset(str(folder))
    (folder / "scripted.py").unlink()
    (folder / "data.csv").write_text("text\nhe left\n")
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: default\n  data_files: data.csv\n---\n")
    assert open_dataset(str(folder))["text"] == ["he left"]
    (folder / "data.csv").unlink()
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: default\n  data_files: data.pkl\n---\n")
    (folder / "data.pkl").write_bytes(pickle.dumps(_Mark(marker)))
    with pytest.raises(Exception, match=r"pkl|scripted"):  # the library's own error
        open_dataset(str(folder))
    assert not marker.exists()


def test_saved_arrays_hold_no_pickles(marker, tmp_path):
    from hf_fairness.trainers.data_diet.learners import encode

    file = tmp_path / "vectors.npz"
    np.savez(file, vectors=np.array([_Mark(marker)], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="unused"):  # what cannot be read without running it is computed again
        encode("unused", ["a"], device=None, cached=file)
    assert not marker.exists()


ROOT = Path(__file__).resolve().parents[2]
#: Calls that open what somebody else wrote; without `trust_remote_code=False` some of them ask, and run it on a yes.
OPENING = {"from_pretrained", "from_config", "SentenceTransformer", "CrossEncoder", "SparseEncoder", "pipeline"}
#: Classes whose opener knows no such argument: they read numbers and settings and have no code to run.
WITHOUT = {"GenerationConfig", "PeftModel", "PeftConfig", "spacy", "language"}


def _opens(call: ast.Call) -> str | None:
    """Name of an opening call; None for others."""
    function = call.func
    owner = function.value if isinstance(function, ast.Attribute) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in OPENING or (isinstance(owner, ast.Name) and owner.id in WITHOUT):
        return None
    if name == "SentenceTransformer" and not call.args:  # put together from live modules
        return None
    return None if name == "pipeline" and not any(word.arg == "model" for word in call.keywords) else name


def _calls(file: Path):
    return [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


FILES = [
    file for top in ("hf_fairness", "metrics", "trainers", "dataset_scripts") for file in (ROOT / top).rglob("*.py")
]


def test_every_call_that_opens_a_model_refuses_its_code():
    found, wrong = 0, []
    for file in FILES:
        for call in _calls(file):
            if _opens(call) is None:
                continue
            found += 1
            given = {word.arg: word.value for word in call.keywords}.get("trust_remote_code")
            if not (isinstance(given, ast.Constant) and given.value is False):
                wrong.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert 8 < found < 20  # models are opened in one place: look at what else would open one
    assert wrong == []


def test_nothing_is_unpickled():
    readers = {("pickle", "load"), ("pickle", "loads"), ("torch", "load"), ("joblib", "load"), ("dill", "load")}
    wrong = []
    for file in FILES:
        for call in _calls(file):
            name = getattr(getattr(call.func, "value", None), "id", ""), getattr(call.func, "attr", "")
            given = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
            if given.get("allow_pickle", False) or (name in readers and given.get("weights_only") is not True):
                wrong.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert wrong == []
