"""Every generated table and picture, made of the results files: `python -m benchmarks.readme` puts them in place.

A table stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`: one result per method in the README, all others in
`benchmarks/README.md`. What is around them is written by hand and left as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from benchmarks import (
    bias_score_distilled,
    compare_planted,
    compare_quality,
    data_diet_quality,
    demo_time,
    engines,
    gfst_cell,
    gfst_news,
    hot_paths,
    ibadr_quality,
    ibadr_sick,
    interval_coverage,
    refine_planted,
    refine_quality,
    scaling,
    swap_exam,
    swap_quality,
)
from benchmarks.study import RESULTS, ROOT, made_by, read_record
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_fixed
from hf_fairness.runs import atomic_write_text
from hf_fairness.trainers.data_diet.grid import BASELINES

#: The pages that hold tables.
PAGES = (ROOT / "README.md", ROOT / "benchmarks" / "README.md")
SPEED = ROOT / "benchmarks" / "results.json"

MEASURES = {
    "winogender_cced": "CCED, Winogender (240 human templates)",
    "winogender_cced_relative": "CCED / mean distance, Winogender",
    "grep_biasir_cced": "CCED, GrepBiasIR (154 human rewrites)",
    "grep_biasir_cced_relative": "CCED / mean distance, GrepBiasIR",
    "built_in_cced": "CCED, built-in triples (432, held out)",
    "stsb_dev_spearman": "STS-B dev, Spearman (relative)",
}
#: Columns of the table of the data diet that are shown.
DIET_COLUMNS = (
    *("method", "a", "b", "rows", "paired DP (1)", "kept/flipped DP, the paper's eq. 3 (1)", "flip rate (0)"),
    *("group DP (1)", "AUC (1)", "AUC change"),
)
#: Measures of the template worlds that are shown, and models whose names it changes.
GFST_COLUMNS = {
    "accuracy": "WinoMT Acc",
    "delta_r": "ΔR (0)",
    "forms_female": "right feminine noun",
    "forms_male": "right masculine noun",
    "absent_forms": "absent feminine forms",
    "bleu": "BLEU",
}
GFST_NAMES = {
    gfst_cell.CONTROL: "control, equal steps",
    gfst_cell.RANDST: "RandST, equal size",
    gfst_cell.GFST: "**GFST**",
}
#: Sets of SICK in the README: test rows, and those of them that speak against the bias.
SICK_SETS = ("test", "against_negation")
LEVELS = {
    "similarity_structure": "Similarity structure, 4,000 STS-B sentence pairs (1 is ideal)",
    "seat_mean_abs_effect_size": "SEAT, mean |d| (original {seat:.2f})",
}


def study_table(results: Mapping[str, Any]) -> str:
    """Change per measure and arm in per cent, with the interval over texts; then values that are no changes."""
    arms, original = results["arms"], results["original"]
    rows = [["change against the original", *arms]]
    rows += [[name, *(_percent(arm[key]) for arm in arms.values())] for key, name in MEASURES.items()]
    for key, name in LEVELS.items():
        title = name.format(seat=original["seat_mean_abs_effect_size"])
        rows.append([title, *(_digits(arm[key]["mean"]) for arm in arms.values())])
    probe = [_digits(arm["probe"]["linear"]["mean"]) for arm in arms.values()]
    rows.append([f"Linear probe for the group (original {_digits(original['probe']['linear'])})", *probe])
    return markdown_table(rows, trusted=True)


def _percent(value: Mapping[str, Any]) -> str:
    text = f"{value['mean'] * 100:+.1f} %"
    if value.get("ci95"):
        low, high = (end * 100 for end in value["ci95"])
        text += f" [{low:+.1f}, {high:+.1f}]"
    return text.replace("-", "−")


def speed_table(record: Mapping[str, Any]) -> str:
    """Median ratio of each benchmark, with the least and the greatest of its rounds, and all that stands beside it."""
    rows = [
        [
            "what",
            "at",
            "beside",
            "speed ratio",
            "bar",
            "met",
            "floor / ours",
            "peak MiB, ours and beside",
            "measured at",
        ]
    ]
    for entry in record["benchmarks"]:
        facts = [f"{key} {value:.4g}" for key, value in entry.get("facts", {}).items()]
        memory = entry.get("memory", {})
        rows.append(
            [
                entry["compares"],
                entry.get("size", ""),
                "; ".join([entry.get("rival", ""), *facts]).strip("; "),
                *_speed_cells(entry),
                ", ".join(f"{memory[role]:,.0f}" for role in ("subject", "peer") if role in memory),
                made_by(entry.get("measured", record)),
            ]
        )
    return markdown_table(rows, trusted=True)


def _speed_cells(entry: Mapping[str, Any]) -> list[str]:
    """Ratio, bar, whether it is met, and the share of the time that the least work takes."""
    if "skipped" in entry:
        return [entry["skipped"], f"{entry['bar']:.2f}", "not measured", ""]
    ratio, floor = entry["ratio"], entry.get("floor_ratio")
    spread = "{} ({} to {})".format(*(_times(ratio[key]) for key in ("median", "min", "max")))
    met = "yes" if entry["passed"] else "**no**"
    return [spread, f"{entry['bar']:.2f}", met, _times(floor["median"]) if floor else ""]


def _times(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def scaling_table(results: Mapping[str, Any]) -> str:
    """Exponents of time and memory of each case, over all sizes and over the two largest; what misses its bar."""
    rows = [["what", "over", "sizes", "time", "two largest", "memory", "two largest"]]
    for name, case in results.items():
        exponents = [_growth(case, cost, part) for cost in ("time", "memory") for part in ("", "_last")]
        rows.append([name, case["over"], f"{case['sizes'][0]:,} to {case['sizes'][-1]:,}", *exponents])
    missed = [f"- {line}" for line in scaling.misses(results)]
    return "\n".join([markdown_table(rows, trusted=True), "", *(missed or ["No case misses a bar."])])


def _growth(case: Mapping[str, Any], cost: str, part: str) -> str:
    """An exponent, with the least and the greatest of the rounds where there are some."""
    interval = case.get(f"{cost}_interval{part}")
    ends = " [{:.2f}, {:.2f}]".format(*interval) if interval else ""
    return f"{case[f'{cost}_exponent{part}']:.2f}{ends}"


def diet_table(results: Mapping[str, Any]) -> str:
    """Baselines and the three rankings of factual texts at random, at the same shares; what matters most of each."""
    table = {name: results["table"][name] for name in BASELINES if name in results["table"]}
    table |= {name: results["diet"][name] for name in data_diet_quality.ORDER}
    rows = data_diet_quality.diet_table({"table": table})
    shown = [place for place, title in enumerate(rows[0]) if title in DIET_COLUMNS]
    return markdown_table([[row[place] for place in shown] for row in rows], trusted=True)


def diet_full_text(results: Mapping[str, Any]) -> str:
    """Baselines and both rankings with whole models, and how the two differ."""
    rows = data_diet_quality.diet_table({"table": results["table"]})
    shown = [place for place, title in enumerate(rows[0]) if title in DIET_COLUMNS]
    table = markdown_table([[row[place] for place in shown] for row in rows], trusted=True)
    gaps = (f"{key.replace('_', ' ')} {_told(gap)}" for key, gap in results["ranking_against_random"].items() if gap)
    return f"{table}\n\nHealthy random less random, over seeds: {'; '.join(gaps)}."


def diet_text(results: Mapping[str, Any]) -> str:
    """What the table of the data diet does not show: the ranking at both shares, and what got worse."""
    diet, cda = results["diet"], results["table"]["cda"]["measures"]["test"]["counterfactual_parity"]["mean"]
    chosen, fixed, at_choice = diet["healthy_random"], diet["order"], diet["order_at_choice"]
    a, b, other = at_choice["factual_fraction"], at_choice["counterfactual_fraction"], fixed["counterfactual_fraction"]
    healthy, random, unhealthy = (
        _digits(fixed["test"]["paired_parity"][name]["mean"]) for name in data_diet_quality.ORDER
    )
    paper = results["diet_of_all_examples"]["order"]["test"]["paired_parity"]["healthy_random"]["mean"]
    own = [_kept_flipped(diet[name]) for name in data_diet_quality.ORDER[:2]]
    against, loss = chosen["against"]["cda"], -100 * chosen["auc_change"]["test"]["mean"]
    lines = [
        f"Healthy random trains on {chosen['share_of_cda_with_copies']:.2f} of CDA's examples as the paper counts,",
        f"{chosen['share_of_cda']:.2f} of its different texts, and loses {loss:.1f} % of the AUC. Paired DP of healthy",
        f"random less random, test texts, at a = {a:g} and b = {b:g}: {_gap(at_choice['test']['differences'][0])};",
        f"at b = {other:g}: {_gap(fixed['test']['differences'][0])} ({healthy} against {random}; unhealthy random",
        f"{unhealthy}). Against CDA: AUC {_gap(against['test']['auc'])},",
        f"group DP {_gap(against['groups']['demographic_parity'])}. With b counted in all examples, as the paper does,",
        f"paired DP at b = {other:g} is {_digits(paper)}, that of CDA {_digits(cda)}. By the paper's own DP (equation",
        f"3: texts kept against flipped) healthy random and random overlap: {' and '.join(own)} at b = {b:g}.",
    ]
    return "\n".join(lines)


def _kept_flipped(line: Mapping[str, Any]) -> str:
    """The paper's demographic parity of a line of the table, with its interval."""
    found = line["measures"]["test"]["kept_flipped_parity"]
    return format_fixed(found["mean"], found["ci95"])


