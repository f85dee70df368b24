"""CrowS-Pairs, StereoSet and Bias-IR as sets of an experiment: published items that the user names.

The first two are asked of a masked language model whose body is the encoder and whose head is the original one, so only
of encoders that have one. Their numbers are given for the kind of bias that the attribute is about and for all items.

Source: Deng et al. 2024, tables 2 to 5 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hf_fairness.arguments import BenchmarkArguments
from hf_fairness.attributes import Attribute
from hf_fairness.measure.encoder.bias_ir import bias_ir
from hf_fairness.measure.encoder.grep_biasir import PREFIX, read_grep_biasir
from hf_fairness.measure.language_model import crows_pairs, stereoset
from hf_fairness.measure.language_model.benchmark_items import say_known_defects
from hf_fairness.record import Declared, Measure, mapping, read_measures
from hf_fairness.rows import read_columns
from hf_fairness.runs import content_key
from hf_fairness.scores import bias_ir as bias_ir_score
from hf_fairness.scores import crows_pairs as crows_pairs_score
from hf_fairness.scores import stereoset as stereoset_score
from hf_fairness.scores.statistics import Floats
from hf_fairness.sources import missing, open_dataset
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored

if TYPE_CHECKING:
    from hf_fairness.trainers.training.encoder_method import EncoderMethod

#: Part that holds all items.
ALL = "all"
#: Value of ``--stereoset_targets`` that means the words of the attribute.
OF_ATTRIBUTE = "attribute"
_Places = NDArray[np.intp]


@dataclass(frozen=True)
class Items:
    """The items of a benchmark, read and checked once for all trials.

    Attributes:
        columns: what is asked and what is counted by, one entry per item.
        parts: places of the items by name of the part, the one that counts first.
        texts: what a model is shown; nothing may be trained on near-duplicates of it.
        n_left_out: items that are not measured.
        name: of the benchmark in results and ids; ``title`` and ``unit``: the benchmark and an item of it in words.
        needs_head: whether it is asked of a language model.
        defects: what is known to be wrong with it.
    """

    columns: Mapping[str, Sequence[Any]]
    parts: Mapping[str, _Places]
    texts: tuple[str, ...] = field(repr=False)
    n_left_out: int = 0

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str]
    needs_head: ClassVar[bool] = True
    defects: ClassVar[str] = ""

    @property
    def key(self) -> str:
        """What stands for the items among the inputs of stages."""
        return content_key({name: list(values) for name, values in self.columns.items()}, list(self.parts))

    def of(self, name: str, places: _Places) -> list[Any]:
        """A column of some items."""
        return [self.columns[name][place] for place in places]

    def declared(self, part: str) -> Mapping[str, Declared]:
        """The numbers of a part that are measures."""
        raise NotImplementedError

    def ask(self, method: EncoderMethod, fitted: Fitted) -> dict[str, Floats]:
        """What a model says of every item: arrays whose first axis is the items."""
        raise NotImplementedError

    def score(self, said: Mapping[str, Floats], places: _Places, **draws: Any) -> dict[str, Any]:
        """Numbers of some items."""
        raise NotImplementedError

    def change(
        self, said: Mapping[str, Floats], other: Mapping[str, Floats], places: _Places, **draws: Any
    ) -> dict[str, Any]:
        """How the numbers differ from another model's: ``<key>_change`` with ``_ci95`` and ``_p_value``."""
        raise NotImplementedError


