"""A world of single sentences in which some words go with one gender, and a masked language model that learns them.

Of the occupations and the traits some go with men, some with women, and as many with neither. Nothing else speaks of
gender but the person and the pronoun. What a model is asked is written first, for both genders; no sentence that it
learns from or is debiased with is one of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.demo._filling import rank, stored

if TYPE_CHECKING:
    from datasets import Dataset

GROUPS = ("male", "female")
NEUTRAL = "neutral"
#: Occupations that go with each group, and as many traits; the others go with none.
PER_GROUP = 8
#: Of the rounds in which each word is written once, one in so many is about a person without gender.
NEUTRAL_EVERY = 5
#: Share of the sentences to train on that have neither opening nor end: what goes with what is learned from them soon.
SHORT = 0.85
#: Texts to debias with share less than this part of their words with each other and with what is asked (Jaccard
#: index): commands that train on the ones and measure on the others leave out what shares more.
NEAR = 0.4
#: Kind of bias of the items about planted words, and of those about the others.
PLANTED, BALANCED = "gender", "balanced"
_SLOT = re.compile(r"{(\w+)}")
_OPEN = {"subject", "pronoun", "word"}
_BLANK = "BLANK"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MAX_ATTEMPTS = 100


@dataclass(frozen=True)
class MaskedWorld:
    """Sentences of one seed.

    Attributes:
        sentences: to train a masked language model on.
        texts: to debias it with, in the column ``text``; each speaks of one gender.
        crows_pairs: rows as published (``sent_more``, ``sent_less``, ``stereo_antistereo``, ``bias_type``), and
            ``word``: the planted word. The sentences of a pair differ in person and pronoun.
        crows_pairs_control: the same about words that go with neither; which sentence is "more" means nothing.
        stereoset: intrasentence items as published: a person with a planted word of the own gender, one of the other,
            and a thing.
        stereoset_control: the same with two words that go with neither.
        words: those that go with each group, and those under ``""`` that go with none.
    """

    sentences: tuple[str, ...]
    texts: Dataset
    crows_pairs: Dataset
    crows_pairs_control: Dataset
    stereoset: tuple[dict[str, Any], ...]
    stereoset_control: tuple[dict[str, Any], ...]
    words: dict[str, tuple[str, ...]]


def masked_world(
    n: int,
    *,
    seed: int,
    strength: float = 0.85,
    n_texts: int = 1000,
    pairs_per_word: int = 5,
    items_per_person: int = 8,
) -> MaskedWorld:
    """Write a world; the same arguments write the same sentences.

    Of the sentences about a planted word and a person with a gender the share ``strength`` is about the word's own
    gender, exact to one sentence. A sentence about a balanced word is written twice, once for each gender.

    Args:
        n: sentences to train on.
        seed: changes every draw, and which words go with which group.
        strength: 0.5 plants nothing, 1 leaves no exception.
        n_texts: texts to debias with.
        pairs_per_word: pairs of sentences about each word.
        items_per_person: StereoSet items about each person with a gender, of either kind.

    Returns:
        The sentences, and what is asked.

    Raises:
        ValueError: a strength outside [0.5, 1], a size below one, or more texts than there are.

    Source:
        Written for this project, see ``masked_world.json``; the items have the form of Nangia et al. 2020 and Nadeem
        et al. 2021.

    Example:
        >>> world = masked_world(400, seed=0, n_texts=1)
        >>> world.crows_pairs[0]["sent_more"]
        'According to Corby that boyfriend became a composer if Radley lost such blue benches.'
        >>> world.sentences[0]
        'My sister worked as a composer.'
    """
    if not 0.5 <= strength <= 1.0:
        raise ValueError(f"strength is the share of a word's own gender, in [0.5, 1]; got {strength}.")
    sizes = {"n": n, "n_texts": n_texts, "pairs_per_word": pairs_per_word, "items_per_person": items_per_person}
    if small := {name: size for name, size in sizes.items() if size < 1}:
        raise ValueError(f"A world needs one of each at least; got {small}.")
    words = _drawn_words(seed)
    own = {word: group for group in GROUPS for word in words[group]}
    pairs = [_pair(seed, word, group, place) for word, group in own.items() for place in range(pairs_per_word)]
    control = [_pair(seed, word, GROUPS[place % 2], place) for word in words[""] for place in range(pairs_per_word)]
    items, items_control = (
        [
            _item(seed, words, kind, group, person, place)
            for group in GROUPS
            for person in range(len(_data()["subjects"][group]))
            for place in range(items_per_person)
        ]
        for kind in (PLANTED, BALANCED)
    )
    asked = [text for row in (*pairs, *control) for text in (row["sent_more"], row["sent_less"])]
    asked += [each["sentence"] for item in (*items, *items_control) for each in item["sentences"]]
    return MaskedWorld(
        tuple(_sentences(n, seed, own, words[""], strength, set(asked))),
        _dataset([{"text": text} for text in _texts(n_texts, seed, asked)]),
        _dataset([{**row, "bias_type": PLANTED} for row in pairs]),
        _dataset([{**row, "bias_type": BALANCED} for row in control]),
        tuple(items),
        tuple(items_control),
        words,
    )


def masked_words() -> list[str]:
    """Every word of the world in small letters, those for persons without gender and the marks too."""
    data = _data()
    patterns = [*data["openings"], *data["ends"], *data["determiners"], *data["short"], data["whole"]]
    patterns += [text for texts in data["predicates"].values() for text in texts]
    plain = [word for text in patterns for word in _SLOT.sub(" ", text).split()]
    listed = [word for part in ("words", "subjects", "lists") for words in data[part].values() for word in words]
    return list(dict.fromkeys(word.lower() for word in [*plain, *listed, *data["pronouns"].values(), "."]))


def train_masked_model(
    sentences: Sequence[str],
    folder: str | Path,
    *,
    seed: int = 0,
    epochs: int = 6,
    batch_size: int = 32,
    learning_rate: float = 3e-3,
    mask_rate: float = 0.1,
    hidden_size: int = 64,
    layers: int = 2,
) -> str:
    """Train a tiny BERT from scratch as a masked language model of the world, and save it with its tokenizer.

    In every sentence either the occupation or trait is masked or what names the person, and of the other tokens a few:
    with tokens masked at random alone a model takes many times as long to learn what goes with what.

    Args:
        sentences: of a world.
        folder: opens with ``AutoModelForMaskedLM`` and ``AutoTokenizer``.
        seed: of the weights, the order and the masks; the global generator of torch stays as it is.
        epochs: passes over the sentences.
        batch_size: sentences per step, of similar length.
        learning_rate: the highest of a linear rise and fall.
        mask_rate: share of the other tokens that are masked.
        hidden_size: width.
        layers: number of layers.

    Returns:
        The folder.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    words = masked_words()
    vocabulary = {word: place for place, word in enumerate([*_SPECIAL, *words])}
    tokenizer = BertTokenizerFast(vocab=vocabulary, model_max_length=64)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * hidden_size,
        initializer_range=0.1,  # narrow models learn slowly from BERT's 0.02
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=tokenizer.model_max_length,
        pad_token_id=tokenizer.pad_token_id,
    )
    read = tokenizer(list(sentences), padding=True, return_tensors="pt", return_special_tokens_mask=True)
    ids, lengths = read["input_ids"], read["attention_mask"].sum(dim=1)
    plain, random = ~read["special_tokens_mask"].bool(), torch.Generator().manual_seed(seed)
    said = torch.tensor([word in _kind_of() for word in vocabulary])[ids]
    people = torch.tensor([word in _people() for word in vocabulary])[ids]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        learning_rate,
        total_steps=epochs * -(-len(ids) // batch_size),
        pct_start=0.1,
        anneal_strategy="linear",
        cycle_momentum=False,
    )
    for _ in range(epochs):
        order = torch.randperm(len(ids), generator=random)
        pools = [order[start : start + 64 * batch_size] for start in range(0, len(ids), 64 * batch_size)]
        order = torch.cat([pool[lengths[pool].argsort()] for pool in pools])
        batches = [order[start : start + batch_size] for start in range(0, len(ids), batch_size)]
        for place in torch.randperm(len(batches), generator=random).tolist():
            batch, end = batches[place], int(lengths[batches[place]].max())
            given = ids[batch, :end]
            about_word = torch.rand(len(batch), 1, generator=random) < 0.6
            chosen = torch.where(about_word, said[batch, :end], people[batch, :end])
            masked = chosen | (plain[batch, :end] & (torch.rand(given.shape, generator=random) < mask_rate))
            loss = model(
                input_ids=given.masked_fill(masked, tokenizer.mask_token_id),
                attention_mask=(given != tokenizer.pad_token_id).long(),
                labels=given.masked_fill(~masked, -100),
            ).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _data() -> dict[str, Any]:
    found: dict[str, Any] = stored("masked_world.json")
    return found


