"""Which swaps are rejected, why, and how sure the others are."""

from __future__ import annotations

import pickle

import pytest
from datasets import Dataset, Value
from datasets.fingerprint import Hasher
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import (
    REASONS,
    CounterfactualAugmentation,
    CounterfactualSubstitution,
    CounterfactualSwap,
    PerplexityRatio,
    SwapQuality,
)


def judge(*texts: str, names: bool = False, attribute: str = "gender", target: str | None = None, **options):
    """Swap one row, a text per column, and judge it."""
    columns = [f"c{i}" for i in range(len(texts))]
    row = dict(zip(columns, texts, strict=True))
    row |= CounterfactualSwap(columns, names=names, attribute=attribute, target=target)(row)
    return SwapQuality(columns, attribute=attribute, **options)(row)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("She is pregnant.", "inherent"),
        ("The surgeon removed his prostate.", "inherent"),
        ("He held his wife's hand in the last weeks of her pregnancy.", "inherent"),
        ("Mr. John Smith left.", "title"),
        ("Mrs. Mary left.", "title"),
        ("Her aunt Mary called.", "title"),
        ("John lost his keys.", "name"),
        # nothing was swapped, so nothing was judged bad
        ("Rain.", ""),
        ("", ""),
        # the same words where no swap breaks them
        ("He asked the pregnant patient.", ""),
        ("He left. The pregnant cat slept.", ""),
        ("Mr. Smith went home. A midwife came.", ""),
        ("He is a fan of the Chicago Bulls.", ""),
        ("He met Mary.", ""),
        ("Mrs. Smith left with Mark Jones.", ""),
        ("His sister lives in Paris.", ""),
    ],
)
def test_rules_on_one_text(text, code):
    row = judge(text)
    assert row["rejected_reason"].partition(":")[0] == code, row
    assert (row["confidence"] == 0.0) == bool(code)


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("The king waved.", "King waved."), "coreference"),  # read as a surname, and kept
        (("A woman waits.", "The pregnant patient waits."), "coreference"),
        (("A woman waits.", "Mary waits."), "coreference"),
        (("A man waits.", "Mary waits."), ""),
        (("A man waits.", "He waits."), ""),
        (("The king ate at Burger King.", "A king eats at Burger King."), ""),
        (("An aunt sleeps.", "An animal sleeps."), ""),  # the article that followed is no term
    ],
)
def test_rules_across_columns(texts, code):
    assert judge(*texts)["rejected_reason"].partition(":")[0] == code
    assert judge(*texts[::-1])["rejected_reason"].partition(":")[0] == code


def test_names_that_are_swapped_too_are_accepted():
    assert judge("Mrs. Mary lost her keys.", names=True)["rejected_reason"] == ""
    assert judge("John lost his keys.", names=True)["confidence"] < judge("He lost his keys.")["confidence"]
    assert judge("John lost his keys.", ignore="name")["rejected_reason"] == ""
    assert judge("John lost his keys.", attribute=load_attribute("gender"))["rejected_reason"] != ""
    without = CounterfactualSwap("t")({"t": "John lost his keys."}) | {"t": "John lost his keys."}
    assert SwapQuality("t", names=False)(without)["rejected_reason"] == ""


def test_kinds_of_inherent_words_can_be_ignored():
    assert judge("She rode a mare.")["rejected_reason"] == "inherent: 'mare' says female, which was taken out"
    assert judge("She rode a mare.", ignore="animal")["rejected_reason"] == ""
    assert judge("She is pregnant.", ignore=["animal"])["rejected_reason"] != ""


def test_edits_that_lead_elsewhere():
    row = {"t": "He left.", "t_counterfactual": "She left.", "edits": "[]"}
    assert SwapQuality("t")(row)["rejected_reason"] == "edits: they do not turn 'He left.' into 'She left.'"
    other = CounterfactualSwap("t")({"t": "His dog barked."})["edits"]
    assert SwapQuality("t")({**row, "edits": other})["rejected_reason"].startswith("edits: ")
    with pytest.raises(ValueError, match="Not a value of an `edits` column"):
        SwapQuality("t")({**row, "edits": "none"})


def test_another_attribute():
    text = "The mosque was full for the salat."
    assert judge(text, attribute="religion", target="jewish")["rejected_reason"] == ""
    words = [term for term in load_attribute("religion").inherent if term.group == "muslim"]
    row = judge(f"The mosque taught {words[0].text}.", attribute="religion", target="jewish")
    assert row["rejected_reason"] == f"inherent: {words[0].text!r} says muslim, which was taken out"


