"""The model card: its section, its metadata, and the merge into cards that others wrote."""

from __future__ import annotations

import copy
import dataclasses
import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results

from hf_fairness.record import Record
from hf_fairness.report import (
    audit_record,
    card_metadata,
    card_section,
    model_index_entries,
    render_html,
    summarize,
    text_report,
    update_card,
    write_report,
)
from hf_fairness.report.markdown import escape_markdown
from support.tiny_record import LESS, SAME, measure, record

CARD = """---
# a comment of the author
language: no
license: apache-2.0
tags:
- sentence-transformers
- feature-extraction
model-index:
- name: SentenceTransformer
  results:
  - task:
      type: semantic-similarity
      name: Semantic Similarity
    dataset:
      name: sts dev
      type: sts-dev
    metrics:
    - type: spearman_cosine
      value: 0.82
      name: Spearman Cosine
pipeline_tag: sentence-similarity   # kept as it is
---

# SentenceTransformer

## Usage

```python
# ## Bias, Risks and Limitations
print("a|b")
```

<!--
## Bias, Risks and Limitations

*What are the known or foreseeable issues?*
-->

<!--
### Recommendations
-->

## Citation
"""


def front(text: str) -> dict:
    return yaml.safe_load(text.split("---\n")[1])


@pytest.fixture
def found(before, after, control, training) -> Record:
    return audit_record(after, before=before, control=control, training=training, command="ccd")


@pytest.fixture
def section(found) -> str:
    return card_section(found)


@pytest.fixture
def metadata(found) -> dict:
    return card_metadata(found, "minilm-ccd", base_model="sentence-transformers/all-MiniLM-L6-v2")


def test_section_says_what_has_to_be_said(section):
    assert section.startswith("## Bias, risks and limitations\n")
    for part in ("**Got worse**", "**Improved**", "### Measurements", "### What these numbers do not show"):
        assert part in section
    assert "### Not measured" in section
    assert "do not show that the model is fair" in section
    assert not re.search(r"\b(is|now) (fair|unbiased|bias-free)\b(?!, and)", section)
    assert "240 texts, 12 skipped" in section
    assert "p (word-clustered)" in section
    assert "rho: 0.4871" in section
    assert "### Settings" not in section  # none were given
    for word in ("sentence-transformers/all-MiniLM-L6-v2", "out/minilm-ccd", "gender", "2026-01-15T10:00:00+00:00"):
        assert escape_markdown(word) in section
    assert "Intervals are over the items at hand, not over other trainings." in section


def test_what_the_control_is_stands_in_the_section(before, after, control, training):
    said = card_section(audit_record(after, before=before, control=control, training=training | {"control": "half"}))
    assert "- control: half" in said


def test_settings_and_methods_of_p_values(before):
    section = card_section(audit_record(before, asked={"seed": 3, "dataset": None, "max_rows": 5000}))
    assert "### Settings\n\n- seed: 3\n- max\\_rows: 5000\n\n### " in section
    assert "p-values of SEAT.exact: tests 6, 6b, 7, 7b, 8, 8b, 1, 2" in section


def test_worsened_utility_is_in_the_section(before, after):
    after["utility"] |= {"sts_spearman": 0.5, "sts_spearman_ci95": [0.49, 0.51]}
    text = card_section(audit_record(after, before=before))
    worse = text[text.index("**Got worse**") : text.index("**Improved**")]
    assert "0.500" in worse


def test_nothing_worse_is_said_too(minimal):
    before, after = minimal
    text = card_section(audit_record(after, before=before))
    assert "No measure here got clearly worse." in text
    assert "No utility was compared" in text


def without_intervals(value):
    """A report in which no interval could be had."""
    if isinstance(value, dict):
        return {key: None if key.endswith("_ci95") else without_intervals(part) for key, part in value.items()}
    return value


def test_audits_without_intervals_are_shown_and_nothing_is_judged(before, after, control, training, tmp_path):
    old, new, same = (without_intervals(audit) for audit in (before, after, control))
    found = audit_record(new, before=old, control=same, training=training)
    alone = audit_record(new)
    for text in (
        *(make(each) for make in (card_section, render_html, text_report) for each in (found, alone)),
        summarize(found),
    ):
        assert "None" not in str(text)
        assert "nan" not in str(text)
    assert not {gap.verdict for gap in found.gaps} & {"improved", "worse"}
    assert write_report(found, tmp_path)
    entries = model_index_entries(found)
    assert entries
    assert all(entry.metric_args["ci95"] is None for entry in entries)


def test_tables_have_equal_columns_whatever_the_names(before, after):
    evil = "a|b\n| c `x` <script>"
    after["cced"][evil] = after["cced"].pop("built-in")
    before["model"] = "x](http://evil) <b> | *y*"
    text = card_section(audit_record(after, before=before, name=evil, asked={evil: evil}))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 4
    assert sum(table.count("\n") for table in tables) > 20
    for table in tables:
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()} == {7}
    assert "<script>" not in text
    assert "<b>" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "://" not in text