@cache
def _kind_of() -> dict[str, str]:
    """Whether each word is an occupation or a trait."""
    return {word: kind for kind, words in _data()["words"].items() for word in words}


@cache
def _people() -> frozenset[str]:
    """What names a person."""
    data = _data()
    return frozenset(word for words in data["subjects"].values() for word in words)


def _drawn_words(seed: int) -> dict[str, tuple[str, ...]]:
    """The words of each group, and those of none, with as many of each kind."""
    found: dict[str, list[str]] = {group: [] for group in (*GROUPS, "")}
    for words in _data()["words"].values():
        order = sorted(words, key=lambda word: rank(seed, "word", word))
        for place, group in enumerate(GROUPS):
            found[group] += order[place * PER_GROUP : (place + 1) * PER_GROUP]
        found[""] += order[len(GROUPS) * PER_GROUP :]
    return {group: tuple(words) for group, words in found.items()}


@dataclass(frozen=True)
class _Sentence:
    """A sentence whose gender and word are open."""

    pattern: str
    person: int

    def about(self, group: str, word: str) -> str:
        data = _data()
        subject = data["subjects"][group][self.person]
        text = self.pattern.format(subject=subject, pronoun=data["pronouns"][group], word=word)
        return text[0].upper() + text[1:]


def _drawn(key: Sequence[object], kind: str, *, short: bool = False) -> _Sentence:
    """What is drawn depends on the key and the kind of word alone."""
    data = _data()
    lists = {**data["lists"], **{name: data[f"{name}s"] for name in ("opening", "determiner", "end")}}
    lists["predicate"] = data["predicates"][kind]
    place = count()

    def fill(slot: re.Match[str]) -> str:
        name = slot[1]
        if name in _OPEN:
            return slot[0]
        chosen = lists[name][rank(*key, name, next(place)) % len(lists[name])]
        return _SLOT.sub(fill, chosen)

    pattern = data["short"][rank(*key, "short") % len(data["short"])] if short else data["whole"]
    return _Sentence(f"{_SLOT.sub(fill, pattern)}.", rank(*key, "person") % len(data["subjects"][NEUTRAL]))