def gfst_table(results: Mapping[str, Any]) -> str:
    """Means over seeds of each model of the template worlds, and how GFST differs from its control and RandST."""
    models = [["setting", "model", *GFST_COLUMNS.values()]]
    gaps = [["setting", "ΔR, GFST less control", "ΔR, GFST less RandST", "Acc, GFST less control"]]
    for name, setting in results["settings"].items():
        for arm in gfst_cell.ARMS:
            values = [_digits(setting["arms"][arm][key]["mean"]) for key in GFST_COLUMNS]
            models.append([name, GFST_NAMES.get(arm, arm), *values])
        control, randst = (setting["gfst_against"][arm] for arm in (gfst_cell.CONTROL, gfst_cell.RANDST))
        gaps.append([name, *map(_gap, (control["delta_r"], randst["delta_r"], control["accuracy"]))])
    return "\n\n".join(markdown_table(rows, trusted=True) for rows in (models, gaps))


def gfst_real_text(results: Mapping[str, Any]) -> str:
    """What the small translator of real text reaches, in words."""
    quality, wino, n = results["quality"], results["winomt"], results["n"]
    own = quality["translator"]
    lines = [
        f"{results['training']['parameters'] / 1e6:.1f} million parameters, {n['train']:,} pairs,",
        f"{results['minutes']:.0f} minutes on {results['threads']} threads: BLEU {100 * own['bleu']:.1f}",
        f"[{100 * own['bleu_ci95'][0]:.1f}, {100 * own['bleu_ci95'][1]:.1f}] on {n['test']:,} held-out pairs, a",
        f"word-by-word dictionary {100 * quality['dictionary']['bleu']:.1f}, copy {100 * quality['copy']['bleu']:.1f}",
        f"(`{own['signatures']['bleu']}`);",
        f"WinoMT Acc {_rate(wino, 'accuracy')}, ΔR {_rate(wino, 'delta_r')}, no gender found in",
        f"{wino['unknown_rate']:.2f} of the rows.",
    ]
    return "\n".join(lines)


