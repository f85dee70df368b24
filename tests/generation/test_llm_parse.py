"""Reading answers: what is tolerated, what is not, and that nothing crashes on any text."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import apply_edits, parse_edits
from hf_fairness.generation import Prompt
from hf_fairness.generation.diff import MOST_TOKENS, kept_words, tokens, variant_edits
from hf_fairness.generation.parse import parse_answer
from hf_fairness.generation.prompts import answer_schema, dump_answer, names_of

NAMES = ("male", "female", "neutral")
VARIANTS = {"male": "He.", "female": "She.", "neutral": "They."}
GOOD = dump_answer([{"variants": VARIANTS, "confidence": 0.9}])
ITEM = json.loads(GOOD)["rewrites"][0]
texts = st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip)


def answer(**changes) -> str:
    return json.dumps({"rewrites": [{**ITEM, **changes}]})


@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{json.dumps(json.loads(GOOD), indent=2)}\n```",
        f"Sure, here it is: {GOOD} Anything else?",
        f"<think>Is it {{he}} or {{she}}? {GOOD}</think>\n{GOOD}",
        f"I use {{braces}} here.\n{GOOD}",
        answer(extra=1, variants={**VARIANTS, "other": "x"}),
        answer(confidence=1),
    ],
    ids=lambda said: said[:20],
)
def test_usable(said):
    parsed = parse_answer(said, 1, NAMES)
    assert parsed.rewrites[0].variants == VARIANTS
    assert parsed.problem == ""


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "the answer is empty"),
        ("<think>hm</think>", "the answer is empty"),
        ("no idea", "there is no JSON object"),
        (GOOD[:-3], "the JSON is broken"),
        (f"{GOOD}\n{GOOD}", "expected one JSON object, found 2"),
        ("[1]", "found list"),
        ("3", "found int"),
        ("{}", "no list `rewrites`"),
        ('{"rewrites": {}}', "no list `rewrites`"),
        ('{"rewrites": []}', "no entry with id 1"),
        ('{"rewrites": [3]}', "is no object"),
        (answer(id=2), "has the id 2; asked for were 1 to 1"),
        (answer(id="1"), "has the id '1'"),
        (answer(id=True), "has the id True"),
        (json.dumps({"rewrites": [ITEM, ITEM]}), "id 1 occurs twice"),
        (answer(variants=["He."]), "no object `variants`"),
        (answer(variants={"male": "He.", "female": "She."}), "no text for 'neutral'"),
        (answer(variants={**VARIANTS, "female": None}), "no text for 'female'"),
        (answer(variants={**VARIANTS, "female": " "}), "no text for 'female'"),
        (answer(variants={**VARIANTS, "male": "\ud800"}), "no valid Unicode"),
        (answer(confidence=1.5), "confidence 1.5"),
        (answer(confidence=-0.1), "confidence -0.1"),
        (answer(confidence="0.9"), "confidence '0.9'"),
        (answer(confidence=None), "confidence None"),
        (answer(confidence=True), "confidence True"),
        (GOOD.replace("0.9", "NaN"), "the JSON is broken"),
        (GOOD.replace('"id": 1', '"id": 1, "id": 1'), "the JSON is broken"),
        (GOOD.replace("0.9", "9" * 5000), "the JSON is broken"),
        ('{"rewrites":' + "[" * 100_000, "nested too deeply"),
        ("__import__('os').system('false')", "there is no JSON object"),
    ],
    ids=lambda value: value[:24],
)
def test_unusable(said, problem):
    parsed = parse_answer(said, 1, NAMES)
    assert parsed.rewrites == {}
    assert problem in parsed.problem


def test_the_good_half_of_an_answer_is_used():
    items = [{**ITEM, "id": 1}, {**ITEM, "id": 2, "confidence": 7}, {**ITEM, "id": 4}]
    parsed = parse_answer(json.dumps({"rewrites": items}), 4, NAMES)
    assert set(parsed.rewrites) == {0, 3}
    assert "confidence 7" in parsed.problem


@given(st.lists(st.tuples(texts, texts, texts, st.floats(0, 1)), min_size=1, max_size=4), st.text(string.ascii_letters))
def test_any_text_goes_round(rows, prose):
    items = [{"variants": dict(zip(NAMES, row[:3], strict=True)), "confidence": row[3]} for row in rows]
    for said in (dump_answer(items), f"{prose}\n```json\n{dump_answer(items)}\n```", f"{prose} {dump_answer(items)}"):
        parsed = parse_answer(said, len(rows), NAMES)
        assert [
            (*parsed.rewrites[i].variants.values(), parsed.rewrites[i].confidence) for i in range(len(rows))
        ] == rows


@given(st.text(st.sampled_from('{}[]",:`\n rewites012\\<tihnk>')))
def test_no_text_is_an_error(said):
    parsed = parse_answer(said, 2, NAMES)
    assert bool(parsed.problem) == (len(parsed.rewrites) < 2)


@given(texts, texts, texts)
def test_edits_lead_to_the_variants(text, one, other):
    gender = load_attribute("gender")
    edits = parse_edits(variant_edits(text, {"male": one, "neutral": other}, gender))
    assert apply_edits(text, edits, to="male") == one
    assert apply_edits(text, edits, to="neutral") == other
    assert "".join(tokens(text)) == text
    assert 0.0 <= kept_words(tokens(text), tokens(one)) <= 1.0


def test_edits_of_a_long_text_stay_fast():
    text = "The rain fell on his house. " * MOST_TOKENS
    new = text.replace("his", "her")
    edits = parse_edits(variant_edits(text, {"female": new, "male": text}, load_attribute("gender")))
    assert len(edits) == 1
    assert apply_edits(text, edits, to="female") == new


@pytest.mark.parametrize("name", ["gender", "religion"])
def test_default_prompt_fits_its_attribute(name, tmp_path):
    attribute = load_attribute(name)
    prompt = Prompt.default(attribute)
    prompt.check(attribute)
    assert all(group in prompt.description for group in attribute.group_names)
    sources = [attribute.polarity(example.text) for example in prompt.examples]
    assert len(set(sources)) > 1
    assert sources[-1] == "neutral"
    path = prompt.save(tmp_path / "prompt.json")
    assert Prompt.load(path) == prompt
    assert Prompt.load(path).digest == prompt.digest
    conversation = prompt.messages(["x", "y"], names_of(attribute))
    for i, example in enumerate(prompt.examples):
        parsed = parse_answer(conversation[2 + 2 * i]["content"], 1, names_of(attribute))
        assert parsed.rewrites[0].variants == dict(example.variants)
    merged = prompt.messages(["x"], names_of(attribute), system=False)
    assert [message["role"] for message in merged] == ["user", "assistant"] * len(prompt.examples) + ["user"]
    assert prompt.description in merged[0]["content"]


def test_prompt_changes_its_digest():
    prompt = Prompt.default("gender")
    longer = prompt.with_example("He.", VARIANTS)
    assert longer.examples[-1].text == "He."
    assert len({prompt.digest, longer.digest, Prompt("x").digest, longer.with_example("He.", {"a": "b"}).digest}) == 4
    assert len(longer.with_example("He.", VARIANTS).examples) == len(longer.examples)


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"description": 3, "examples": []}', '{"description": "", "examples": [{"text": "x"}]}']
)
def test_a_file_that_holds_no_prompt(tmp_path, content):
    path = tmp_path / "prompt.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"prompt\.json: "):
        Prompt.load(path)


def test_schema_describes_the_answer():
    schema = answer_schema(NAMES)
    item = schema["properties"]["rewrites"]["items"]
    assert set(item["required"]) == set(ITEM)
    assert item["properties"]["variants"]["required"] == list(NAMES)