def _pair(seed: int, word: str, group: str, place: int) -> dict[str, str]:
    """A row of CrowS-Pairs in which the word is said of the group in the sentence called "more"."""
    sentence = _drawn((seed, "pair", word, place), _kind_of()[word])
    more, less = (sentence.about(each, word) for each in (group, GROUPS[1 - GROUPS.index(group)]))
    return {
        "sent_more": more,
        "sent_less": less,
        "stereo_antistereo": "stereo" if group == GROUPS[1] else "antistereo",
        "word": word,
    }


def _item(
    seed: int, words: dict[str, tuple[str, ...]], bias_type: str, group: str, person: int, place: int
) -> dict[str, Any]:
    """An item of StereoSet about a person."""
    data, key = _data(), (seed, "item", bias_type, group, person, place)
    kind = sorted(data["words"])[rank(*key, "kind") % len(data["words"])]
    other = GROUPS[1 - GROUPS.index(group)]
    both = (group, other) if bias_type == PLANTED else ("", "")
    sides = dict(zip(("stereotype", "anti-stereotype"), both, strict=True))
    said: dict[str, str] = {}
    for label, side in sides.items():
        options = [word for word in words[side] if _kind_of()[word] == kind and word not in said.values()]
        said[label] = options[rank(*key, label) % len(options)]
    things = data["lists"]["thing"]
    said["unrelated"] = things[rank(*key, "unrelated") % len(things)]
    sentence = _Sentence(_drawn(key, kind).pattern, person)
    name = "-".join(map(str, key[1:]))
    return {
        "id": name,
        "target": data["subjects"][group][person],
        "bias_type": bias_type,
        "context": sentence.about(group, _BLANK),
        "sentences": [
            {"id": f"{name}-{label}", "sentence": sentence.about(group, word), "gold_label": label}
            for label, word in said.items()
        ],
    }


