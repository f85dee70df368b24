"""An exam for swaps of gender terms: 400 sentences that no rule and no test has seen, drawn before any rule changed.

    python -m benchmarks.swap_exam                        rates of every system on the open half
    python -m benchmarks.swap_exam --open_closed_half     once: those of the closed half, into results/swap_exam.json

Sentences: news (130), captions (70), tweets (67), headlines (80) and forum posts (53) with a word of the published
lists of gender words, drawn by seed; none stands in this project. Two annotators wrote all counterparts independently,
by a guide, without sight of rules or code; they agreed on 391 of 400, and every answer of one was among those that the
other accepts; a third settled what differed. A sentence has one best counterpart and others that are as good ("Mr":
"Ms", "Mrs"); a system is compared with the one that is nearest to what it wrote.

`exams/swap_exam.json` holds rows, spans that change and hashes, not the texts: these are third-party data beside the
project. Half of the answers is open to work with. The other half is packed so that no one reads it by chance; it is
opened once, when the rules are done, and nothing is tuned afterwards.
"""

from __future__ import annotations

import argparse
import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.calibration import calibration
from benchmarks.exams.texts import DATA, FOLDER, Question, questions_at
from benchmarks.study import RESULTS, ROOT, write_results
from benchmarks.swap_quality import GENDER, SYSTEMS, Rewrite
from benchmarks.token_errors import nearest_errors, token_error_rates
from hf_fairness.augment import REASONS, CounterfactualSwap, SwapQuality
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import bootstrap_means, percentile_interval
from hf_fairness.utils import package_versions

FILE = FOLDER / "swap_exam.json"
#: What the closed half gave when it was opened.
OPENED = RESULTS / "swap_exam.json"
OURS = "hf-fairness"
CONFIG: dict[str, Any] = {
    "half": "closed",
    "sources": [
        *("benchmarks/swap_exam.py", "benchmarks/swap_quality.py", "benchmarks/token_errors.py"),
        *("benchmarks/calibration.py", "benchmarks/exams/swap_exam.json"),
        *("hf_fairness/augment/*.py", "hf_fairness/attributes/*.py", "hf_fairness/attributes/data/gender.en.json"),
    ],
}


def packed(answers: Any) -> str:
    """Answers as a text that says nothing to a reader."""
    return base64.b64encode(zlib.compress(json.dumps(answers, ensure_ascii=False).encode(), 9)).decode()


