"""The command `audit` on a real MiniLM, against bare encoding of the same distinct texts and the bare statistics.

The command also opens the model, makes the texts, draws two maps of the embeddings (t-SNE takes most of that) and
writes the report. The peer has an open model and the texts at hand, encodes them in one call of `SentenceTransformer`,
and computes every number of the audit, with the same permutations, resamples and probes. One unit is one audit.
"""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
from typing import Any, NamedTuple

import numpy as np

from benchmarks.runner import Benchmark, SkipSubject

N_SAMPLES, N_BOOTSTRAP = 100_000, 2_000


class State(NamedTuple):
    """The model, open and as a folder; what is measured; how many partitions and resamples are drawn."""

    folder: str
    model: Any
    tests: list[Any]
    variants: Any
    n_samples: int
    n_bootstrap: int


def setup(quick: bool) -> State:
    """Every test and text of `audit` on gender; with `quick` fewer draws, which is most of the statistics."""
    from hf_fairness.attributes import load_attribute
    from hf_fairness.demo import minilm_path
    from hf_fairness.measure.audit import built_in_tests, built_in_variants
    from hf_fairness.measure.encoder.seat_tests import resolve_tests
    from hf_fairness.measure.variants import read_variants

    try:
        folder = minilm_path()
    except ImportError as error:
        raise SkipSubject(str(error)) from error
    from sentence_transformers import SentenceTransformer

    gender = load_attribute("gender")
    tests, variants = resolve_tests(built_in_tests(gender)), read_variants(built_in_variants(gender))
    draws = (N_SAMPLES // 10, N_BOOTSTRAP // 10) if quick else (N_SAMPLES, N_BOOTSTRAP)
    return State(folder, SentenceTransformer(folder, device="cpu"), tests, variants, *draws)


def subject(state: State) -> None:
    """The whole command, with its report."""
    from hf_fairness.cli import command

    logging.disable(logging.INFO)
    draws = ["--n_samples", str(state.n_samples), "--n_bootstrap", str(state.n_bootstrap)]
    try:
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
            command("audit")([state.folder, "--output_dir", out, "--use_cpu", *draws])
    finally:
        logging.disable(logging.NOTSET)


def floor(state: State) -> None:
    """Bare encoding alone."""
    _encode(state)


def peer(state: State) -> None:
    """Bare encoding, and the statistics on ready vectors."""
    from hf_fairness.measure.encoder.probe import KINDS, probe
    from hf_fairness.measure.encoder.seat import Embedded, run_tests
    from hf_fairness.scores.cced import cced

    texts, vectors = _encode(state)
    place = {text: row for row, text in enumerate(texts)}
    draws: dict[str, Any] = {"n_bootstrap": state.n_bootstrap, "seed": 0}
    run_tests(state.tests, Embedded(tuple(texts), vectors), n_samples=state.n_samples, **draws)
    columns = {**state.variants.groups, "neutral": state.variants.neutral}
    versions = {name: vectors[[place[text] for text in column]] for name, column in columns.items()}
    cced(versions, clusters=state.variants.clusters, **draws)
    for kind in KINDS:
        probe(embeddings=versions, kind=kind, clusters=state.variants.clusters, show_progress=False, **draws)


def _encode(state: State) -> tuple[list[str], np.ndarray]:
    from hf_fairness.measure.encoder.seat import texts_of

    texts = list(dict.fromkeys([*texts_of(state.tests), *state.variants.texts()]))
    return texts, state.model.encode(texts, batch_size=32, show_progress_bar=False)


BENCHMARK = Benchmark(
    name="audit_time",
    compares="`audit` of MiniLM, from its folder to the report, against bare encoding of its texts and bare statistics",
    bar=1 / 1.3,
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
)