def sure(text: str, **options) -> float:
    return judge(text, **options)["confidence"]


def test_confidence_is_a_product_over_the_terms():
    rain, left = sure("Rain fell."), sure("He left.")
    assert 0.99 < left < rain < 1
    assert sure("He left. He ran.") == pytest.approx(left**2 / rain, abs=1e-5)
    assert sure("Mary left.", names=True) < sure("A woman left.") < left


@pytest.mark.parametrize(
    ("doubtful", "plain"),
    [
        ("The dog saw her.", "The dog saw me and he left."),
        ("Man, this is slow.", "The man is slow."),
        ("I met the Vixens and a Queen there.", "I met the vixens and a queen there."),
        ("A fraternity met.", "A man met."),
        ("she hates him and <b>his</b>/her dog", "she hates him and his dog"),
        ("i hate gurls", "i hate people"),
        ("We went to King Street.", "We went to Main Street."),  # right, but a term was left alone
        ("My mother tongue is English.", "My language is English."),
    ],
)
def test_doubtful_terms_and_those_left_alone_give_less_confidence(doubtful, plain):
    assert 0 < sure(doubtful) < sure(plain) < 1


def test_confidence_of_another_attribute_and_of_two_columns():
    assert 0 < sure("The rabbi slept.", attribute="religion", target="muslim") < 1
    assert judge("He left.", "A woman sang.")["confidence"] == pytest.approx(
        sure("He left.") * sure("A woman sang."), abs=1e-5
    )


PARTS = [
    "He left.",
    "The dog saw her.",
    "A queen ran.",
    "Mary sang.",
    "Rain fell.",
    "She is pregnant.",
    "An aunt left.",
]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5), st.sampled_from(PARTS))
def test_more_doubt_never_gives_more_confidence(parts, more):
    few = judge(" ".join(parts), names=True)
    many = judge(" ".join([*parts, more]), names=True)
    assert 0.0 <= many["confidence"] <= 1.0
    assert many["confidence"] <= few["confidence"]
    assert (many["confidence"] == 0.0) == bool(many["rejected_reason"])
    assert many["rejected_reason"].partition(":")[0] in ("", *REASONS)


