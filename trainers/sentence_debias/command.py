"""`hf-fairness sentence-debias`: take the directions in which groups differ out of a text encoder, and audit it."""

from __future__ import annotations

from hf_fairness.arguments import Command
from hf_fairness.trainers.training.encoder_data import VARIANTS, open_data

DESCRIPTION = """Take the directions in which the versions of a text about each group differ out of the embeddings of a
text encoder (SentenceDebias, Liang et al. 2020). Nothing is trained: the directions are fitted in one pass, and a layer
that removes them is saved with the model. Measures bias and utility before and after, beside a control that removes as
many random directions. Writes OUTPUT_DIR/report (HTML, JSON, Markdown) and OUTPUT_DIR/model, which opens with
SentenceTransformer."""


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:SentenceDebiasArguments",
    config="hf_fairness.trainers:SentenceDebiasConfig",
    run="hf_fairness.trainers:run_sentence_debias",
    open_data=open_data,
    artefacts=VARIANTS,
)
