"""The HTML page: self-contained, escaped, the same every time, and complete."""

from __future__ import annotations

import html
import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from hf_fairness.record import Record, Table
from hf_fairness.report import audit_record, plain, render_html, write_report
from hf_fairness.report.html import strips
from hf_fairness.report.plots import loss_figure
from hf_fairness.report.text import format_interval, format_number
from support.tiny_record import LESS, measure, record

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
def found(before, after, control, training) -> Record:
    return audit_record(after, before=before, control=control, training=training, command="ccd")


@pytest.fixture
def page(found) -> str:
    return render_html(found)


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
    (policy,) = [value for _, name, value in parsed.attributes if name == "content" and "default-src" in (value or "")]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_every_colour_is_known_in_light_dark_and_print(page):
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    rules = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    light, dark, printed = (dict(re.findall(r"(--\w+): ([^;]+);", rule)) for rule in rules)
    assert set(re.findall(r"var\((--\w+)", page)) <= set(light)
    assert {"--vermillion"} >= set(light) - set(dark) - set(printed)
    assert dark["--page"] != light["--page"]
    assert dark["--ink"] != light["--ink"]
    assert "prefers-color-scheme: dark" in style
    assert 'name="color-scheme" content="light dark"' in page


def test_cells_say_their_column_on_a_phone(page):
    """There the heading of a table is not seen."""
    tables = re.findall(r"<table>(.*?)</table>", page, re.DOTALL)
    assert len(tables) == 4
    for table in tables:
        head = re.findall(r'<th scope="col">(.*?)</th>', table)
        for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL):
            assert [html.unescape(label) for label in re.findall(r'data-label="([^"]*)"', row)] == head[1:]
            assert row.count('<th scope="row">') == 1
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in page


def test_page_shows_every_part(page, found):
    parsed = Page(page)
    for heading in ("In short", "Got worse", "Improved", "No clear change", "Read with care", "Numbers", "Models"):
        assert heading in parsed.text
    for heading in ("Method and data", "What these numbers do not show", "Not measured", "Training loss"):
        assert heading in parsed.text
    assert "do not show that the model is fair" in " ".join(parsed.text.split())
    pictures = 4  # three maps, loss
    assert parsed.tags.count("figcaption") == parsed.tags.count("figure") == pictures
    labels = [value for tag, name, value in parsed.attributes if (tag, name) == ("svg", "aria-label")]
    assert len(labels) == pictures + len(strips(found)) == 13
    assert all(len(label or "") > 20 for label in labels)
    assert [each for each in parsed.attributes if each[:2] == ("svg", "role")] == [("svg", "role", "img")] * 13
    assert "CrowS-Pairs and StereoSet" in parsed.text
    assert "0.093" in parsed.text
    assert "0.021" in parsed.text
    assert "rho" in parsed.text
    assert "0.4871" in parsed.text


def test_every_number_of_the_record_is_on_the_page(page, found):
    text = Page(page).text
    for each in found.measures:
        assert each.title in text
        for value in each.values.values():
            assert format_number(value.value) in text
            assert format_interval(value.ci95) in text
    for item in (*found.limits, *found.not_measured, *(each.convention for each in found.measures)):
        assert item in text


def test_worsened_utility_is_on_the_page_first(before, after):
    after["utility"] |= {"sts_spearman": 0.5, "sts_spearman_ci95": [0.49, 0.51]}
    text = Page(render_html(audit_record(after, before=before))).text
    assert 0 < text.index("Got worse (1)") < text.index("Improved (")
    assert "(STS, Spearman): 0.820 [0.805, 0.835] → 0.500" in text


def test_nothing_worse_is_said_on_the_page(minimal):
    before, after = minimal
    text = Page(render_html(audit_record(after, before=before))).text
    assert "No measure here got clearly worse." in text
    assert "No measure here clearly improved." in text
    assert "got clearly worse" not in Page(render_html(audit_record(after))).text


def test_texts_of_a_person_stand_on_the_page_where_the_record_has_them(after):
    assert "largest gap" not in render_html(audit_record(after))
    after["texts"] = {"mine": [["My <secret> text.", 0.4321]]}
    text = Page(render_html(audit_record(after))).text
    assert "Texts with the largest gap between groups: mine" in text
    assert "My <secret> text. (0.432)" in text