def test_swaps_of_people_alone_pass(shared):
    lines = (shared / "data" / "winogender" / "all_sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[1] for line in lines if line.split("\t")[0].rsplit(".", 2)[1] != "neutral"]
    assert len(texts) == 480
    batch = {"t": texts, **CounterfactualSwap("t")({"t": texts})}
    found = SwapQuality("t")(batch)
    rejected = [text for text, reason in zip(texts, found["rejected_reason"], strict=True) if reason]
    assert all("pregnan" in text or "birth" in text for text in rejected), rejected
    assert len(rejected) <= 4


def test_as_a_map_function():
    texts = ["He left.", "She is pregnant.", "Rain."]
    data = Dataset.from_dict({"t": texts}).map(CounterfactualSwap("t"), batched=True)
    quality = SwapQuality("t")
    made = data.map(quality, batched=True, batch_size=2)
    assert made.features["confidence"] == Value("float64")
    assert made.features["rejected_reason"] == Value("string")
    assert made.filter(lambda reason: not reason, input_columns="rejected_reason")["t"][:] == ["He left.", "Rain."]
    before = Hasher.hash(quality)
    quality(data[:])
    assert Hasher.hash(pickle.loads(pickle.dumps(quality))) == before == Hasher.hash(SwapQuality("t"))
    assert Hasher.hash(SwapQuality("t", ignore="title")) != before


def test_augmentation_marks_the_source_of_a_rejected_copy():
    texts = ["He left.", "She is pregnant.", "Rain.", "Mary lost her hat."]
    data = Dataset.from_dict({"t": texts, "id": [0, 1, 2, 3]})
    for size in (1, 2, 1000):
        made = data.map(CounterfactualAugmentation("t", quality=True), batched=True, batch_size=size)
        assert made["t"][:] == ["He left.", "She left.", *texts[1:]]
        assert made["id"][:] == [0, 0, 1, 2, 3]
        assert made["counterfactual"][:] == [False, True, False, False, False]
        assert [reason.partition(":")[0] for reason in made["rejected_reason"]] == ["", "", "inherent", "", "name"]
        assert made["confidence"][:] == [1.0, sure("He left."), 1.0, 1.0, 1.0]
    lenient = CounterfactualAugmentation("t", quality=SwapQuality("t", ignore=["name", "inherent"]))
    confidence = data.map(lenient, batched=True)["confidence"][:]
    assert confidence == [1.0, sure("He left."), 1.0, confidence[3], 1.0, 1.0, confidence[6]]
    assert all(0.9 < confidence[place] < 1 for place in (3, 6))


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_augmentation_keeps_rejected_copies_when_asked(size):
    data = Dataset.from_dict({"t": ["He left.", "She is pregnant.", "Rain."], "label": ["x", "female", "x"]})
    guard = {"label_column": "label", "on_label": "swap"}
    function = CounterfactualAugmentation("t", quality=True, keep_rejected=True, **guard)
    made = data.map(function, batched=True, batch_size=size)
    assert made["t"][:] == ["He left.", "She left.", "She is pregnant.", "He is pregnant.", "Rain."]
    assert made["label"][:] == ["x", "x", "female", "male", "x"]
    assert [reason.partition(":")[0] for reason in made["rejected_reason"]] == ["", "", "", "inherent", ""]
    assert made["confidence"][:] == [1.0, sure("He left."), 1.0, 0.0, 1.0]


def test_a_swap_beside_its_text_is_the_text_where_it_is_rejected():
    batch = {"t": ["He left.", "She is pregnant.", "Rain."]}
    for function in (CounterfactualSwap, CounterfactualSubstitution):
        options = {"probability": 1.0} if function is CounterfactualSubstitution else {}
        kept = function("t", quality=True, keep_rejected=True, **options)(batch)
        made = function("t", quality=True, **options)(batch)
        assert kept[f"t{function.suffix}"] == ["She left.", "He is pregnant.", "Rain."]
        assert made[f"t{function.suffix}"] == ["She left.", "She is pregnant.", "Rain."]
        assert made["rejected_reason"] == kept["rejected_reason"] == ["", made["rejected_reason"][1], ""]
        left, rain = sure("He left."), sure("Rain.")
        assert (made["confidence"], kept["confidence"]) == ([left, 1.0, rain], [left, 0.0, rain])
        marked = SwapQuality("t", counterfactual_columns=f"t{function.suffix}")
        own = {name: kept[name] for name in (f"t{function.suffix}", "edits")}
        assert marked({**batch, **own})["rejected_reason"] == kept["rejected_reason"]


def test_substitution_keeps_the_text_of_a_rejected_swap():
    row = CounterfactualSubstitution("t", probability=1.0, quality=True)({"t": ["He left.", "She is pregnant."]})
    assert row["t_substituted"] == ["She left.", "She is pregnant."]
    assert row["substituted"] == [True, False]
    assert row["edits"][1] == "[]"
    assert [bool(reason) for reason in row["rejected_reason"]] == [False, True]
    undrawn = CounterfactualSubstitution("t", probability=0.0, quality=True)({"t": "She is pregnant."})
    assert undrawn["rejected_reason"] == ""


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SwapQuality("t", ignore="grammar"),
            ValueError,
            "ignore names 'grammar', which rejects nothing. Known",
        ),
        (lambda: SwapQuality("t", max_ratio=0), ValueError, "max_ratio must be above 0"),
        (lambda: SwapQuality(["a", "b"], counterfactual_columns=["x"]), ValueError, "2 columns need as many"),
        (lambda: SwapQuality("t")({"t": "x", "edits": "[]"}), ValueError, "no column 't_counterfactual'"),
        (lambda: CounterfactualAugmentation("t", quality=3), TypeError, "quality must be True, False or a SwapQuality"),
        (
            lambda: CounterfactualAugmentation("t", quality=SwapQuality("u")),
            ValueError,
            "quality is for columns u and attribute 'gender'",
        ),
        (
            lambda: CounterfactualSubstitution("t", quality=SwapQuality("t", perplexity="ratio")),
            ValueError,
            "perplexity must be a PerplexityRatio",
        ),
        (lambda: PerplexityRatio("gpt2", "t")({"t": "x"}), ValueError, "no column 't_counterfactual'"),
    ],
)
def test_bad_input_is_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()
