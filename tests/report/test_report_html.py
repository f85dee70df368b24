"""The HTML page: self-contained, escaped, the same every time, and complete."""

from __future__ import annotations

import html
import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from hf_fairness.report import plain, render_html, write_report
from hf_fairness.report.plots import loss_series

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags nest and collects what a test asks about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(before, after, control, training) -> str:
    return render_html(after, before=before, control=control, training=training)


def test_page_is_well_formed_and_ids_are_unique(page):
    parsed = Page(page)
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    references = re.findall(r'(?:url\(#|href="#|aria-labelledby=")([^)"]+)', page)
    assert references
    assert set(references) <= set(ids)


def test_page_loads_nothing_and_runs_nothing(page):
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(parsed.tags)
    for tag, name, value in parsed.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in {"src", "href", "xlink:href", "action"}:
            assert (value or "").startswith("#"), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", page)


def test_page_shows_every_part(page, before, after):
    parsed = Page(page)
    for heading in ("Summary", "Got worse", "Improved", "No clear change", "Read with care", "Numbers"):
        assert heading in parsed.text
    for heading in ("Method and data", "What these numbers do not show", "Not measured", "Training loss"):
        assert heading in parsed.text
    assert "do not show that the model is fair" in " ".join(parsed.text.split())
    assert parsed.tags.count("svg") == 6  # two maps, SEAT, two CCED, loss
    assert parsed.tags.count("figcaption") == parsed.tags.count("figure") == 6
    labels = [value for tag, name, value in parsed.attributes if (tag, name) == ("svg", "aria-label")]
    assert len(labels) == 6
    assert all(len(label or "") > 20 for label in labels)
    assert "CrowS-Pairs and StereoSet" in parsed.text
    assert "0.093" in parsed.text
    assert "0.021" in parsed.text


def test_worsened_utility_is_on_the_page_first(before, after):
    after["utility"] |= {"sts_spearman": 0.5, "sts_spearman_ci95": [0.49, 0.51]}
    text = Page(render_html(after, before=before)).text
    assert 0 < text.index("Got worse (2)") < text.index("Improved (")
    assert "human scores: 0.820 [0.805, 0.835] → 0.500" in text


def test_several_pictures_of_one_audit(before, after):
    for audit in (before, after):
        centred = audit["projection"] | {
            "method": "pca",
            "note": "mean of the versions of each text subtracted",
        }
        audit["projection"] = [audit["projection"], centred]
    parsed = Page(render_html(after, before=before))
    assert parsed.tags.count("svg") == 7
    assert "distances compare" in parsed.text
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_same_input_same_page(page, before, after, control, training):
    assert page == render_html(after, before=before, control=control, training=training)


EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>$\\frac{1}$ "\'><!-- ]]> ${7*7} {{7*7}}'


def _poison(value, evil):
    """Put the text in every string and every free key (names of sets, tests, groups, losses)."""
    if isinstance(value, str):
        return value if value in {"tsne", "pca"} else evil
    if isinstance(value, list):
        return [_poison(item, evil) for item in value]
    if isinstance(value, dict):
        return {key: _poison(item, evil) for key, item in value.items()}
    return value


def test_untrusted_text_cannot_become_markup(before, after, control, training):
    audits = [_poison(audit, EVIL) for audit in (before, after, control)]
    for audit in audits:
        audit["cced"][EVIL] = audit["cced"].pop("built-in")
        audit["seat"]["tests"][EVIL] = audit["seat"]["tests"].pop("6")
        audit["projection"]["points"][EVIL] = audit["projection"]["points"].pop("male")
    record = _poison(training, EVIL) | {EVIL: EVIL}
    for point in record["loss_curve"]:
        point[EVIL] = point.pop("bias")
    page = render_html(audits[1], before=audits[0], control=audits[2], training=record)
    parsed = Page(page)
    assert not {"script", "img"} & set(parsed.tags)
    assert not [name for _, name, _ in parsed.attributes if name.startswith("on")]
    assert "<script" not in page.lower()
    assert html.escape("<script>") in page
    assert "{{7*7}}" in parsed.text  # shown, not computed
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", page)[0]


def test_labels_are_no_formulas(after):
    """A lone backslash command between dollars is no valid formula: matplotlib would fail on it."""
    after["cced"]["$\\frac$"] = after["cced"].pop("built-in")
    assert "$\\frac$" in Page(render_html(after)).text


def test_glyphs_that_matplotlib_lacks_do_not_warn(after):
    after["cced"]["文章"] = after["cced"].pop("built-in")
    assert "文章" in render_html(after)