def unpacked(text: str) -> Any:
    """Answers that `packed` packed."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def questions(half: Literal["open", "closed"], data: Path = DATA) -> Iterator[Question]:
    """The sentences of a half.

    Raises:
        ValueError: the texts or the answers are not those that were drawn.
    """
    record = json.loads(FILE.read_text(encoding="utf-8"))
    answers = {"open": record["open"], "closed": unpacked(record["closed"])}
    if content_key(answers) != record["answers_key"]:
        raise ValueError("The answers are not those that were committed before the rules changed.")
    places = [place for place in record["rows"] if place["half"] == half]
    yield from questions_at(places, answers[half], data)


def measure(rewrite: Rewrite, asked: Sequence[Question]) -> dict[str, Any]:
    """Errors of a system beside the nearest counterpart that is right.

    Returns:
        What `token_error_rates` gives, ``n``, and of each sentence, for paired comparisons, ``errors``,
        ``errors_uncased`` and ``tokens``.
    """
    table = np.array([errors_on(rewrite, question) for question in asked])
    columns = dict(zip(("errors", "errors_uncased", "tokens"), table.T.tolist(), strict=True))
    return {**token_error_rates(table.astype(float)), "n": len(asked), **columns}


def errors_on(rewrite: Rewrite, question: Question) -> tuple[int, int, int]:
    """Token errors of a system beside the nearest counterpart, the same without regard to case, and its tokens."""
    return nearest_errors(rewrite(question.text, GENDER.polarity(question.accepted[0])), question.accepted)


def less(ours: Mapping[str, Any], rival: Mapping[str, Any]) -> dict[str, Any]:
    """Ours less a rival's, with 95 % intervals over sentences, drawn in pairs.

    Args:
        ours: what `measure` gives.
        rival: the same of another system on the same sentences.

    Returns:
        ``token_error_rate``, ``token_error_rate_uncased`` (below 0: we err less), ``exact`` (above 0: more of ours are
        right): each a ``difference`` with ``ci95``.
    """
    kinds = ("errors", "errors_uncased", "tokens")
    both = np.array([each[kind] for each in (ours, rival) for kind in kinds], dtype=float).T
    table = np.hstack([both, both[:, [0, 3]] == 0])
    found = {}
    for name, value in {
        "token_error_rate": lambda means: means[..., 0] / means[..., 2] - means[..., 3] / means[..., 5],
        "token_error_rate_uncased": lambda means: means[..., 1] / means[..., 2] - means[..., 4] / means[..., 5],
        "exact": lambda means: means[..., 6] - means[..., 7],
    }.items():
        ends = percentile_interval(value(bootstrap_means(table)))
        found[name] = {"difference": float(value(table.mean(axis=0))), "ci95": ends}
    return found


def confidences(asked: Sequence[Question]) -> dict[str, Any]:
    """What our confidences say of our swaps.

    Returns:
        ``confidence``: of each sentence, as it is where no rule rejects: by the guide names stay, and a man may be
        pregnant; ``right``: whether the swap is; ``rejected``: whether the rules of `SwapQuality` reject it.
    """
    batch = {"text": [each.text for each in asked]}
    batch |= CounterfactualSwap("text")(batch)
    right = [new in each.accepted for new, each in zip(batch["text_counterfactual"], asked, strict=True)]
    confidence = SwapQuality("text", ignore=tuple(REASONS))(batch)["confidence"]
    rejected = [bool(reason) for reason in SwapQuality("text")(batch)["rejected_reason"]]
    return {"confidence": confidence, "right": right, "rejected": rejected}


def by_source(asked: Sequence[Question]) -> dict[str, list[int]]:
    """Numbers of the sentences of all sources, and of each; both kinds of news are one."""
    found: dict[str, list[int]] = {"all": list(range(len(asked)))}
    for i, question in enumerate(asked):
        found.setdefault(question.source.partition("-")[0], []).append(i)
    return found


def study(asked: Sequence[Question], systems: Mapping[str, Rewrite]) -> dict[str, Any]:
    """Everything that the exam asks.

    Args:
        asked: the sentences.
        systems: name -> system; ours is among them.

    Returns:
        ``systems``, ``ours_less``: source -> system -> what `measure` and `less` give; ``calibration``: source -> what
        `calibration` gives; ``rejected``: how many swaps the rules reject, and how many of these are wrong; ``n``:
        source -> sentences; ``versions`` of the rivals.
    """
    sources = by_source(asked)
    rates = {
        source: {name: measure(rewrite, [asked[i] for i in chosen]) for name, rewrite in systems.items()}
        for source, chosen in sources.items()
    }
    said = confidences(asked)
    sure, right = np.array(said["confidence"]), np.array(said["right"], dtype=float)
    bad = np.array(said["rejected"])
    return {
        "n": {source: len(chosen) for source, chosen in sources.items()},
        "systems": rates,
        "ours_less": {
            source: {name: less(found[OURS], rival) for name, rival in found.items() if name != OURS}
            for source, found in rates.items()
        },
        "calibration": {source: calibration(sure[chosen], right[chosen]) for source, chosen in sources.items()},
        "rejected": {"n": int(bad.sum()), "wrong": int((1 - right[bad]).sum())},
        "versions": package_versions(["langfair", "nlpaug"]),
    }


def lines(results: Mapping[str, Any]) -> list[str]:
    """The results of `study` as lines to print."""
    written = []
    for source, systems in results["systems"].items():
        written.append(f"{source}: {results['n'][source]} sentences")
        for name, found in systems.items():
            rate = f"token error rate {found['token_error_rate']:.4f} {_ends(found['token_error_rate_ci95'], '.4f')}"
            line = (
                f"  {name:<18} {rate}, without case {found['token_error_rate_uncased']:.4f}, exact {found['exact']:.3f}"
            )
            gap = results["ours_less"][source].get(name)
            if gap is not None:
                exact = gap["exact"]
                line += f"; ours less it {_gaps(found, gap)}"
                line += f", exact {exact['difference']:+.3f} {_ends(exact['ci95'], '+.3f')}"
            written.append(line)
        found = results["calibration"][source]
        area = found["auc_wrong"]
        shown = (
            "no swap is wrong" if area is None else f"AUC for wrong swaps {area:.3f} {_ends(found['auc_wrong_ci95'])}"
        )
        written.append(f"  confidence: ECE {found['ece']:.3f} {_ends(found['ece_ci95'])}, {shown}")
    for row in results["calibration"]["all"]["reliability"]:
        ends = _ends(row["right_ci95"])
        written.append(f"  n = {row['n']}: confidence {row['confidence']:.3f}, right {row['right']:.3f} {ends}")
    rejected = results["rejected"]
    return [*written, f"rejected by rules: {rejected['n']}, of which {rejected['wrong']} wrong"]


def _gaps(rival: Mapping[str, Any], gap: Mapping[str, Any]) -> str:
    """Ours less a rival's rate; without regard to case too, where its capitals are errors."""
    kinds = {"token_error_rate": ""}
    if rival["token_error_rate_uncased"] < rival["token_error_rate"]:
        kinds["token_error_rate_uncased"] = ", without case "
    found = {label: gap[kind] for kind, label in kinds.items()}
    return "".join(f"{label}{each['difference']:+.4f} {_ends(each['ci95'], '+.4f')}" for label, each in found.items())


