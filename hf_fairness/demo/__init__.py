"""What ``hf-fairness demo`` runs on, without a download: a corpus, audit triples, plain sentences, a real encoder."""

from __future__ import annotations

from hf_fairness.demo._filling import Frame
from hf_fairness.demo.corpus import Sentence, corpus, corpus_sentences, frames
from hf_fairness.demo.minilm import minilm_path
from hf_fairness.demo.plain import plain_frames, plain_sentences
from hf_fairness.demo.triples import triple_frames, variants

__all__ = [
    "Frame",
    "Sentence",
    "corpus",
    "corpus_sentences",
    "frames",
    "minilm_path",
    "plain_frames",
    "plain_sentences",
    "triple_frames",
    "variants",
]
