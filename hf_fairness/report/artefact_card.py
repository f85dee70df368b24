"""The short card of what a command made: what it is, what got worse and better, how to load it, its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.merge import FRONT, marked, own_section, update_front
from hf_fairness.report.render import render, view

#: Stands in ``load`` for the repository, or the folder, that is loaded.
REPOSITORY = "{repository}"
#: Before what a library wrote.
_REST = "<!-- hf-fairness:written by the library -->"

LOAD_ENCODER = f"""from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{REPOSITORY}")
embeddings = model.encode(["The nurse said that she was tired.", "The nurse said that he was tired."])
"""


@dataclass(frozen=True)
class About:
    """What a card says; all texts but ``section`` and ``load`` are plain, and escaped.

    Attributes:
        title: name of the artefact where it has no repository yet.
        summary: what it is.
        section: Markdown on bias with its own heading, as :func:`bias_section` or ``card_section`` writes it.
        load: Python code that opens it; :data:`REPOSITORY` stands for where it lies.
        limits: what else one must know.
        details: Markdown with all numbers, to stand after what everybody must read.
        terms: whose licence holds.
        metadata: front matter, as `huggingface_hub.ModelCardData` takes it.
    """

    title: str
    summary: str
    section: str
    load: str
    limits: Sequence[str] = ()
    details: str = ""
    terms: str = "No licence was stated. The terms of the model it was made from, and of the data, hold for it."
    metadata: Mapping[str, Any] = field(default_factory=dict)


def bias_section(record: Record | None = None, *, of: str = "") -> str:
    """The short section on bias of a card: what got worse comes first, and is said even where nothing did.

    Args:
        record: what was found; None where nothing was measured: then the section says so.
        of: what was measured, where that is not what the card is about.

    Returns:
        Markdown from a second-level heading to a line end.
    """
    return render("unmeasured.md") if record is None else render("bias.md", **view(record), of=of)


def from_record(record: Record) -> dict[str, Any]:
    """``section``, ``limits`` and ``details`` of :class:`About`: the findings first, tables and settings at the end."""
    shown = view(record)
    details = render("details.md", **shown, texts={}, limits=())
    return {"section": render("introduction.md", **shown), "limits": record.limits, "details": details}


def artefact_card(about: About, repo_id: str = "", *, base: str = "") -> str:
    """Write the card, or put it into one that a library wrote, before what that one says.

    Args:
        about: what it says.
        repo_id: the repository, for the title and the code that loads it; "" means the folder that the card is in.
        base: a card of a library; its front matter stays, its text goes to the end.

    Returns:
        Markdown with front matter; our section on bias has the marks by which ``update_card`` finds it again.
    """
    opening = FRONT.match(base)
    front, body = (opening[0], base[opening.end() :]) if opening else ("", base)
    theirs = body.partition(_REST)[2] if own_section(base) else re.sub(r"\A# ", "## ", body.strip())
    card = render(
        "artefact.md",
        about=about,
        repo_id=repo_id,
        section=marked(about.section),
        load=about.load.replace(REPOSITORY, repo_id or "."),
        details=about.details and marked(about.details),
        theirs=theirs and f"{_REST}\n{theirs.strip()}",
        version=hf_fairness.__version__,
    )
    return update_front(f"{front}\n{card}" if front else card, about.metadata)


def load_translator(text: str) -> str:
    """Code that translates a text."""
    return f"""from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{REPOSITORY}")
model = AutoModelForSeq2SeqLM.from_pretrained("{REPOSITORY}")
batch = tokenizer([{text!r}], return_tensors="pt")
translations = tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)
"""


def load_classifier(*texts: str) -> str:
    """Code that classifies a text, or a pair of texts."""
    return f"""from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{REPOSITORY}")
model = AutoModelForSequenceClassification.from_pretrained("{REPOSITORY}")
logits = model(**tokenizer({", ".join(map(repr, texts))}, return_tensors="pt")).logits
label = model.config.id2label[logits.argmax().item()]
"""


def load_generator(prompt: str) -> str:
    """Code that writes a row from the special tokens that say what is wanted."""
    return f"""from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{REPOSITORY}")
model = AutoModelForCausalLM.from_pretrained("{REPOSITORY}")
prompt = (tokenizer.bos_token or "") + {prompt!r}
batch = tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
end = tokenizer.convert_tokens_to_ids("<|end|>")
ids = model.generate(**batch, max_new_tokens=40, do_sample=False, eos_token_id=end, pad_token_id=end)
row = tokenizer.decode(ids[0])
"""


def load_head(text: str, encoder: str = "") -> str:
    """Code that classifies a text by a head on the features of an encoder; the head knows one that is on the Hub."""
    given = f", encoder={encoder!r}" if encoder else ""
    return f"""from hf_fairness.trainers import HeadClassifier

classifier = HeadClassifier("{REPOSITORY}"{given})
probabilities = classifier.predict_proba([{text!r}])
"""