def test_tables_of_a_method_stand_on_the_page():
    special = Table("Choices <1>", (("a", "b"), ("one", "two & three")), "How to read it.")
    text = Page(render_html(record(measure("m", **LESS), tables=(special,)))).text
    for part in ("Choices <1>", "two & three", "How to read it."):
        assert part in text


def test_several_pictures_of_one_audit(before, after):
    for audit in (before, after):
        centred = audit["projection"] | {
            "method": "pca",
            "note": "mean of the versions of each text subtracted",
        }
        audit["projection"] = [audit["projection"], centred]
    parsed = Page(render_html(audit_record(after, before=before)))
    assert parsed.tags.count("figure") == 4
    assert parsed.text.count("Maps of one method share their axes.") == 2
    assert parsed.text.count("The content is taken out") == 2
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_nothing_is_said_of_pictures_that_are_not_there(before, after):
    """One map alone shares no axes with another, and without maps there is no section of pictures."""
    alone = Page(render_html(audit_record(after)))
    assert alone.tags.count("figure") == 1
    for audit in (before, after):
        del audit["projection"]
    for bare in (audit_record(after), audit_record(after, before=before, command="ccd")):
        text = Page(render_html(bare)).text
        assert "Pictures" not in text
        assert "axes" not in text


def test_same_input_same_page(page, found):
    assert page == render_html(found)
    again = Record.from_json(json.loads(json.dumps(found.to_json())))
    assert page == render_html(again)


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
    audits[1]["texts"] = {EVIL: [[EVIL, 0.5]]}
    sides = {"before": audits[0], "control": audits[2], "training": record}
    page = render_html(audit_record(audits[1], **sides, command="ccd", asked={EVIL: EVIL}, name=EVIL))
    parsed = Page(page)
    assert not {"script", "img"} & set(parsed.tags)
    assert not [name for _, name, _ in parsed.attributes if name.startswith("on")]
    assert "<script" not in page.lower()
    assert html.escape("<script>") in page
    assert "{{7*7}}" in parsed.text  # shown, not computed
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", page)[0]


@pytest.mark.parametrize("name", ["$\\frac$", "文章"])
def test_names_in_pictures_are_neither_formulas_nor_warnings(after, training, name):
    """A lone backslash command between dollars is no valid formula: matplotlib would fail on it; and its font lacks
    many letters."""
    points = after["projection"]["points"]
    points[name] = points.pop("male")
    for point in training["loss_curve"]:
        point[name] = point.pop("bias")
    after["cced"][name] = after["cced"].pop("built-in")
    page = render_html(audit_record(after, training=training, command="ccd"))
    svgs = [svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "<text" in svg]
    assert len(svgs) == 2
    assert all(name in svg for svg in svgs)
    assert f"CCED): {name}" in Page(page).text


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
    Page(render_html(audit_record(audit)))
    sides = {"before": audit, "control": audit, "training": {"loss_curve": []}}
    Page(render_html(audit_record(audit, **sides, command="ccd")))


def test_no_global_settings_change(after):
    import matplotlib

    old = dict(matplotlib.rcParams)
    render_html(audit_record(after))
    assert dict(matplotlib.rcParams) == old
    code = "import sys, hf_fairness.report as r\n"
    code += "r.render_html(r.audit_record({'model': 'm'}, training={'loss_curve': [3, 2, 1]}, command='ccd'))\n"
    code += "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_losses_are_read_in_each_shape():
    assert loss_figure([0.3, 0.2])["series"] == {"loss": [[1.0, 0.3], [2.0, 0.2]]}
    assert loss_figure([[10, 0.3], (20, 0.2)])["series"] == {"loss": [[10.0, 0.3], [20.0, 0.2]]}
    history = [
        {"loss": 0.3, "grad_norm": 1.0, "learning_rate": 1e-5, "epoch": 0.1, "step": 5},
        {"eval_loss": 0.4, "eval_runtime": 3.0, "eval_samples_per_second": 9.0, "step": 5},
        {"train_runtime": 7.0, "total_flos": 0.0, "train_loss": 0.2, "step": 9},
    ]
    assert loss_figure(history)["series"] == {"loss": [[5.0, 0.3]], "eval_loss": [[5.0, 0.4]]}
    assert loss_figure([]) is None


