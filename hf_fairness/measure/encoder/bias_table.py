"""The bias score without a model: a table distilled from an encoder, and a look-up per text."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_fairness.encoders import WORD, StaticEncoder, check_texts, input_embeddings, token_encoder
from hf_fairness.maps import MapFunction, Row, Texts
from hf_fairness.measure.encoder.bias_score import ABSOLUTE, score_columns
from hf_fairness.measure.encoder.bias_scorer import Scored, Scorer, make_scorer
from hf_fairness.measure.encoder.bias_words import ExclusionList
from hf_fairness.runs import atomic_write_bytes, content_key
from hf_fairness.scores.bias_table import Columns, Words, fidelity, fit_columns, mixed
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, generator
from hf_fairness.utils import package_versions

#: Layout of a saved table.
FORMAT = "hf-fairness/bias-table/1"
#: Put before a word that is on the exclusion list as it was written, such as *Mark*; no word holds it.
LISTED = "="
#: Least texts to make a table of, and the share of them that it is fitted to and judged on, half and half.
LEAST, HELD_OUT = 200, 0.2
#: Most dimensions of the vectors that the table is helped by.
WIDTH = 512
#: Spellings whose row in the table is remembered, at most.
REMEMBERED = 1_000_000


@dataclass(frozen=True, eq=False)
class BiasTable:
    """What each word adds to the bias score of a text, on average: distilled from an encoder along one direction.

    A text's score is made of two means over its words: of how much a word adds to the absolute score (its load), and of
    how much it adds to the sum of both scores, itself and through the words beside it (its lean). What a model makes of
    the order of words, of negation or of a rare sense is lost, and so is most of what a word does in one context and
    not in another. ``card["fidelity"]`` says how near the scores come to the exact ones on texts that the table was not
    made from. On news sentences, with a table of MiniLM made of 8,000 others, Spearman's correlation was .72
    [.69, .75], and .60 [.49, .68] of the 5 % with the highest exact scores were among the 5 % of the table; 86,000
    texts took a second of one core (``benchmarks/README.md`` has the study). So a table sorts roughly what is too much
    for the model, and the exact score should decide about the rows near a threshold. For texts of another kind (length,
    topic, language) distill another table.

    Attributes:
        words: in small letters, those on the exclusion list after ``=``.
        columns: load and lean of each word; the last two rows are for a word that is not in the table, and for one
            that is not and is on the exclusion list.
        exclusion: words that name a group.
        card: what the table was made of, and how well it does: plain values.
    """

    words: tuple[str, ...]
    columns: Columns
    exclusion: ExclusionList
    card: Mapping[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # without what is remembered

    @property
    def groups(self) -> tuple[str, str]:
        """The two groups, the negative one first."""
        first, second = self.card["groups"]
        return first, second

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _seen(self) -> dict[str, int]:
        """Row of each spelling that was met."""
        return {}

    def numbers(self, texts: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row of each word of texts, one text after the other, and the number of words of each text."""
        words = [WORD.findall(text) for text in texts]
        flat = [*itertools.chain.from_iterable(words)]
        if len(self._seen) > REMEMBERED:
            self._seen.clear()
        for word in {*flat}:
            if word not in self._seen:
                missing = len(self.words) + self.exclusion.holds(word)
                self._seen[word] = self._places.get(_key(word, self.exclusion), missing)
        numbers = np.fromiter(map(self._seen.__getitem__, flat), dtype=np.intp, count=len(flat))
        return numbers, np.fromiter(map(len, words), dtype=np.intp, count=len(words))

    def score(self, texts: Iterable[str]) -> dict[str, Floats]:
        """Scores of texts.

        Args:
            texts: any number of texts; one without words scores 0.

        Returns:
            Per group and for ``absolute`` one number per text, as ``bias_score`` gives them; ``unknown``: the share of
            the text's words that the table lacks.
        """
        numbers, sizes = self.numbers([*texts])
        positive, negative = self.columns.scores(numbers, sizes)
        text = np.repeat(np.arange(len(sizes)), sizes)
        unknown = np.bincount(text, numbers >= len(self.words), len(sizes)) / np.maximum(sizes, 1)
        first, second = self.groups
        return {first: negative, second: positive, ABSOLUTE: positive - negative, "unknown": unknown}

    def save(self, path: str | Path) -> Path:
        """Write the table with its card into one file, an npz archive.

        Args:
            path: the file.

        Returns:
            The path written.
        """
        said = {
            "format": FORMAT,
            "card": self.card,
            "words": self.words,
            "excluded": sorted(self.exclusion.words),
            "capitalised": sorted(self.exclusion.capitalised),
            "growth": self.columns.growth,
            "mix": self.columns.mix,
        }
        text = np.frombuffer(json.dumps(said, sort_keys=True).encode(), dtype=np.uint8)
        stream = io.BytesIO()
        np.savez_compressed(stream, said=text, load=self.columns.load, lean=self.columns.lean)
        return atomic_write_bytes(path, stream.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> BiasTable:
        """Read a table that :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no table.
        """
        data = Path(path).read_bytes()
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                said, load, lean = (archive[name] for name in ("said", "load", "lean"))
            about = json.loads(said.tobytes())
            words = tuple(about["words"])
            if about["format"] != FORMAT or not load.shape == lean.shape == (len(words) + 2,):
                raise ValueError(f"no {FORMAT!r} file")
            load_mix, lean_mix = map(float, about["mix"])
            columns = Columns(load, lean, float(about["growth"]), (load_mix, lean_mix))
            exclusion = ExclusionList(frozenset(about["excluded"]), frozenset(about["capitalised"]))
            return cls(words, columns, exclusion, about["card"])
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is no saved table ({error}). Expected what BiasTable.save wrote.") from error

    @classmethod
    def from_encoder(
        cls, model: Any, texts: Iterable[str], *, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0, **options: Any
    ) -> BiasTable:
        """Distill a table: score texts exactly, and keep what their words add on average.

        Eight tenths of the texts give the table, a tenth the mix of its columns, and a tenth its fidelity. Words of the
        model's vocabulary that stand in no text get what their input embeddings tell.

        Args:
            model: whatever ``as_encoder`` takes and ``bias_score`` can score with; or a scorer of ``make_scorer``.
            texts: of the kind that is to be scored, some thousands; equal ones count once.
            n_bootstrap: resamples behind the intervals of the fidelity.
            seed: of the division, and of the resamples.
            **options: as in ``bias_score``: direction, pairs, attribute, importance, form, names, batch_size, ...

        Returns:
            The table.

        Raises:
            TypeError: a model that is no encoder, a text that is none.
            ValueError: fewer than 200 different texts with a score, or as ``make_scorer``.
        """
        scorer = model if isinstance(model, Scorer) else make_scorer(model, **options)
        distinct = list(dict.fromkeys(text for text in check_texts(list(texts)) if WORD.search(text)))
        exact: list[Any] = [None] * len(distinct)
        for place, scored in scorer.score(distinct):
            exact[place] = _Exact.of(distinct[place], scored)
        n_scored = sum(each.up > each.down for each in exact)
        if n_scored < LEAST:
            raise ValueError(
                f"A table is distilled from {LEAST} different texts with a score or more, better some thousands; "
                f"{n_scored} of {len(distinct)} have one."
            )
        n_held = int(len(distinct) * HELD_OUT)
        order = generator(seed, "table").permutation(len(distinct)).tolist()
        test, tune, learn = order[: n_held // 2], order[n_held // 2 : n_held], order[n_held:]
        met = dict.fromkeys(_key(word, scorer.exclusion) for place in learn for word in exact[place].words)
        words = tuple(met | dict.fromkeys(_vocabulary(scorer)))
        empty = Columns(np.zeros(len(words) + 2), np.zeros(len(words) + 2), 0.0)
        table = cls(words, empty, scorer.exclusion, {"groups": list(scorer.direction.groups)})

        def gathered(places: Sequence[int]) -> Words:
            number, sizes = table.numbers([distinct[place] for place in places])
            up, down = (np.array([getattr(exact[place], side) for place in places]) for side in ("up", "down"))
            weighted = np.concatenate([exact[place].weighted for place in places])
            return Words(number, weighted, sizes, up + down, up - down)

        excluded = np.array([word.startswith(LISTED) for word in words])
        columns = mixed(fit_columns(gathered(learn), _vectors(scorer, words), excluded), gathered(tune))
        held = gathered(test)
        positive, negative = columns.scores(held.number, held.sizes)
        found = fidelity(held.absolute, positive - negative, n_bootstrap=n_bootstrap, seed=seed)
        card = {
            **table.card,
            **scorer.described(),
            "direction": content_key(scorer.direction.vector),
            "n_texts": len(distinct),
            "texts": content_key(distinct),
            "n_words": len(words),
            "n_words_met": len(met),
            "unknown_words": float((held.number >= len(words)).mean()),
            "fidelity": found,
            "seed": seed,
            "versions": package_versions(("hf-fairness", "torch", "transformers", "numpy")),
        }
        return cls(words, columns, scorer.exclusion, card)


class _Exact(NamedTuple):
    """The exact score of a text, with bias x importance of each word as it stands in the text, NaN where unknown."""

    words: list[str]
    down: float
    up: float
    weighted: Floats

    @classmethod
    def of(cls, text: str, scored: Scored) -> _Exact:
        """Word by word where the neutral form has as many words; else only words that stand in both, in order."""
        words, values = WORD.findall(text), np.where(scored.known, scored.bias.weighted, np.nan)
        if len(words) != len(scored.words):
            left: dict[str, list[float]] = {}
            for word, value in zip(reversed(scored.words), reversed(values.tolist()), strict=True):
                left.setdefault(word.lower(), []).append(value)
            values = np.array([left[word.lower()].pop() if left.get(word.lower()) else np.nan for word in words])
        return cls(words, scored.bias.negative, scored.bias.positive, values)


def _key(word: str, exclusion: ExclusionList) -> str:
    """What a spelling is called in a table."""
    return LISTED * exclusion.holds(word) + word.lower().replace("’", "'")


def _vocabulary(scorer: Scorer) -> Iterator[str]:
    """Whole words of a tokenizer's vocabulary that name no group."""
    if isinstance(scorer.encoder, StaticEncoder):
        return
    tokenizer = token_encoder(scorer.encoder).tokenizer
    for token in sorted(tokenizer.get_vocab()):
        word = tokenizer.convert_tokens_to_string([token]).strip().lower()
        if WORD.fullmatch(word) and not scorer.exclusion.holds(word):
            yield word


def _vectors(scorer: Scorer, words: Sequence[str]) -> Floats:
    """Vectors out of context of the words that name no group, at most ``WIDTH`` wide; zeros for the others."""
    encoder = scorer.encoder if isinstance(scorer.encoder, StaticEncoder) else scorer.vectors
    try:
        static = encoder or StaticEncoder(input_embeddings(scorer.encoder))
    except ValueError:  # no such matrix
        return np.zeros((len(words), 0))
    found = {word: static.lookup(word) for word in words if not word.startswith(LISTED)}
    known = {word: np.asarray(vector, dtype=np.float64) for word, vector in found.items() if vector is not None}
    width = len(next(iter(known.values()), ()))
    narrow = np.eye(width)
    if width > WIDTH:  # directions at random keep distances, and there are not so many texts
        narrow = generator(0, "narrow").normal(size=(width, WIDTH)) / WIDTH**0.5
    result = np.zeros((len(words), narrow.shape[1]))
    for place, word in enumerate(words):
        if word in known:
            result[place] = known[word] @ narrow if width > WIDTH else known[word]
    return result


class DistilledBiasScore(MapFunction):
    """Add the columns of ``BiasScore`` by a table that was distilled from an encoder: no model, a look-up per text.

    How near the scores come to the exact ones is said by :class:`BiasTable` and by ``table.card["fidelity"]``.

    Args:
        columns: name or names of the text columns.
        table: from ``BiasTable.from_encoder``, or the file it was saved to.
        on_missing: what to do about a row that lacks a text: ``"skip"`` scores it 0, ``"error"`` refuses it.

    Adds:
        ``<column>_bias_<group>`` for both groups and ``<column>_bias_absolute``, as ``BiasScore``. A text that is
        longer than the encoder's most tokens is read to its end.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: a table that is none.
        ValueError: a file that is no table; a column that is missing or would be overwritten (at the call).

    Source:
        Dolci et al. 2023, equations 1 to 3, here with means over contexts in the place of a model's forward.
    """

    def __init__(
        self, columns: str | Sequence[str], table: BiasTable | str | Path, *, on_missing: str = "skip"
    ) -> None:
        super().__init__(columns, on_missing=on_missing)
        self.table = BiasTable.load(table) if isinstance(table, (str, Path)) else table
        if not isinstance(self.table, BiasTable):
            raise TypeError(f"table must be a BiasTable or the file of one; got {type(table).__name__}.")

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {key: "float64" for column in self.columns for key in score_columns(column, self.table.groups)}

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The added columns of several rows."""
        added: dict[str, list[Any]] = {}
        for place, column in enumerate(self.columns):
            found = self.table.score(row[place] for row in rows)
            names = score_columns(column, self.table.groups)
            added |= {
                name: found[key].tolist() for name, key in zip(names, (*self.table.groups, ABSOLUTE), strict=True)
            }
        return added

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The same by row."""
        columns = self.process_columns(rows, keys)
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
