"""No name becomes markup in what is published: through every writer of cards and tables."""

from __future__ import annotations

import dataclasses
import html
import re

import pytest
from jinja2 import DictLoader

from hf_fairness.report import audit_record, card_section, render_html
from hf_fairness.report.artefact_card import About, artefact_card, bias_section
from hf_fairness.report.bias_score import top_texts_table
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
from hf_fairness.report.render import _environment

NASTY = [
    "a\n\n# Heading",
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "`code` and ``` fence",
    "a | b \\| c",
    "- item\n- item",
    "| --- |",
    "**bold** _it_ ~~no~~",
    "www.evil.example mailto:a@evil.example a@evil.example https://evil.example",
    "<!-- hf-fairness:end -->",
    "&lt;b&gt;",
    "line\u2028separator\x00\x1b[31m\r\v",
    "---\nlicense: mit\n---",
    "$x$ $$y$$",
    "{{ 6 * 7 }} {% include 'details.md.jinja2' %} {# gone #}",
]
#: Unescaped signs that would make markup of a name.
MARKUP = re.compile(
    r"<(?=[a-z!/])|(?<!\\)[`*~$](?=\w)|(?<!\\)\]\(|https?://evil|www\.evil|\w@evil|mailto:|\x1b", re.IGNORECASE
)


def harmless(text: str) -> None:
    assert not MARKUP.search(text), MARKUP.search(text)


@pytest.mark.parametrize("name", NASTY)
def test_a_name_stays_a_name(name):
    for made in (escape_markdown(name), bullets([name])):
        harmless(made)
        assert len(made.splitlines()) == 1
    table = markdown_table([[name, "n"], [name, 1]])
    harmless(table)
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()] == [3, 3, 3]


def test_what_a_reader_sees_is_the_name():
    for name in NASTY:
        seen = html.unescape(re.sub(r"\\([\\|*_\[\]`#~$+.)=-])", r"\1", escape_markdown(name)))
        assert seen == " ".join("".join(c if c.isprintable() else " " for c in name).split())


@pytest.mark.parametrize("name", NASTY)
def test_cards_of_data_sets(name, attribute_named):
    made = Derivation(
        name, name, name, "corpus.csv", "train", [name], {name: name}, {name: {name: 1}}, 3,
        attribute=attribute_named(name), reference=name, example={name: name}, limits=[name], licence="mit",
        versions={name: "1"},
    )  # fmt: skip
    body = str(dataset_card(made).text)
    load = '```python\nfrom datasets import load_dataset\n\nrows = load_dataset("./data")\n```'  # ours
    assert body.count(load) == 1
    harmless(body.replace("https://huggingface", "").replace(load, ""))
    assert sum(line.startswith("#") for line in body.splitlines()) == 9
    assert top_texts_table({name: [(name, 0.5)]}).count("\n") == 2


@pytest.mark.parametrize("name", NASTY)
def test_sections_and_pages_of_audits(name):
    numbers = {"effect_size": 0.5, "effect_size_ci95": [0.1, 0.9], "p_value": 0.1, "n_words": 8, "n_sentences": 80}
    audit = {"model": f"org/{name}", "attribute": name, "language": name, "seat": {"tests": {name: numbers}}}
    audit["texts"] = {name: [(name, 0.5)]}
    given = {"before": audit, "training": {name: name, "method": name, "control": name}, "asked": {name: name}}
    found = audit_record(audit, control=audit, name=name, **given)
    section = card_section(found, texts=True)
    harmless(re.sub(r"^\*\*(.+)\*\*$", r"\1", section, flags=re.MULTILINE))  # the marks around a line are ours
    assert "# Heading" not in [line.strip() for line in section.splitlines()]
    page = render_html(found)
    assert "<script" not in page
    assert "<!-- hf-fairness:end" not in page


@pytest.mark.parametrize("name", NASTY)
def test_cards_of_models(name):
    about = About(name, name, bias_section(), "load()", limits=[name], terms=name)
    for repository in ("", "me/it"):
        body = artefact_card(about, repository).replace("```python\nload()\n```", "").replace("`hf-fairness audit`", "")
        harmless(body.replace("<!-- hf-fairness:begin -->", "").replace("<!-- hf-fairness:end -->", "", 1))
        assert sum(line.startswith("#") for line in body.splitlines()) == 5


def rendered(text: str, kind: str, **values) -> str:
    """What a template of a kind makes of values."""
    environment = _environment().overlay(loader=DictLoader({f"t.{kind}.jinja2": text}))
    return environment.get_template(f"t.{kind}.jinja2").render(**values)


def test_every_value_of_a_template_is_escaped_unless_it_is_said_to_be_safe():
    for text in (
        "{{ x }}",
        "{% for y in [x] %}{{ y }}{% endfor %}",
        "{{ [x] | join }}",
        "{{ '' ~ x }}",
        "{{ x | trim }}",
    ):
        assert rendered(text, "md", x="*<b>*") == r"\*&lt;b&gt;\*"
        assert rendered(text, "html", x="*<b>*") == "*&lt;b&gt;*"
        assert rendered(text, "txt", x="*<b>\x1b[31m\r\u202e*\n").strip() == "*<b>[31m*"
    assert rendered("{{ x | safe }}", "md", x="*<b>*") == "*<b>*"
    assert rendered("{{ [x] | bullets }}", "md", x="*<b>*") == r"- \*&lt;b&gt;\*"
    assert rendered("{{ [[x]] | table(x) }}", "md", x="|") == "| \\| |\n|---|\n| \\| |"


@pytest.mark.parametrize("name", [name for name in _environment().list_templates() if name.endswith(".md.jinja2")])
def test_no_sign_of_a_template_makes_markup_of_a_value(name):
    """A value that ends with an interval would be a link before "(" or ":", one that is "www" before a full stop; so
    what stands close to a value is joined to it before it is escaped."""
    text, _, _ = _environment().loader.get_source(_environment(), name)
    for value in re.finditer(r"\{\{(.*?)\}\}", text):
        before, after = text[: value.start()], text[value.end() :]
        assert re.search(r"(^|\s|\*\*)$", before, re.MULTILINE), value[0]
        assert re.match(r"\s|\*\*|$", after), value[0]
    assert set(re.findall(r"(\w+) (?:\| trim )?\| safe", text)) <= {"bias", "section", "load", "details", "theirs"}


@pytest.fixture
def attribute_named():
    from hf_fairness.attributes import load_attribute

    return lambda name: dataclasses.replace(load_attribute("gender"), name=name, licence=name, sources=(name,))