def ibadr_text(results: Mapping[str, Any]) -> str:
    """What separates the arms of the planted world, what a biased filter throws away, and what got worse."""
    first, gaps = {name: each[0] for name, each in results["rounds"].items()}, results["comparisons"]
    shares = [_digits(first["biased_filter"][f"anti_artefact_{side}"]["mean"]) for side in ("before", "after")]
    true = _digits(first["ibadr"]["true_labels"]["mean"])
    worse = {pair: gap for pair, gap in gaps["validation"].items() if gap["difference"] < 0}
    lines = [
        f"{ibadr_quality.comparison_table(results)}\n",
        f"Of the first round's new samples {shares[0]} go against the marker; of those that the generator's own filter",
        f"keeps {_digits(first['ibadr']['anti_artefact_after']['mean'])}, of those that the biased base model keeps",
        f"{shares[1]}. Of the rows that this round adds {true} have a true label.",
        f"Worse on rows like the training rows (validation): {_gaps(worse) or 'no pair'}.",
    ]
    return "\n".join(lines)


def _gaps(pairs: Mapping[str, Any]) -> str:
    return "; ".join(f"{pair.replace('_', ' ').replace(' - ', ' less ')} {_gap(gap)}" for pair, gap in pairs.items())


def sick_text(results: Mapping[str, Any]) -> str:
    """How poor the samples of real pairs were, what each filter made of them, and the hypothesis-only accuracy."""
    first = {name: results[name]["rounds"][0] for name in ibadr_sick.FILTERS}
    quality = first["generator"]["quality"]
    before, expected = quality["agreement"]["before"], first["generator"]["judge"]["expected_agreement"]
    kept = {
        name: f"{each['quality']['accepted']['share']:.2f} of them, agreement"
        f" {each['quality']['agreement']['after']['agreement']:.2f}, against the negation"
        f" {each['anti_artefact']['before']['anti_artefact_share']:.2f} to"
        f" {each['anti_artefact']['after']['anti_artefact_share']:.2f}"
        for name, each in first.items()
    }
    probes = {"original": results["generator"]["partial_input"]["original"]}
    probes |= {f"{name}'s pool": results[name]["partial_input"]["pool"] for name in ibadr_sick.FILTERS}
    lines = [
        f"Of the first round's samples {quality['readable']['share']:.2f} can be read. The base model gives"
        f" {_rate(before, 'agreement')} of them",
        f"the label that was asked for; by chance {before['chance']:.2f}, and {expected:.2f} of validation rows as"
        " biased. The generator's filter keeps",
        f"{kept['generator']}; the base model's keeps {kept['main']}.",
        "Hypothesis-only accuracy (majority in parentheses): "
        + ", ".join(f"{name} {_rate(each, 'accuracy')} ({each['majority']:.2f})" for name, each in probes.items())
        + ".",
    ]
    return "\n".join(lines)