def test_models_are_listed_where_there_are_any():
    """A sweep over a setting has none: every run has an original model of its own."""
    none = Record("ibadr", "sweep", "a method", (), ())
    assert "Models" not in card_section(none)
    assert "Models" not in render_html(none)
    some = record(measure("m", **LESS))
    assert "### Models\n\n- original\n- ours\n\n### Measurements" in card_section(some)
    assert "<h3>Models</h3>" in render_html(some)


def test_section_hides_local_folders(before, after, training):
    before["model"] = "/private/place/minilm"
    training |= {"output_dir": "/private/place/out", "files": ["/private/a.csv", "/private/b.csv"]}
    text = card_section(audit_record(after, before=before, training=training, asked={"dataset": "/private/place/c"}))
    assert "/private" not in text
    assert "minilm" in text


def test_entries_round_trip(found):
    entries = model_index_entries(found)
    assert len(entries) >= 13
    assert all(isinstance(entry, EvalResult) for entry in entries)
    index = eval_results_to_model_index("m", entries)
    name, again = model_index_to_eval_results(index)
    assert name == "m"
    assert {(e.dataset_name, e.metric_type, e.metric_value) for e in again} == {
        (e.dataset_name, e.metric_type, e.metric_value) for e in entries
    }
    by_name = {(e.dataset_name, e.metric_type): e for e in again}
    one = by_name["cced built-in", "cced"]
    assert one.metric_value == 0.021
    assert one.metric_args["ideal"] == 0.0
    assert one.metric_args["ci95"] == pytest.approx([0.021 * 0.93, 0.021 * 1.07])
    assert one.metric_args["direction"] == "lower"
    assert one.metric_args["sample"] == "240 texts, 12 skipped"
    assert one.metric_args["control"] == 0.091
    assert (one.metric_args["attribute"], one.metric_args["language"]) == ("gender", "en")
    assert by_name["seat 6", "effect_size"].metric_value == 1.102
    assert not {e.metric_type for e in entries} & {"cced_signed", "mean_distance"}  # context, no result


def test_entries_are_those_of_the_model_that_the_card_describes():
    found = record(measure("m", control=0.9, **LESS), measure("lost", "utility", original=0.5))
    (entry,) = model_index_entries(found)
    assert (entry.metric_value, entry.metric_args["control"]) == (0.4, 0.9)
    (alone,) = model_index_entries(record(measure("m", original=0.5)))
    assert alone.metric_value == 0.5
    assert "control" not in alone.metric_args


def test_a_record_without_models_has_no_entries(found):
    empty = dataclasses.replace(found, arms=(), measures=(), gaps=())
    assert model_index_entries(empty) == []
    assert "model-index" not in card_metadata(empty)


def test_the_task_is_that_of_the_model():
    made = record(measure("m", **SAME))
    assert [entry.task_type for entry in model_index_entries(made)] == ["feature-extraction"]
    (entry,) = model_index_entries(dataclasses.replace(made, task="translation"))
    assert entry.task_type == "translation"


def test_sets_that_share_a_metric_stay_apart(found):
    """The Hub groups results by task and type of the data set."""
    entries = model_index_entries(found)
    assert len({(entry.dataset_type, entry.metric_type) for entry in entries}) == len(entries)