def _ends(ends: Sequence[float], form: str = ".3f") -> str:
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def table(results: Mapping[str, Any]) -> str:
    """The tables for the page of results: errors of each system, errors by source, reliability."""
    systems, gaps = results["systems"], results["ours_less"]["all"]
    rows = ["| system | token error rate | without case | exact | ours less it |", "|---|---|---|---|---|"]
    for name, found in systems["all"].items():
        rate = f"{found['token_error_rate']:.4f} {_ends(found['token_error_rate_ci95'], '.4f')}"
        cells = [name, rate, f"{found['token_error_rate_uncased']:.4f}", f"{found['exact']:.3f}", ""]
        if name in gaps:
            cells[-1] = _gaps(found, gaps[name])
        rows.append(f"| {' | '.join(cells)} |")
    sources = [source for source in systems if source != "all"]
    heads = [f"{source} ({results['n'][source]})" for source in sources]
    rows += ["", f"| token error rate | {' | '.join(heads)} |"]
    rows.append("|---" * (len(sources) + 1) + "|")
    for name in systems["all"]:
        rates = [f"{systems[source][name]['token_error_rate']:.4f}" for source in sources]
        rows.append(f"| {name} | {' | '.join(rates)} |")
    found = results["calibration"]["all"]
    rows += ["", "| swaps, from the least sure | mean confidence | right |", "|---|---|---|"]
    for row in found["reliability"]:
        rows.append(f"| {row['n']} | {row['confidence']:.3f} | {row['right']:.3f} {_ends(row['right_ci95'])} |")
    area = "none is wrong"
    if found["auc_wrong"] is not None:
        area = f"area under the curve for wrong swaps {found['auc_wrong']:.3f} {_ends(found['auc_wrong_ci95'])}"
    last = f"Confidence: expected calibration error {found['ece']:.3f} {_ends(found['ece_ci95'])}, {area}; "
    rows += ["", f"{last}{found['n_wrong']} of {found['n']} swaps are wrong."]
    return "\n".join(rows).replace("-0", "−0")


def open_closed_half(file: Path = OPENED) -> dict[str, Any]:
    """Measure the closed half, once, and write the results.

    Raises:
        FileExistsError: it was opened before.
        ImportError: a rival cannot be imported; the half stays closed.
    """
    if file.exists():
        raise FileExistsError(f"{file} exists: the closed half was opened, and is opened once.")
    systems = {name: build() for name, build in SYSTEMS.items()}
    results = study(list(questions("closed")), systems)
    write_results(file, CONFIG, results)
    return results


def open_half() -> dict[str, Any]:
    """Measure the systems that can be imported on the open half."""
    systems = {}
    for name, build in SYSTEMS.items():
        try:
            systems[name] = build()
        except ImportError as error:
            print(f"{name:<18} skipped: {error}")
    return study(list(questions("open")), systems)


def main() -> None:
    """Print the results of the open half, or open the closed one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.swap_exam", description="Swaps on unseen sentences.")
    parser.add_argument("--open_closed_half", action="store_true", help=f"once; writes {OPENED.relative_to(ROOT)}")
    print("\n".join(lines(open_closed_half() if parser.parse_args().open_closed_half else open_half())))


if __name__ == "__main__":
    main()