def _rate(scores: Mapping[str, Any], key: str) -> str:
    return format_fixed(scores[key], scores[f"{key}_ci95"])


def _digits(value: float) -> str:
    return f"{value:.3f}"


def _gap(value: Mapping[str, Any]) -> str:
    return format_fixed(value["difference"], value["ci95"], "+.3f")


def _told(value: Mapping[str, Any]) -> str:
    """A gap, and that it is not clear where its interval holds 0."""
    low, high = value["ci95"]
    return _gap(value) + (", not clear of 0" if low <= 0 <= high else "")


def method_table(studies: Mapping[str, Any]) -> str:
    """One result per method for the README: its control, what it reached, what got worse or stayed as it was."""
    rows = [
        ["method, model, texts", "measure (ideal)", "control", "with the method", "what got worse, or did not change"],
        _refine_row(studies["refine_planted"], studies["refine_real"]),
        _ccd_row(studies["ccd_quality"]),
        _diet_row(studies["data_diet_quality"]),
        _gfst_row(studies["gfst_news"], studies["gfst_quality"]),
        _ibadr_row(studies["ibadr_quality"], studies["ibadr_sick"]),
    ]
    return markdown_table(rows, trusted=True)


def _refine_row(planted: Mapping[str, Any], real: Mapping[str, Any]) -> list[str]:
    values = planted["measures"][refine_planted.ASSOCIATION]["values"]
    gap = planted["gaps"][refine_planted.ASSOCIATION]["sub-90 - random-sub-90"]
    sides = (real["measures"][name]["values"] for name in ("seat/mean_abs_effect_size", "utility/test pairs/accuracy"))
    size, right = ([_digits(each[arm]["value"]) for arm in ("random-sub-90", "sub-90")] for each in sides)
    clear = _told(real["gaps"]["seat/mean_abs_effect_size"]["sub-90 - random-sub-90"])
    return [
        "corpus refinement by bias score, encoders from scratch, planted stereotype, without the 10 % of highest score",
        "planted association, d (0)",
        f"{_digits(values['random-sub-90']['value'])} without as many random rows",
        f"{_digits(values['sub-90']['value'])} ({_digits(values['original']['value'])} on all rows); gap {_told(gap)}",
        f"on real pairs (BiLSTM-max, SNLI and SICK) SEAT {size[1]} against {size[0]}, gap {clear}; accuracy {right[0]} "
        f"and {right[1]}",
    ]