def test_metadata_is_valid(metadata):
    data = ModelCardData(**copy.deepcopy(metadata))
    assert data.model_name == "minilm-ccd"
    again = yaml.safe_load(data.to_yaml())
    assert again["model-index"] == metadata["model-index"]
    assert again["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert set(again["tags"]) == {"hf-fairness", "bias-mitigation"}


def test_metadata_leaves_local_paths_out(found, after, tmp_path):
    metadata = card_metadata(found, base_model=str(tmp_path))
    assert "base_model" not in metadata
    after["model"] = "/private/place/minilm"
    assert card_metadata(audit_record(after))["model-index"][0]["name"] == "minilm"
    for nothing in (None, audit_record({})):
        assert card_metadata(nothing, "m") == {"tags": ["hf-fairness", "bias-mitigation"]}
        assert card_metadata(nothing, "m", mitigated=False)["tags"] == ["hf-fairness"]


def test_texts_of_a_person_stand_in_no_card(after):
    after["texts"] = {"mine": [["My secret text.", 0.4321]]}
    found = audit_record(after)
    assert "My secret text. (0.432)" in card_section(found, texts=True)
    assert "secret" not in card_section(found) + str(card_metadata(found))
    assert "largest gap" not in card_section(found)


def test_update_keeps_what_others_wrote(section, metadata):
    new = update_card(CARD, section, metadata)
    data = front(new)
    assert data["tags"] == ["sentence-transformers", "feature-extraction", "hf-fairness", "bias-mitigation"]
    assert "language: no\n" in new  # not rewritten as false
    assert "# a comment of the author" in new
    assert "pipeline_tag: sentence-similarity   # kept as it is" in new
    results = data["model-index"][0]["results"]
    assert results[0] == yaml.safe_load(CARD.split("---\n")[1])["model-index"][0]["results"][0]
    assert len(results) > 5
    assert data["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    head, rest = CARD.split("---\n", 2)[2].split("<!--\n## Bias", 1)
    assert new.split("---\n", 2)[2].startswith(head)
    assert new.endswith(rest.split("-->", 1)[1])
    assert new.count("## Bias, risks and limitations\n") == 1
    assert "What are the known" not in new
    ModelCard(new)


def test_update_is_idempotent(section, metadata, after):
    """Our earlier section and entries are replaced; those of others stay."""
    once = update_card(CARD, section, metadata)
    assert update_card(once, section, metadata) == once
    after["cced"]["built-in"]["cced"] = 0.0777
    del after["probe"]
    new = audit_record(after)
    twice = update_card(once, card_section(new), card_metadata(new, "minilm-ccd"))
    assert twice.count("hf-fairness:begin") == 1
    results = front(twice)["model-index"][0]["results"]
    assert len([r for r in results if r["task"]["type"] == "semantic-similarity"]) == 1
    assert not [r for r in results if r["dataset"]["type"].startswith("hf-fairness-probe")]
    values = [m["value"] for r in results for m in r["metrics"] if m["type"] == "cced"]
    assert sorted(values) == [0.034, 0.0777]
    assert update_card(twice, card_section(new), card_metadata(new, "minilm-ccd")) == twice


def test_section_of_the_author_is_kept(section, metadata):
    card = "---\nlicense: mit\n---\n# M\n\n## Bias, Risks, and Limitations\n\nMy own words.\n\n## End\n\nlast\n"
    new = update_card(card, section, metadata)
    assert new.index("My own words.") < new.index("### Measured bias") < new.index("## End")
    assert "## Bias, risks and limitations\n" not in new
    assert "#### Measurements" in new
    assert update_card(new, section, metadata) == new


@pytest.mark.parametrize("card", ["", "# Only text\n", "---\n---\n# Empty front\n", "---\nlicense: mit\n---\n"])
def test_small_cards(card, section, metadata):
    new = update_card(card, section, metadata)
    assert set(front(new)["tags"]) == {"hf-fairness", "bias-mitigation"}
    assert update_card(new, section, metadata) == new
    ModelCard(new)


def test_without_metadata_the_front_matter_stays(section):
    assert update_card(CARD, section).split("---\n")[1] == CARD.split("---\n")[1]
    assert not update_card("# Text\n", section).startswith("---")


def test_line_ends_and_mark_stay(tmp_path, section, metadata):
    path = tmp_path / "README.md"
    path.write_bytes(b"\xef\xbb\xbf" + CARD.replace("\n", "\r\n").encode())
    new = update_card(path, section, metadata)
    assert "\n" not in new.replace("\r\n", "")
    assert update_card(new, section, metadata) == new
    assert update_card(str(path), section, metadata) == new


def test_scalar_tag_and_stated_base_model(section, metadata):
    new = update_card("---\ntags: mine\nbase_model: other/base\n---\nx\n", section, metadata)
    assert front(new)["tags"] == ["mine", "hf-fairness", "bias-mitigation"]
    assert front(new)["base_model"] == "other/base"


def test_flow_style_front_matter(section, metadata):
    new = update_card("---\n{license: mit, tags: [a]}\n---\nx\n", section, metadata)
    assert front(new)["license"] == "mit"
    assert front(new)["tags"][0] == "a"
    assert update_card(new, section, metadata) == new


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("---\na: [\n---\nx\n", "no valid YAML"),
        ("---\n- a\n---\nx\n", "front matter is list"),
        ("---\nmodel-index: 3\n---\nx\n", "model-index is int"),
    ],
)
def test_broken_cards_are_clear_errors(card, message, section, metadata):
    with pytest.raises(ValueError, match=message):
        update_card(card, section, metadata)


def test_missing_file(section):
    with pytest.raises(FileNotFoundError):
        update_card(Path("nowhere/README.md"), section)


def test_real_card(minilm_path, section, metadata):
    text = (Path(minilm_path) / "README.md").read_text(encoding="utf-8")
    new = update_card(text, section, metadata)
    assert update_card(new, section, metadata) == new
    card = ModelCard(new)
    assert card.data.license == "apache-2.0"
    assert "hf-fairness" in card.data.tags
    assert "flax-sentence-embeddings/stackexchange_xml" in card.data.datasets
    body = text.split("---\n", 2)[2].strip()
    assert body in new


@pytest.mark.parametrize("body", ["# T\n\n<!-- open\n", "# T\n\n```python\nx = 1\n", "a <!-- b --> c <!-- d\n"])
def test_what_nothing_closes_ends_at_our_section(body, section, metadata):
    """Else the second update would take our own heading for the author's."""
    once = update_card(body, section, metadata)
    assert update_card(once, section, metadata) == once
    assert "Measured bias" not in once


def test_front_matter_that_says_nothing(section, metadata):
    new = update_card("---\nnull\n---\nx\n", section, metadata)
    assert front(new)["tags"] == metadata["tags"]