@pytest.mark.parametrize(
    "audit",
    [
        {},
        {"model": "m", "seat": {"tests": {}}},
        {"model": "m", "seat": {"tests": {"6": {"effect_size": 0.3}}}},
        {"model": "m", "cced": {"s": {"cced": 0.0, "cced_ci95": [0.0, 0.0], "n": 1}}},
        {"model": "m", "cced": {"s": {"cced_relative": math.nan}}},
        {"model": "m", "projection": {"method": "pca", "points": {"male": [[0, 0]], "neutral": []}}},
        {"model": "m", "projection": {"method": "pca", "points": {}}},
        {"model": "m", "utility": {"similarity_structure": 0.9}, "not_measured": ["x"]},
    ],
)
def test_partial_audits_render(audit):
    Page(render_html(audit))
    Page(render_html(audit, before=audit, control=audit, training={"loss_curve": []}))


def test_no_global_settings_change(after):
    import matplotlib

    old = dict(matplotlib.rcParams)
    render_html(after)
    assert dict(matplotlib.rcParams) == old
    code = "import sys, hf_fairness.report as r; r.render_html({'model': 'm', 'cced': {'s': {'cced': .1}}})\n"
    code += "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_loss_series_reads_each_shape():
    assert loss_series({"loss_curve": [0.3, 0.2]}) == {"loss": [(1.0, 0.3), (2.0, 0.2)]}
    assert loss_series({"loss_curve": [[10, 0.3], (20, 0.2)]}) == {"loss": [(10.0, 0.3), (20.0, 0.2)]}
    history = [
        {"loss": 0.3, "grad_norm": 1.0, "learning_rate": 1e-5, "epoch": 0.1, "step": 5},
        {"eval_loss": 0.4, "eval_runtime": 3.0, "eval_samples_per_second": 9.0, "step": 5},
        {"train_runtime": 7.0, "total_flos": 0.0, "train_loss": 0.2, "step": 9},
    ]
    assert loss_series({"log_history": history}) == {"loss": [(5.0, 0.3)], "eval_loss": [(5.0, 0.4)]}
    assert loss_series({}) == {}


def test_write_report(tmp_path, before, after, control, training):
    after["seat"]["mean_abs_effect_size"] = np.float32(0.59)
    after["cced"]["odd"] = {"cced": math.nan}
    paths = write_report(after, tmp_path / "new", before=before, control=control, training=training)
    assert sorted(paths) == ["html", "json", "markdown"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "audit.json",
        "card_section.md",
        "report.html",
    ]
    record = json.loads(paths["json"].read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert record["format"] == "hf-fairness/audit/1"
    assert record["audit"]["cced"]["odd"]["cced"] is None
    assert any(line.startswith("cced/odd/cced") for line in record["not_measured"])
    row = next(row for row in record["rows"] if row["id"] == "cced/built-in/cced")
    assert (row["before"], row["after"], row["verdict"]) == (0.093, 0.021, "improved")
    assert row["before_ci95"] == pytest.approx([0.093 * 0.93, 0.093 * 1.07])
    assert record["summary"]["worse"]
    again = write_report(record["audit"], tmp_path / "again", before=record["before"])
    assert again["json"].exists()


def test_plain_values():
    value = {1: (np.float64(0.5), np.int64(3), np.array([1.0, math.inf]), {"b", "a"}, True, None)}
    assert plain(value) == {"1": [0.5, 3, [1.0, None], ["a", "b"], True, None]}
    assert type(plain(np.float64(0.5))) is float


BLOCK = """
import builtins, importlib.util, json, sys, warnings
real = importlib.util.find_spec
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"matplotlib", "jinja2"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
gone = {"matplotlib", "jinja2"}
importlib.util.find_spec = lambda name, package=None: None if name in gone else real(name, package)
import hf_fairness.report as report
audit = {"model": "m", "cced": {"s": {"cced": 0.1, "cced_ci95": [0.05, 0.15], "n": 9}}}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    paths = report.write_report(audit, sys.argv[1])
from hf_fairness import FairnessWarning
assert [w.category for w in caught] == [FairnessWarning], caught
assert "hf-fairness[report]" in str(caught[0].message)
assert sorted(paths) == ["json", "markdown"]
try:
    report.write_report(audit, sys.argv[1] + "/html", html=True)
except ImportError as error:
    assert "hf-fairness[report]" in str(error)
else:
    raise SystemExit("html=True must fail without the extra")
import pathlib
assert not pathlib.Path(sys.argv[1], "html").exists()
print(json.loads(paths["json"].read_text())["rows"][0]["after"])
"""


def test_json_and_markdown_without_the_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCK, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0.1"
    assert (tmp_path / "card_section.md").read_text(encoding="utf-8").startswith("## Bias, risks and limitations")
