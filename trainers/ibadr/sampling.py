"""Samples from the generator, each with a seed of its own.

What sample number 17 of a round becomes depends on the weights, the settings, the seed and 17: not on how many are
drawn together, nor on how many processes share the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hf_fairness._processes import rows_shared, shared_work
from hf_fairness.maps import row_seed
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.format import SampleFormat
from hf_fairness.utils import in_eval


@dataclass(frozen=True)
class Samples:
    """What was drawn, in the order of the numbers.

    Attributes:
        texts: texts of each sample, empty ones where it could not be read.
        labels: label that was asked for, shape (n,).
        indicators: indicator that was asked for, from 1; 0 where samples carry none.
        reasons: ``""``, or why a sample could not be read, see `SampleFormat.read`.
    """

    texts: list[tuple[str, ...]]
    labels: NDArray[np.int64]
    indicators: NDArray[np.int64]
    reasons: list[str]


def sample(
    model: Any,
    layout: SampleFormat,
    n: int,
    *,
    config: IBADRConfig,
    key: str = "",
) -> Samples:
    """Draw samples of low bias degree.

    For each sample an indicator from 1 to ``config.low_indicators``, all alike, and a label are drawn, then the texts
    token by token, in the precision of the weights whatever the trainings computed in: in a coarser one a sample would
    depend on its batch. In a launch of several processes all must call it; they share the work and return the same.

    Args:
        model: live generator, on the device it is to run on.
        layout: of its samples.
        n: number of samples.
        config: how to draw.
        key: name of the round: another key, other samples.

    Returns:
        The samples.

    Source:
        Wang et al. 2023, step 3 of section 2.2 and strategy (i) of section 2.3.
    """
    shares = np.cumsum(config.label_shares(layout.n_labels))
    seeds = [row_seed(config.seed, f"{key}:{number}") for number in range(n)]
    draws = np.array([np.random.default_rng([seed, 0]).random(2) for seed in seeds]).reshape(n, 2)
    labels = np.searchsorted(shares, draws[:, 0] * shares[-1], side="right").astype(np.int64)
    indicators = (
        (draws[:, 1] * config.low_indicators).astype(np.int64) + 1 if layout.n_indicators else np.zeros_like(labels)
    )

    def draw(places: Sequence[int]) -> list[tuple[tuple[str, ...], str]]:
        prefixes = [layout.prefix(int(indicators[place]), int(labels[place])) for place in places]
        return layout.read(_draw(model, layout, prefixes, [seeds[place] for place in places], config))

    places, size = list(range(n)), config.sampling_batch_size
    with rows_shared(cpu=config.use_cpu):
        read = shared_work([places[start : start + size] for start in range(0, n, size)], draw, "Sampling")
    return Samples([texts for texts, _ in read], labels, indicators, [reason for _, reason in read])


def sample_length(model: Any, layout: SampleFormat, max_new_tokens: int) -> int:
    """Longest sample that the generator's positions leave room for.

    Raises:
        ValueError: there is no room.
    """
    from hf_fairness._encoder_adapters import model_max_length

    limit = model_max_length(model, layout.tokenizer)
    length = max_new_tokens if limit is None else min(max_new_tokens, limit - layout.start)
    if length < 2:
        raise ValueError(f"The generator takes {limit} tokens, which leaves no room for a sample.")
    return length


def _draw(
    model: Any, layout: SampleFormat, prefixes: Sequence[list[int]], seeds: Sequence[int], config: IBADRConfig
) -> Any:
    """Continue prefixes of one length until each has ended, or is as long as a sample may be; lists of ids."""
    device = model.device
    place = "cpu" if device.type == "mps" else device  # which has no float64
    length = sample_length(model, layout, config.max_new_tokens)
    noise = np.stack([np.random.default_rng([seed, 1]).random(length) for seed in seeds])
    uniform = torch.from_numpy(noise).to(place)
    forbidden = torch.tensor(layout.forbidden, device=place)
    rows = torch.arange(len(prefixes), device=place)  # sample that each row of the batch belongs to
    tokens, cache = torch.tensor(prefixes, device=device), None
    drawn = torch.full((len(prefixes), length), layout.end, device=place)
    ended = torch.zeros(len(prefixes), dtype=torch.bool, device=place)
    with in_eval(model), torch.inference_mode():
        for step in range(length):
            output = model(input_ids=tokens, past_key_values=cache, use_cache=True)
            cache, logits = output.past_key_values, output.logits[:, -1].to(place).double()
            logits[:, forbidden] = -torch.inf
            logits[:, len(layout.tokenizer) :] = -torch.inf
            chosen = _choose(logits, uniform[rows, step], config.temperature, config.top_p)
            drawn[rows, step] = torch.where(ended, layout.end, chosen)
            ended |= chosen == layout.end
            left = int((~ended).sum())
            if not left:
                break
            tokens = chosen[:, None].to(device)
            if 2 * left <= len(rows):  # go on with those that have not ended
                going = torch.nonzero(~ended)[:, 0]
                cache.batch_select_indices(going.to(device))
                rows, tokens, ended = rows[going], tokens[going.to(device)], ended[going]
    return drawn.tolist()


def _choose(logits: Any, uniform: Any, temperature: float, top_p: float) -> Any:
    """One token per row: the first whose cumulated probability, in the order of ids, exceeds the row's number."""
    probabilities = torch.softmax(logits / temperature, dim=-1)
    if top_p < 1.0:
        ordered = probabilities.sort(dim=-1, descending=True).values
        inside = ordered.cumsum(dim=-1) - ordered < top_p
        least = ordered.masked_fill(~inside, torch.inf).amin(dim=-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    cumulated = probabilities.cumsum(dim=-1)
    wanted = uniform[:, None] * cumulated[:, -1:]
    return torch.searchsorted(cumulated, wanted, right=True)[:, 0].clamp_(max=logits.shape[-1] - 1)