def test_write_report(tmp_path, before, after, control, training):
    after["seat"]["mean_abs_effect_size"] = np.float32(0.59)
    after["cced"]["odd"] = {"cced": math.nan}
    found = audit_record(after, before=before, control=control, training=training, command="ccd")
    paths = write_report(found, tmp_path / "new", result={"after": after, "before": before})
    pictures = {"map-0-before", "map-0-after", "map-0-control", "loss"}
    assert set(paths) == {"json", "markdown", "html", "results"} | pictures
    names = ["record.json", "report.html", "report.md", "results.json", *(f"{name}.svg" for name in pictures)]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    assert {path.name for path in paths.values()} == set(names)
    written = json.loads(paths["json"].read_text(encoding="utf-8"), parse_constant=pytest.fail)
    again = Record.from_json(written)
    assert again.schema == "hf-fairness/record/1"
    (each,) = [each for each in again.measures if each.id == "cced/built-in/cced"]
    assert (each.values["before"].value, each.values["after"].value) == (0.093, 0.021)
    assert each.values["before"].ci95 == pytest.approx((0.093 * 0.93, 0.093 * 1.07))
    assert again.gap(each, again.arm("method"), again.arm("original")).verdict == "improved"
    assert any(line.startswith("cced/odd/cced") for line in again.not_measured)
    results = json.loads(paths["results"].read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert results["after"]["cced"]["odd"]["cced"] is None
    assert results["after"]["probe"]["linear"] == after["probe"]["linear"]
    assert paths["html"].read_text(encoding="utf-8") == render_html(found)
    for name in pictures:
        picture = ElementTree.fromstring(paths[name].read_text(encoding="utf-8"))
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in paths[name].read_text(encoding="utf-8")  # it stands alone


def test_a_record_can_be_written_again_from_its_file(tmp_path, found):
    once = write_report(found, tmp_path / "once")
    read = Record.from_json(json.loads(once["json"].read_text(encoding="utf-8")))
    twice = write_report(read, tmp_path / "twice")
    assert "results" not in once
    assert set(once) == set(twice)
    assert all(once[kind].read_bytes() == twice[kind].read_bytes() for kind in once)


def test_write_report_without_the_page(tmp_path, found):
    paths = write_report(found, tmp_path, html=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record.json", "report.md"]
    assert sorted(paths) == ["json", "markdown"]


def test_plain_values():
    value = {1: (np.float64(0.5), np.int64(3), np.array([1.0, math.inf]), {"b", "a"}, True, None)}
    assert plain(value) == {"1": [0.5, 3, [1.0, None], ["a", "b"], True, None]}
    assert type(plain(np.float64(0.5))) is float


BLOCK = """
import importlib.util, json, pathlib, sys, warnings
real = importlib.util.find_spec
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
importlib.util.find_spec = lambda name, package=None: None if name == "matplotlib" else real(name, package)
import hf_fairness.report as report
audit = {"model": "m", "cced": {"s": {"cced": 0.1, "cced_ci95": [0.05, 0.15], "n": 9}}}
drawn = {**audit, "projection": {"method": "pca", "points": {"male": [[0, 0], [1, 1]]}}}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    paths = report.write_report(report.audit_record(audit), sys.argv[1], result=audit)
    assert not caught, caught  # nothing is missing where there are no pictures
    paths = report.write_report(report.audit_record(drawn), sys.argv[1], result=audit)
from hf_fairness import FairnessWarning
assert [w.category for w in caught] == [FairnessWarning], caught
assert "hf-fairness[report]" in str(caught[0].message)
assert sorted(paths) == ["html", "json", "markdown", "results"]
assert "<figure" not in paths["html"].read_text()
try:
    report.write_report(report.audit_record(drawn), sys.argv[1] + "/html", html=True)
except ImportError as error:
    assert "hf-fairness[report]" in str(error)
else:
    raise SystemExit("html=True must fail without the extra")
assert not pathlib.Path(sys.argv[1], "html").exists()
print(json.loads(paths["json"].read_text())["measures"][0]["values"]["after"]["value"])
print(report.text_report(report.audit_record(audit)).splitlines()[-1].split()[-2:])
"""


def test_everything_but_pictures_without_the_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCK, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0.1", "['0.150]', '0']"]
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("## Bias, risks and limitations")