def _ccd_row(results: Mapping[str, Any]) -> list[str]:
    control, method = results["arms"]["control (news)"], results["arms"]["news"]
    seat, original = _digits(method["seat_mean_abs_effect_size"]["mean"]), results["original"]
    probe = f"{_digits(method['probe']['linear']['mean'])} ({_digits(original['probe']['linear'])} before)"
    return [
        "CCD, MiniLM, news sentences",
        "change of CCED on Winogender (−100 %)",
        _percent(control["winogender_cced"]),
        _percent(method["winogender_cced"]),
        f"on rewrites by people {_percent(method['grep_biasir_cced'])}; a probe reads the group in {probe}; SEAT "
        f"{_digits(original['seat_mean_abs_effect_size'])} to {seat}; STS-B {_percent(method['stsb_dev_spearman'])}",
    ]


def _diet_row(results: Mapping[str, Any]) -> list[str]:
    diet = results["diet"]
    at = diet["order_at_choice"]["test"]
    healthy, random, _ = (_digits(at["paired_parity"][name]["mean"]) for name in data_diet_quality.ORDER)
    own = [_kept_flipped(diet[name]) for name in data_diet_quality.ORDER[:2]]
    return [
        "healthy data diet, head on MiniLM, tweets",
        "paired demographic parity (1)",
        f"{random} on as many random rows",
        f"{healthy}; gap {_told(at['differences'][0])}",
        f"AUC {_percent(diet['healthy_random']['auc_change']['test'])} against all rows; by the paper's own measure "
        f"{own[1]} and {own[0]}",
    ]


def _gfst_row(news: Mapping[str, Any], worlds: Mapping[str, Any]) -> list[str]:
    ratio, bleu = (
        {arm: _digits(found["value"]) for arm, found in news["measures"][name].items()}
        for name in ("winomt/delta_r", "test/bleu")
    )
    gap = next(each for each in news["gaps"] if (each["measure"], each["pair"]) == ("winomt/delta_r", "gfst - control"))
    absent = worlds["settings"]["few women"]["arms"][gfst_cell.GFST]["absent_forms"]
    return [
        "GFST, small translator into Italian, news with few women",
        "ΔR on WinoMT (0)",
        f"{ratio['control']} with equal steps",
        f"{ratio['gfst']}; gap {_told(gap)}",
        f"BLEU {bleu['control']} and {bleu['gfst']}; {ratio['hd']} by hard-debiased embeddings alone; "
        f"in a world of templates, feminine forms that the data lack {_digits(absent['mean'])}",
    ]


def _ibadr_row(planted: Mapping[str, Any], sick: Mapping[str, Any]) -> list[str]:
    arms, real = planted["accuracy"]["reversed"], sick["generator"]["results"]
    test, against = ([_digits(real[name][arm]["accuracy"]) for arm in ("control", "ibadr")] for name in SICK_SETS)
    return [
        "IBADR, tiny models, planted world",
        "accuracy with a reversed marker (1)",
        f"{_digits(arms['control']['mean'])} with equal steps",
        f"{_digits(arms['ibadr']['mean'])}; gap {_told(planted['comparisons']['reversed']['ibadr - control'])}",
        f"on real pairs (SICK, a generator from scratch) accuracy goes from {' to '.join(test)}, on those against the "
        f"bias from {' to '.join(against)}",
    ]