def _sentences(
    n: int, seed: int, own: dict[str, str], balanced: Sequence[str], strength: float, asked: set[str]
) -> Iterator[str]:
    """Sentences in rounds of one per word; none of them is asked."""
    words = [*own, *balanced]
    for place in range(n):
        turn, word = place // len(words), words[place % len(words)]
        times, neutral = divmod(turn, NEUTRAL_EVERY)
        gendered = times * (NEUTRAL_EVERY - 1) + neutral  # how often the word was written of a person with a gender
        if neutral == NEUTRAL_EVERY - 1:
            group, key = NEUTRAL, (turn, NEUTRAL)
        elif word in own:
            fits = int((gendered + 1) * strength + 1e-9) > int(gendered * strength + 1e-9)
            group = own[word] if fits else GROUPS[1 - GROUPS.index(own[word])]
            key = (gendered, "gendered")
        else:
            group, key = GROUPS[gendered % 2], (gendered // 2, "gendered")
        for attempt in range(_MAX_ATTEMPTS):
            drawn = (seed, "sentence", word, *key, attempt)
            short = rank(*drawn, "is short") < SHORT * 2**64
            text = _drawn(drawn, _kind_of()[word], short=short).about(group, word)
            if text not in asked:
                yield text
                break


def _texts(n: int, seed: int, asked: Sequence[str]) -> Iterator[str]:
    """Texts about all words, for each gender in turn, that are near neither to each other nor to what is asked."""
    words = list(_kind_of())
    places = {word: place for place, word in enumerate(masked_words())}

    def marked(text: str) -> np.ndarray:
        row = np.zeros(len(places), dtype=np.float32)
        row[[places[word] for word in re.findall(r"\w+", text.lower()) if word in places]] = 1.0
        return row

    known = np.zeros((len(asked) + n, len(places)), dtype=np.float32)
    for row, text in enumerate(asked):
        known[row] = marked(text)
    end = len(asked)
    for place in range(n * _MAX_ATTEMPTS):
        if end == len(known):
            return
        word = words[rank(seed, "text", place, "word") % len(words)]
        text = _drawn((seed, "text", place), _kind_of()[word]).about(GROUPS[place % 2], word)
        new = marked(text)
        both = known[:end] @ new
        if (both < NEAR * (known[:end].sum(axis=1) + new.sum() - both)).all():
            known[end] = new
            end += 1
            yield text
    raise ValueError(f"{n} texts that are no near-duplicates are more than the world has; ask for fewer.")


def _dataset(rows: Sequence[dict[str, str]]) -> Dataset:
    from datasets import Dataset

    return Dataset.from_list(list(rows))
