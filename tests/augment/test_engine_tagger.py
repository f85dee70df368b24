"""A real spaCy pipeline, trained here, settles pronouns; it travels to other processes and hashes alike."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

spacy = pytest.importorskip("spacy")

from datasets import Dataset  # noqa: E402
from datasets.fingerprint import Hasher  # noqa: E402

from hf_fairness.attributes import load_attribute  # noqa: E402
from hf_fairness.augment import CounterfactualSwap  # noqa: E402
from hf_fairness.augment.engine import engine_for  # noqa: E402
from hf_fairness.augment.tagger import SpacyTagger  # noqa: E402

BOTH = {"male": "female", "female": "male"}
#: Sentences that may be read otherwise without a tagger, with the tag of their pronoun.
HARD = {
    "He wrote her letters": ("PRP", "She wrote him letters"),
    "We followed her barefoot": ("PRP", "We followed him barefoot"),
    "He gave her flowers": ("PRP$", "She gave his flowers"),
    "She has seen her wander": ("PRP", "He has seen him wander"),
}


@pytest.fixture(scope="module")
def pipeline():
    """A tagger trained on the hard sentences until it knows them: its weights are real, its knowledge is small."""
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    rows = []
    for text, (tag, _) in HARD.items():
        doc = nlp.make_doc(text)
        first = {"He": "PRP", "She": "PRP", "We": "PRP", "They": "PRP"}
        tags = [tag if word.lower_ == "her" else first.get(word.text, "XX") for word in doc]
        rows.append(Example.from_dict(doc, {"tags": tags}))
    optimizer = nlp.initialize(lambda: rows)
    for _ in range(30):
        nlp.update(rows, sgd=optimizer)
    return nlp


def swapped(text, tagger=None):
    return engine_for(load_attribute("gender")).swap(text, BOTH, tagger)[0]


def test_the_tagger_decides_where_it_has_an_opinion(pipeline):
    tagger = SpacyTagger(pipeline)
    for text, (tag, wanted) in HARD.items():
        start = text.index("her")
        assert (start, start + 3, tag) in tagger(text)
        assert swapped(text, tagger) == wanted
    assert sum(swapped(text) != wanted for text, (_, wanted) in HARD.items()) >= 2  # else the tagger shows nothing


def test_without_an_opinion_the_rules_decide():
    for text in ("The medal is his.", "It is his dog.", "I know her.", "I know her dog."):
        assert swapped(text, lambda _: []) == swapped(text)
        assert swapped(text, lambda text: [(0, len(text), "PRP")]) == swapped(text)  # other words than ours
    assert swapped("The medal is his.", lambda text: [(13, 16, "PRP$")]) == "The medal is hers."  # PRP$ is both


def test_the_rules_alone_read_winogender_as_a_perfect_tagger_would(shared):
    lines = (shared / "data" / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[1] for line in lines]
    engine, seen = engine_for(load_attribute("gender")), 0
    tags = {"object": "PRP", "possessive_determiner": "PRP$", "possessive_pronoun": "PRP"}
    forms = {line.split("\t")[0]: line.split("\t")[1] for line in lines}
    for name, text in forms.items():
        if ".female." not in name:
            continue
        other = forms[name.replace(".female.", ".male.")]
        gold = {}
        for hit in engine.find(text)[0]:
            if text[hit.start : hit.end].lower() == "her":  # the human text says which: him or his
                word = other.split()[len(text[: hit.start].split())].strip(".,")
                gold[hit.start, hit.end] = tags["object" if word == "him" else "possessive_determiner"]
        seen += len(gold)
        assert swapped(text, lambda _, gold=gold: [(*span, tag) for span, tag in gold.items()]) == swapped(text)
    assert len(texts) == 720
    assert seen > 50


@pytest.mark.whole
def test_it_travels_and_hashes_alike(pipeline, tmp_path):
    tagger = SpacyTagger(pipeline)
    text = next(iter(HARD))
    before = Hasher.hash(tagger)
    assert tagger(text) == pickle.loads(pickle.dumps(tagger))(text)
    assert Hasher.hash(tagger) == Hasher.hash(SpacyTagger(pipeline)) == before  # calls change nothing
    pipeline.to_disk(tmp_path / "model")
    by_path = SpacyTagger(tmp_path / "model")
    assert by_path(text) == tagger(text)
    code = (
        "from datasets.fingerprint import Hasher; from hf_fairness.augment.tagger import SpacyTagger; import sys;"
        f"print(Hasher.hash(SpacyTagger({str(tmp_path / 'model')!r})))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == Hasher.hash(by_path)


def test_in_two_processes(pipeline):
    rows = Dataset.from_dict({"text": list(HARD)})
    function = CounterfactualSwap("text", tagger=SpacyTagger(pipeline))
    one = rows.map(function, batched=True)
    two = rows.map(function, batched=True, num_proc=2)
    assert one["text_counterfactual"] == two["text_counterfactual"] == [wanted for _, wanted in HARD.values()]


def test_bad_models():
    with pytest.raises(TypeError, match="got int: 3"):
        SpacyTagger(3)
    with pytest.raises(ValueError, match=r"writes no tags: its components are none.*en_core_web_sm"):
        SpacyTagger(spacy.blank("en"))("I saw her.")