#: What stands in the place of a table before its study has been run.
NOT_RUN = "No results are recorded:"


def tables() -> dict[str, str]:
    """Each table by the name of its place; below it the commit and date that it was measured at."""
    records = {path.stem: read_record(path) for path in sorted(RESULTS.glob("*.json"))}
    studies = {name: record["results"] for name, record in records.items()}
    diet, planted, sick = studies["data_diet_quality"], studies["ibadr_quality"], studies["ibadr_sick"]
    news = studies["gfst_news"]
    stereotype = studies["refine_planted"]
    written = {
        "study": ("ccd_quality", study_table(studies["ccd_quality"])),
        "diet": ("data_diet_quality", f"{diet_table(diet)}\n\n{diet_text(diet)}"),
        "gfst": ("gfst_quality", gfst_table(studies["gfst_quality"])),
        "gfst_real": ("gfst_real", gfst_real_text(studies["gfst_real"])),
        "gfst_news": ("gfst_news", "\n".join([gfst_news.table(news), *news["cautions"]])),
        "ibadr": ("ibadr_quality", f"{ibadr_quality.table(planted)}\n\n{ibadr_text(planted)}"),
        "sick": ("ibadr_sick", f"{ibadr_sick.table(sick)}\n\n{sick_text(sick)}"),
        "stereotype": ("refine_planted", f"{refine_planted.table(stereotype)}\n\n{refine_planted.text(stereotype)}"),
        "swaps": ("swap_quality", swap_quality.table(studies["swap_quality"])),
        "distilled": ("bias_score_distilled", bias_score_distilled.table(studies["bias_score_distilled"])),
        "scaling": ("scaling", scaling_table(studies["scaling"])),
        "interval_coverage": ("interval_coverage", interval_coverage.tables(studies["interval_coverage"])),
    }
    not_yet = {}
    for place, name, show, lacking in (
        ("swap_exam", "swap_exam", swap_exam.table, "The closed half has not been opened."),
        ("compare", "compare_quality", compare_quality.table, f"{NOT_RUN} three hours of one core."),
        ("compare_planted", "compare_planted", compare_planted.table, f"{NOT_RUN} half an hour of one core."),
        ("engines", "engines", engines.table, f"{NOT_RUN} ten minutes of two cores."),
        ("hot_paths", "hot_paths", hot_paths.table, f"{NOT_RUN} five minutes of one core."),
        ("demo_time", "demo_time", demo_time.table, f"{NOT_RUN} eight minutes of one core."),
        ("diet_full", "data_diet_full", diet_full_text, f"{NOT_RUN} 25 minutes of one core."),
        ("refine", "refine_quality", refine_quality.table, f"{NOT_RUN} 90 minutes of one core."),
        ("refine_real", "refine_real", refine_planted.real_table, f"{NOT_RUN} half an hour of one core."),
    ):
        if name in studies:
            written[place] = name, show(studies[name])
        else:
            not_yet[place] = lacking
    dated = {place: f"{table}\n\nMeasured at {made_by(records[name])}." for place, (name, table) in written.items()}
    dated |= not_yet
    speed = json.loads(SPEED.read_text(encoding="utf-8"))
    return {**dated, "methods": method_table(studies), "speed": speed_table(speed)}


def fill(text: str, tables: Mapping[str, str]) -> str:
    """The text of a page with the tables that have a place in it."""
    for name, table in tables.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        text = re.sub(f"{begin}.*?{end}", lambda _, t=table, b=begin, e=end: f"{b}\n{t}\n{e}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for page in PAGES:
        atomic_write_text(page, fill(page.read_text(encoding="utf-8"), tables()))
    for part, picture in scaling.pictures(read_record(RESULTS / "scaling.json")["results"]).items():
        atomic_write_text(RESULTS / f"scaling_{part}.svg", picture)
