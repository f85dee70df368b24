"""The coloured table of words: complete, escaped, well formed."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from hf_fairness.measure.encoder.bias_score import bias_score, most_biased, word_table
from hf_fairness.report.bias_score import top_texts_table, word_table_html

VECTORS = {"he": [-1.0, 0.0], "she": [1.0, 0.0], "pink": [0.6, 0.8], "boxer": [-0.3, 0.9], "the": [0.0, 1.0]}
GROUPS = ["male", "female"]


class Page(HTMLParser):
    """Collects tags, checks that they nest, and keeps text and styles."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.marks = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        if tag in ("mark", "td"):
            self.marks.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_every_word_with_its_numbers_and_the_sums():
    table = word_table("She saw the pink boxer", VECTORS)
    html = word_table_html(table)
    page = Page(html)
    text = " ".join(page.text)
    for row in table["rows"]:
        assert row["word"] in text
    assert f"{100 * table['rows'][3]['importance']:.2f} %" in text
    assert f"{table['rows'][3]['weighted']:.5f}" in text
    assert f"{table['rows'][4]['weighted']:.5f}".replace("-", "−") in text
    assert "Overall female bias" in text
    assert f"{table['female']:.5f}" in text
    assert f"{table['male']:.5f}".replace("-", "−") in text
    assert "0 (exclusion list)" in text
    assert "0 (no vector)" in text
    assert "script" not in page.tags
    assert "http" not in html.replace("http-equiv", "")
    assert 'name="color-scheme" content="light dark"' in html


def test_colours_follow_sign_and_size():
    rows = [
        {"word": word, "importance": 0.5, "bias": value, "weighted": value / 2}
        for word, value in (("a", 0.4), ("b", 0.2), ("c", -0.4), ("d", 0.0))
    ]
    html = word_table_html({"text": "a b c d", "rows": rows, "female": 0.3, "male": -0.2}, groups=GROUPS, page=False)
    assert html.startswith("<section")
    marks = [attrs["style"] for tag, attrs in Page(html).marks if tag == "mark"][3:]  # after the legend
    red, half, blue, none = (re.findall(r"[\d.]+", style) for style in marks)
    assert red[:3] == half[:3] != blue[:3]
    assert float(red[3]) == float(blue[3]) == 2 * float(half[3])
    assert float(none[3]) == 0.0
    faint = word_table_html({"text": "", "rows": rows, "female": 0.3, "male": 0.0}, groups=GROUPS, scale=2.0)
    assert "0.055" in faint


def test_all_text_is_escaped():
    evil = '<img src=x onerror=alert(1)> & "quotes" \''
    row = {"word": evil, "importance": 1.0, "bias": 1.0, "weighted": 1.0}
    rows = [row, {**row, "excluded": True}, {**row, "known": False}]
    html = word_table_html({"text": evil, "rows": rows, evil: 1.0, "b": 0.0}, groups=["b", evil])
    assert "<img" not in html
    assert "onerror" in "".join(Page(html).text)


def test_several_tables_share_one_scale_and_one_legend():
    result = bias_score(["the pink", "the boxer", ""], VECTORS, words=True, n_bootstrap=10)
    html = word_table_html(result["words"], groups=result["meta"]["groups"])
    assert html.count("<table>") == 3
    assert html.count("Weighted bias:") == 1


def test_top_texts_as_a_table():
    texts = ["the pink", "pink", "boxer | <b>", "the boxer"]
    lists = most_biased(texts, bias_score(["the pink", "pink", "boxer", "the boxer"], VECTORS, n_bootstrap=10))
    lines = top_texts_table(lists).splitlines()
    assert lines[0] == "| Sentence | Bias score |"
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| pink", "| the pink"]
    assert lines[4].startswith("| boxer \\| &lt;b&gt; | −0.3")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([], {}, "no table"),
        ({"text": "", "rows": []}, {}, "groups must name"),
        ({"text": "", "rows": []}, {"groups": ["a", "b", "c"]}, "groups must name"),
        ({"text": "", "rows": []}, {"groups": GROUPS, "scale": 0.0}, "scale must be positive"),
    ],
)
def test_clear_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        word_table_html(arguments, **options)
