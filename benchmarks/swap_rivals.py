"""`CounterfactualSwap` on the news sentences against what LangFair and nlpaug have that comes nearest, per sentence.

They do other things, and less. LangFair's `create_prompts` looks for its gender words, leaves out texts without any,
and writes each of the others twice, for men and for women, from its own list, in lower case; its tokeniser is replaced
by the one of nltk that needs no download. nlpaug's `ReservedAug` gets our pairs of words and replaces each by its
partner: no case of pronouns, no names, no record of edits. How correct the texts are stands above, under the swaps. The
floor is a look-up of every word in a dictionary.
"""

from __future__ import annotations

import contextlib
import io
import random
from functools import partial
from typing import Any

from benchmarks import swap_quality, swap_speed
from benchmarks.runner import Benchmark

RIVALS = {"LangFair": "langfair", "nlpaug": "nlpaug"}
#: Ours and the rivals get every so-manieth of the 116,000 sentences.
STEP, RIVAL_STEP = 10, 100


def setup(quick: bool, size: str) -> dict[str, Any]:
    """The sentences and our map function, and the rival's function of a batch."""
    state = swap_speed.setup(quick)
    state |= {"few": state["texts"][::RIVAL_STEP], "texts": state["texts"][::STEP]}
    if size == "LangFair":
        return {**state, "rival": partial(swap_quality.langfair_generator().create_prompts, attribute="gender")}
    return {**state, "rival": swap_quality.nlpaug_augmenter().augment}


def peer(state: dict[str, Any]) -> float:
    """Some of the sentences, in batches."""
    few = {"texts": state["few"]}
    random.seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in swap_speed.mapped(few, lambda batch: state["rival"](batch["text"])):
            pass
    return float(len(state["few"]))


BENCHMARK = Benchmark(
    name="swap_rivals",
    compares="CounterfactualSwap of batches of news sentences against the nearest function of others, per sentence",
    bar=dict.fromkeys(RIVALS, 1.0),
    setup=setup,
    subject=swap_speed.subject,
    peer=peer,
    floor=swap_speed.floor,
    repeats=5,
    rival=RIVALS,
)
