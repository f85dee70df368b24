"""Languages of real tokenizer classes: which codes stand where in sources, labels and translations."""

from __future__ import annotations

import subprocess
import sys

import pytest
from datasets import Dataset

from hf_fairness.measure.models import open_translator
from hf_fairness.measure.translator.translation import translate
from hf_fairness.measure.translator.translation_languages import set_languages
from hf_fairness.trainers import GFSTConfig, train_translator
from hf_fairness.trainers.gfst.checks import check_translator
from hf_fairness.trainers.gfst.training import encode_pairs
from support.real_translators import CODES, KINDS, real_translator

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")]
PAIRS = {"source": ["the cat sees.", "the dog."], "target": ["il gatto vede.", "il cane."]}
MANY = tuple(CODES)
#: What stands before and after the pieces of a text, by the language L.
FRAMES = {
    **dict.fromkeys(("nllb", "mbart50"), (["L"], ["</s>"])),
    "m2m100": (["__L__"], ["</s>"]),
    "mbart": ([], ["</s>", "L"]),
    **dict.fromkeys(("t5", "marian"), ([], ["</s>"])),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Kind -> folder with model and tokenizer, as they are published."""
    found = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    for kind, folder in found.items():
        real_translator(kind, folder)
    return found


@pytest.fixture
def opened(folders):
    """Opens a translator anew: nothing that another test did to the tokenizer is left."""
    return lambda kind: open_translator(folders[kind])


@pytest.fixture
def config(tmp_path):
    return GFSTConfig(
        output_dir=str(tmp_path / "out"), use_cpu=True, disable_tqdm=True, max_steps=2, warmup_steps=0,
        save_strategy="no", average_checkpoints=0, logging_strategy="no", per_device_train_batch_size=2,
    )  # fmt: skip


def framed(kind: str, tokenizer, ids, language: str | None) -> str:
    """The text between what must stand before and after its pieces."""
    before, after = ([part.replace("L", language or "") for part in side] for side in FRAMES[kind])
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    assert tokens[: len(before)] == before
    assert tokens[len(tokens) - len(after) :] == after
    return "".join(tokens[len(before) : len(tokens) - len(after)]).replace("\u2581", " ").strip()


def decoder_starts(model) -> list[list[int]]:
    """What the decoder is given, call by call: the first row."""
    seen: list[list[int]] = []

    def note(module, args, kwargs):
        seen.append((kwargs["input_ids"] if "input_ids" in kwargs else args[0])[0].tolist())

    model.get_decoder().register_forward_pre_hook(note, with_kwargs=True)
    return seen


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sources_and_labels_are_in_their_languages(opened, config, kind, backwards):
    model, tokenizer = opened(kind)
    pairs, codes = dict(PAIRS), CODES.get(kind, (None, None))
    if backwards:
        pairs, codes = {"source": PAIRS["target"], "target": PAIRS["source"]}, codes[::-1]
    set_languages(model, tokenizer, *codes)
    rows, _ = encode_pairs(Dataset.from_dict(pairs), model, tokenizer, config)
    for row, source, target in zip(rows, pairs["source"], pairs["target"], strict=True):
        found = framed(kind, tokenizer, row["input_ids"], codes[0])
        assert found == source or kind == "marian"  # whose pieces of the other language are unknown
        found = framed(kind, tokenizer, row["labels"], codes[1])
        assert found == target or (kind == "marian" and backwards)


@pytest.mark.parametrize("kind", MANY)
def test_the_target_alone_is_enough(opened, config, kind):
    model, tokenizer = opened(kind)
    source, target = CODES[kind]
    set_languages(model, tokenizer, target=target)
    rows, _ = encode_pairs(Dataset.from_dict(PAIRS), model, tokenizer, config)
    assert framed(kind, tokenizer, rows[0]["input_ids"], source) == PAIRS["source"][0]
    assert framed(kind, tokenizer, rows[0]["labels"], target) == PAIRS["target"][0]


@pytest.mark.parametrize("kind", MANY)
def test_without_a_target_nothing_is_trained_or_translated(opened, config, folders, kind):
    model, tokenizer = opened(kind)
    rows = Dataset.from_dict(PAIRS)
    for _ in range(2):
        with pytest.raises(ValueError, match="translates into many languages and none was named"):
            encode_pairs(rows, model, tokenizer, config)
        tokenizer.tgt_lang = tokenizer.src_lang  # as the tokenizers themselves set it when they make labels
    with pytest.raises(ValueError, match="none was named"):
        translate(model, tokenizer, ["the cat"])
    with pytest.raises(ValueError, match="--target_code"):
        check_translator(str(folders[kind]), None, None)
    own, other = CODES[kind]
    with pytest.raises(ValueError, match=f"are both {own!r}, which is the tokenizer's own"):
        check_translator(str(folders[kind]), None, own)
    with pytest.raises(ValueError, match="source_code is 'english', which is no language code"):
        set_languages(model, tokenizer, "english", other)


@pytest.mark.parametrize("kind", MANY)
def test_a_model_that_is_set_to_a_language_needs_no_code(opened, config, kind):
    model, tokenizer = opened(kind)
    set_languages(model, tokenizer, target=CODES[kind][1])
    fresh = opened(kind)[1]
    rows, _ = encode_pairs(Dataset.from_dict(PAIRS), model, fresh, config)
    assert framed(kind, fresh, rows[0]["labels"], CODES[kind][1]) == PAIRS["target"][0]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_translation_begins_as_training_did(opened, config, kind, backwards):
    model, tokenizer = opened(kind)
    source, target = CODES.get(kind, (None, None))[:: -1 if backwards else 1]
    starts = decoder_starts(model)
    set_languages(model, tokenizer, source, target)
    train_translator(model, tokenizer, Dataset.from_dict(PAIRS), config)
    trained = starts[0]
    starts.clear()
    translate(model, tokenizer, ["the cat"], source_code=source, target_code=target, num_beams=1, max_new_tokens=4)
    begun = [step[-1] for step in starts]
    n = 2 if kind in ("nllb", "m2m100", "mbart50") else 1  # end of text and language; else one token
    assert trained[:n] == begun[:n]
    expected = {"t5": "<pad>", "marian": "<pad>", "m2m100": f"__{target}__"}.get(kind, target)
    assert tokenizer.convert_ids_to_tokens(trained[n - 1]) == expected


def test_the_language_is_no_part_of_the_translation(opened):
    model, tokenizer = opened("m2m100")
    (found,) = translate(model, tokenizer, ["the cat"], target_code="it", num_beams=2, max_new_tokens=4)
    assert not found.startswith("__it__")


def test_a_prefix_reaches_the_source_alone(opened):
    model, tokenizer = opened("marian")
    rows = tokenizer([">>ita<< the cat"], text_target=["il gatto"])
    assert tokenizer.convert_ids_to_tokens(rows["input_ids"][0])[0] == ">>ita<<"
    assert tokenizer.convert_ids_to_tokens(rows["labels"][0])[0] != ">>ita<<"
    assert translate(model, tokenizer, ["the cat"], prefix=">>ita<< ", num_beams=1, max_new_tokens=4)


def test_a_tokenizer_without_languages_takes_none(opened):
    with pytest.raises(ValueError, match="knows no source languages: leave it out"):
        set_languages(*opened("t5"), "en", None)
    set_languages(*opened("t5"))


HIDING = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name == {module!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
from hf_fairness._opening import open_pair
try:
    open_pair("AutoModelForSeq2SeqLM", {folder!r})
except ImportError as error:
    print(error)
"""


@pytest.mark.whole
@pytest.mark.parametrize(("kind", "module"), [("marian", "sentencepiece"), ("mbart50", "google.protobuf")])
def test_a_tokenizer_without_its_package_names_our_extra(folders, tmp_path, kind, module):
    folder = folders[kind]
    if kind == "mbart50":  # as many are published: the sentencepiece file, no tokenizer.json
        for name in ("config.json", "model.safetensors"):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
        (tmp_path / "sentencepiece.bpe.model").write_bytes((folder / "pieces" / "both.model").read_bytes())
        (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "MBart50Tokenizer"}')
        folder = tmp_path
    code = HIDING.format(module=module, folder=str(folder))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert f"{module} is not installed" in done.stdout, done.stderr
    assert 'pip install "hf-fairness[translation]"' in done.stdout