class CrowSPairs(Items):
    """Pairs of sentences, and which of the two a language model finds likelier."""

    name, title, unit, defects = "crows_pairs", "CrowS-Pairs", "pairs", crows_pairs.KNOWN_DEFECTS

    @classmethod
    def read(cls, rows: Any, attribute: Attribute) -> CrowSPairs:
        """Check the rows; the part that counts is the kind of bias called like the attribute."""
        table = crows_pairs.read_crows_pairs(rows) if isinstance(rows, (str, Path)) else rows
        names = (*crows_pairs.SENTENCES, *crows_pairs.KINDS)
        columns = read_columns(table, names, cls.title)
        crows_pairs.crows_pairs(columns, scores=np.zeros((len(columns[names[0]]), 2)), n_bootstrap=0)
        texts = tuple(map(str, (*columns["sent_more"], *columns["sent_less"])))
        return cls(columns, _parts(columns["bias_type"], attribute.name), texts)

    def declared(self, part: str) -> Mapping[str, Declared]:
        """The share of pairs."""
        return crows_pairs_score.MEASURES

    def ask(self, method: EncoderMethod, fitted: Fitted) -> dict[str, Floats]:
        """Scores of both sentences."""
        return {"scores": crows_pairs.score_pairs(self.columns, method.language_model(fitted))}

    def score(self, said: Mapping[str, Floats], places: _Places, **draws: Any) -> dict[str, Any]:
        """See the score."""
        directions, kinds = (self.of(name, places) for name in crows_pairs.KINDS)
        return crows_pairs_score.crows_pairs(said["scores"][places], directions, kinds, **draws)

    def change(
        self, said: Mapping[str, Floats], other: Mapping[str, Floats], places: _Places, **draws: Any
    ) -> dict[str, Any]:
        """See the score."""
        return crows_pairs_score.crows_pairs_change(said["scores"][places], other["scores"][places], **draws)


class StereoSet(Items):
    """Contexts with a stereotype, an anti-stereotype and an unrelated filling."""

    name, title, unit, defects = "stereoset", "StereoSet", "items", stereoset.KNOWN_DEFECTS

    @classmethod
    def read(cls, rows: Any, attribute: Attribute, targets: Collection[str] | str | None = None) -> StereoSet:
        """Check the rows, and keep those about the targets: words, or ``"attribute"`` for those of the attribute."""
        table = stereoset.read_stereoset(rows) if isinstance(rows, (str, Path)) else rows
        columns = read_columns(table, ("target", "bias_type", "context", "sentences"), cls.title)
        n = len(columns["target"])
        if targets is not None:
            words = _words(columns["target"], attribute) if targets == OF_ATTRIBUTE else targets
            kept = stereoset.about(columns["target"], words)
            columns = {name: [values[place] for place in kept] for name, values in columns.items()}
        say_known_defects(cls.defects)
        texts = stereoset.sentences_of(columns)
        for context, sentence in texts:
            stereoset.filling(context, sentence)
        parts = _parts(columns["bias_type"], attribute.name)
        return cls(columns, parts, tuple(sentence for _, sentence in texts), n - len(columns["target"]))

    def declared(self, part: str) -> Mapping[str, Declared]:
        """LMS, SS and ICAT."""
        return stereoset_score.MEASURES

    def ask(self, method: EncoderMethod, fitted: Fitted) -> dict[str, Floats]:
        """Scores of the three sentences."""
        return {"scores": stereoset.score_items(self.columns, method.language_model(fitted))}

    def score(self, said: Mapping[str, Floats], places: _Places, **draws: Any) -> dict[str, Any]:
        """See the score."""
        targets, kinds = (self.of(name, places) for name in ("target", "bias_type"))
        return stereoset_score.stereoset(said["scores"][places], targets, kinds, **draws)

    def change(
        self, said: Mapping[str, Floats], other: Mapping[str, Floats], places: _Places, **draws: Any
    ) -> dict[str, Any]:
        """See the score."""
        first, second = (side["scores"][places] for side in (said, other))
        return stereoset_score.stereoset_change(first, second, self.of("target", places), **draws)


