"""What demos run on, without a download: a corpus, audit triples, plain sentences, a planted world, a real encoder."""

from __future__ import annotations

from hf_fairness.demo._filling import Frame
from hf_fairness.demo.corpus import Sentence, corpus, corpus_sentences, frames
from hf_fairness.demo.minilm import minilm_path
from hf_fairness.demo.plain import plain_frames, plain_sentences
from hf_fairness.demo.planted import PlantedWorld, planted_words, planted_world, true_label
from hf_fairness.demo.triples import triple_frames, variants

__all__ = [
    "Frame",
    "PlantedWorld",
    "Sentence",
    "corpus",
    "corpus_sentences",
    "frames",
    "minilm_path",
    "plain_frames",
    "plain_sentences",
    "planted_words",
    "planted_world",
    "triple_frames",
    "true_label",
    "variants",
]