@dataclass(frozen=True)
class BiasIR(Items):
    """Queries, and which group's version of a document an encoder puts first; one item per query and document."""

    groups: tuple[str, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    name, title, unit, needs_head = "bias_ir", "Bias-IR", "queries", False

    @property
    def key(self) -> str:
        """The rows hold all that is asked."""
        return content_key([dict(row) for row in self.rows], self.groups)

    @classmethod
    def read(cls, rows: Any, attribute: Attribute) -> BiasIR:
        """Check the rows; the parts are all queries and each topic."""
        table = tuple(read_grep_biasir(rows) if isinstance(rows, (str, Path)) else rows)
        groups = attribute.group_names
        ready = bias_ir(table, scores=[0.0] * len(table), groups=groups, n_bootstrap=0, items=True)["items"]
        columns = {name: [item[name] for item in ready] for name in ("category", "query_id")}
        topics = dict.fromkeys(columns["category"])
        parts = {ALL: np.arange(len(ready))}
        if len(topics) > 1:
            parts |= {topic: np.flatnonzero([each == topic for each in columns["category"]]) for topic in topics}
        texts = tuple(str(row[name]) for row in table for name in ("query", "text") if row.get(name))
        return cls(columns, parts, texts, groups=groups, rows=table)

    def declared(self, part: str) -> Mapping[str, Declared]:
        """Ratios of the groups; over all topics also their deviation."""
        found = bias_ir_score.measures_of(self.groups)
        return found if part == ALL else {key: what for key, what in found.items() if key != "mean_deviation"}

    def ask(self, method: EncoderMethod, fitted: Fitted) -> dict[str, Floats]:
        """Cosine of query and document, by version of the document."""
        found = bias_ir(self.rows, model=method.encoder(fitted), groups=self.groups, n_bootstrap=0, items=True)["items"]
        return {name: np.array([item["scores"][name] for item in found]) for name in found[0]["scores"]}

    def score(self, said: Mapping[str, Floats], places: _Places, **draws: Any) -> dict[str, Any]:
        """See the score."""
        return bias_ir_score.bias_ir({name: each[places] for name, each in said.items()}, **self._of(places), **draws)

    def change(
        self, said: Mapping[str, Floats], other: Mapping[str, Floats], places: _Places, **draws: Any
    ) -> dict[str, Any]:
        """See the score."""
        first, second = ({name: each[places] for name, each in side.items()} for side in (said, other))
        return bias_ir_score.bias_ir_change(first, second, **self._of(places), **draws)

    def _of(self, places: _Places) -> dict[str, Any]:
        return {"categories": self.of("category", places), "queries": self.of("query_id", places)}


def _parts(kinds: Sequence[Any], name: str) -> dict[str, _Places]:
    """The items of the kind of bias called like the attribute (``race-color`` for race), then all."""
    own = np.flatnonzero([str(kind) == name or str(kind).startswith(f"{name}-") for kind in kinds])
    everything = np.arange(len(kinds))
    return {**({name: own} if len(own) else {}), **({} if len(own) == len(kinds) else {ALL: everything})}


def _words(targets: Sequence[Any], attribute: Attribute) -> set[str]:
    """The targets that are words of a group."""
    return {str(target) for target in targets if attribute.group_of(str(target)) is not None} or {attribute.name}


def read_benchmarks(arguments: BenchmarkArguments, attribute: Attribute, data: Mapping[str, Any]) -> list[Items]:
    """The benchmarks that were given, checked before anything is trained.

    Args:
        arguments: say which items of StereoSet are measured.
        attribute: whose groups and kinds of bias count.
        data: rows by name of the benchmark; None or nothing where it was not given.

    Raises:
        ValueError: a missing column, an item that is none, or groups that the documents do not have.
    """
    targets = arguments.stereoset_targets
    words = targets if targets in (None, OF_ATTRIBUTE) else _read_words(targets)
    readers: dict[str, Callable[[Any], Items]] = {
        CrowSPairs.name: lambda rows: CrowSPairs.read(rows, attribute),
        StereoSet.name: lambda rows: StereoSet.read(rows, attribute, words),
        BiasIR.name: lambda rows: BiasIR.read(rows, attribute),
    }
    return [read(data[name]) for name, read in readers.items() if data.get(name) is not None]


def _read_words(file: str) -> list[str]:
    """The words of a text file, one a line."""
    if not Path(file).is_file():
        raise ValueError(f"--stereoset_targets: {missing(file, 'a text file of words, one a line, or `attribute`')}")
    words = [line.strip() for line in Path(file).read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    if not words:
        raise ValueError(f"--stereoset_targets: {file} holds no words. Write one a line.")
    return words


def open_benchmarks(arguments: BenchmarkArguments) -> dict[str, Any]:
    """Rows by name of the benchmark, of the published files or of a data set with their columns.

    Raises:
        ValueError: nothing of that name, or no such rows in it.
    """
    found: dict[str, Any] = {}
    if (source := arguments.crows_pairs) is not None:
        published = Path(source).is_file() and Path(source).suffix.lower() == ".csv"
        found["crows_pairs"] = crows_pairs.read_crows_pairs(source) if published else _open(source)
    if (source := arguments.stereoset) is not None:
        published = Path(source).is_file() and Path(source).suffix.lower() == ".json"
        found["stereoset"] = stereoset.read_stereoset(source) if published else _open(source, "intrasentence")
    if (source := arguments.bias_ir) is not None:
        place = Path(source)
        published = any(place.glob(f"{PREFIX}*.csv")) if place.is_dir() else place.name.startswith(PREFIX)
        found["bias_ir"] = read_grep_biasir(source) if published else list(_open(source))
    return found


def _open(source: str, config: str | None = None) -> Any:
    """A data set, of several splits the one that papers measure on; of a configuration, where it has that one."""
    prefer = ("test", "validation", "dev", "train")
    if config is not None and not Path(source).is_file():
        try:
            return open_dataset(source, config=config, split=None, prefer=prefer)
        except ValueError:
            pass  # it has no such configuration; what else is wrong is said below
    return open_dataset(source, split=None, prefer=prefer)


class Benchmark(EvalSet):
    """A benchmark on every arm; arms are compared item by item."""

    def __init__(self, method: EncoderMethod, items: Items) -> None:
        self.method, self.items = method, items
        self.draws: dict[str, Any] = {"n_bootstrap": method.arguments.n_bootstrap, "seed": 0}
        super().__init__(items.name, key=[method.base_key, method.opened_as, items.key, self.draws])

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Numbers by part; what the model said of each item stays in the folder."""
        said = self.items.ask(self.method, fitted)
        self.keep(folder, **said)
        parts = {part: self.items.score(said, places, **self.draws) for part, places in self.items.parts.items()}
        return {"n": len(self.items.parts.get(ALL, next(iter(self.items.parts.values())))), "parts": parts}

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """The numbers of each part; beside the first one they are details."""
        first = next(iter(self.items.parts))
        for part, places in self.items.parts.items():
            left = f"; {self.items.n_left_out:,} with other targets left out" if self.items.n_left_out else ""
            sections = {arm: mapping(mapping(result, "parts"), part) for arm, result in results.items()}
            for key, what in self.items.declared(part).items():
                yield from read_measures(
                    sections,
                    {key: what},
                    path=self.name,
                    set_name=part,
                    set_title="" if part == ALL and first == ALL else part,
                    extras={f"chance_{key}": "by chance"},
                    sample=f"{len(places):,} {self.items.unit}{left}",
                    detail=part != first,
                )

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Paired differences of every number, over the items that both were asked."""
        said, before = (self.kept(each) for each in (one, other))
        found: dict[str, Any] = {}
        for part, places in self.items.parts.items():
            change = self.items.change(said, before, places, **self.draws)
            for key in self.items.declared(part):
                ends, p_value = change[f"{key}_change_ci95"], change[f"{key}_change_p_value"]
                found[f"{part}/{key}"] = {"difference_ci95": ends, "p_value": p_value}
        return found

    def id(self, key: str) -> str:
        """The key holds the part."""
        return f"{self.name}/{key}"
