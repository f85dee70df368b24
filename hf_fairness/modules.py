"""Base classes of the evaluate modules: inputs reach ``_compute`` as they are.

``evaluate.EvaluationModule.compute`` sends its inputs through Arrow, which cannot carry a model, truncates
floats to a declared integer type and refuses keys that were not declared. The classes here skip that detour
where nothing was added batch by batch and one process computes; ``add``, ``add_batch`` and several processes
work as ever.

A metric of your own
====================
Declare what can be added in batches, check the inputs, return numbers with intervals and ``meta``. All the rest is
there then: ``evaluate.load``, batches, several processes, ``compute(..., flat=True)`` for a Trainer, the help text.

    >>> from typing import Any
    >>> import datasets
    >>> import hf_fairness.modules
    >>> from hf_fairness.scores.labels import group_index
    >>> from hf_fairness.scores.meta import describe
    >>> from hf_fairness.scores.statistics import as_values, mean_interval

    >>> @hf_fairness.modules.documented(
    ...     "Mean length of the answers that each group gets, in words. Ideal: no gap between the groups.",
    ...     "Takes predictions (the words of each answer) and groups (whom it is for); returns gap, means, n, meta.",
    ...     citation="",
    ...     features={"predictions": datasets.Value("float64"), "groups": datasets.Value("string")},
    ... )
    ... class AnswerLength(hf_fairness.modules.Metric):
    ...     def _compute(self, *, predictions: Any = None, groups: Any = None) -> dict[str, Any]:
    ...         hf_fairness.modules.need("answer_length", predictions=predictions, groups=groups)
    ...         words = as_values(predictions, "predictions")
    ...         names, places = group_index(groups, len(words))
    ...         parts = {name: words[places == place] for place, name in enumerate(names)}
    ...         means = {name: float(part.mean()) for name, part in parts.items()}
    ...         entries = {
    ...             name: {"words": means[name], "words_ci95": mean_interval(part, low=0.0), "n": len(part)}
    ...             for name, part in parts.items()
    ...         }
    ...         says = {"convention": "95 % intervals: Student's", "ideal": "gap 0", "direction": "more is worse"}
    ...         gap = max(means.values()) - min(means.values())
    ...         return {"gap": gap, "means": entries, "n": len(words), "meta": describe(n=len(words), seed=0, **says)}

    >>> metric, groups = AnswerLength(), ["women", "women", "women", "men", "men", "men"]
    >>> result = metric.compute(predictions=[10, 12, 11, 20, 22, 21], groups=groups)
    >>> result["gap"], result["means"]["men"]["words"]
    (10.0, 21.0)
    >>> sorted(metric.compute(predictions=[10, 12, 11, 20, 22, 21], groups=groups, flat=True))[:4]
    ['gap', 'means_men_n', 'means_men_words', 'means_men_words_ci95_high']
    >>> metric.compute(predictions=[10, 12], groups=["women", "women"])
    Traceback (most recent call last):
    ValueError: groups must hold at least two groups to compare; got 'women' alone.

In a file ``answer_length/answer_length.py`` it opens with ``evaluate.load("answer_length")``. A gap wants an interval
too: ``hf_fairness.scores.intervals`` has those of rates and their gaps, ``hf_fairness.scores.statistics`` all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import datasets
import evaluate

from hf_fairness.results import flatten
from hf_fairness.utils import as_flag, is_missing, whole

Module = TypeVar("Module", bound="type[_Direct]")

#: What the help of every module says of the option that the base classes add.
_FLAT = """\
    flat: True gives one flat dict of finite numbers, for `compute_metrics` of a Trainer; see `hf_fairness.flatten`
        (default False).
"""


class _Direct:
    """Calls ``_compute`` without the detour when it can."""

    num_process: int
    writer: Any
    info: Any
    _info: Any
    #: Keys of rows that a batch may lack, and what stands for them.
    _optional: Mapping[str, Any] = {}

    def _compute(self, **kwargs: Any) -> dict[str, Any]:
        raise NotImplementedError

    def compute(
        self, *, predictions: Any = None, references: Any = None, flat: bool = False, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Compute the module.

        Positional arguments are not allowed. Inputs are handed over as they are, models and arrays included,
        unless batches were added before or several processes take part.

        Args:
            predictions: predictions, where the module takes any.
            references: references, where the module takes any.
            flat: whether to return the numbers alone, in one flat dict.
            **kwargs: inputs and options of the module; see below.

        Returns:
            A dict of results; None on all but the main process.

        """
        result: dict[str, Any] | None
        if self.num_process == 1 and self.writer is None:
            inputs = {"predictions": predictions, "references": references}
            result = self._compute(**{name: value for name, value in inputs.items() if value is not None}, **kwargs)
        else:
            result = self._compute_added(predictions=predictions, references=references, **kwargs)
        return flatten(result) if flat and result is not None else result

    def _compute_added(self, **inputs: Any) -> dict[str, Any] | None:
        """Compute what was added batch by batch, or what several processes hold."""
        parent: Any = super()
        result: dict[str, Any] | None = parent.compute(**self._checked(inputs))
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add a batch of inputs; rows may lack what is optional and hold more than what is read.

        Args:
            predictions: predictions, where the module takes any.
            references: references, where the module takes any.
            **kwargs: further inputs that the module declares.

        Raises:
            ValueError: a row that lacks a key, or no rows at all where the module declares some.
        """
        parent: Any = super()
        parent.add_batch(**self._checked({"predictions": predictions, "references": references, **kwargs}))

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one row, as :meth:`add_batch` adds several.

        Args:
            prediction: prediction, where the module takes any.
            reference: reference, where the module takes any.
            **kwargs: further inputs that the module declares.

        Raises:
            ValueError: it lacks a key.
        """
        parent: Any = super()
        given = {"predictions": prediction, "references": reference, **kwargs}
        found = self._checked({name: None if value is None else [value] for name, value in given.items()})
        rows = {name: None if value is None else value[0] for name, value in found.items()}
        parent.add(prediction=rows.pop("predictions"), reference=rows.pop("references"), **rows)

    def _checked(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs, with the declared keys in every row of those that are rows."""
        features = self.info.features
        declared = features if isinstance(features, Mapping) else {}
        return {
            name: self._rows(value, declared[name], name)
            if isinstance(declared.get(name), Mapping) and value is not None
            else _nothing_as_none(value, declared.get(name))
            for name, value in inputs.items()
        }

    def _rows(self, given: Any, declared: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
        """Rows with exactly the declared keys."""
        if isinstance(given, Mapping):  # columns, as a slice of a Dataset gives them
            given = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
        found = []
        for place, row in enumerate(given):
            missing = [key for key in declared if not isinstance(row, Mapping) or key not in {**self._optional, **row}]
            if missing:
                raise ValueError(
                    f"{name}[{place}] lacks {', '.join(missing)}. Rows that are added in batches need "
                    f"{', '.join(key for key in declared if key not in self._optional)}; "
                    f"{', '.join(self._optional) or 'nothing else'} may be there too."
                )
            full = {key: row.get(key, self._optional.get(key)) for key in declared}
            full = {key: None if is_missing(value) else value for key, value in full.items()}
            for key, kind in declared.items():
                if getattr(kind, "dtype", "") == "bool":  # a text would count as true whatever it says
                    full[key] = as_flag(full[key], f"{name}[{place}][{key!r}]")
            found.append(full)
        return found


def _nothing_as_none(values: Any, declared: Any) -> Any:
    """A column of texts with None for what is missing: evaluate would write NaN as the text "nan", which is a label."""
    if values is None or getattr(declared, "dtype", "") != "string":
        return values
    return [None if is_missing(value) else value for value in whole(values)]


class Metric(_Direct, evaluate.Metric):  # type: ignore[misc]
    """A metric of predictions: write ``_compute``, which checks its inputs, below :func:`documented`."""


class Measurement(_Direct, evaluate.Measurement):  # type: ignore[misc]
    """A measurement of a model or of data: write ``_compute``, which checks its inputs, below :func:`documented`."""


def documented(
    description: str,
    inputs_description: str,
    citation: str,
    *,
    features: Mapping[str, Any] | None = None,
    optional: Mapping[str, Any] | None = None,
    reference_urls: Sequence[str] = (),
) -> Callable[[Module], Module]:
    """Give a module its texts, features and `_info`, so that a module holds nothing else than its ``_compute``.

    Args:
        description: what is measured, its ideal and its limits.
        inputs_description: "Args", "Returns" and "Examples" of ``compute``; ``flat`` is added to the "Args".
        citation: BibTeX.
        features: types of the inputs that can be added batch by batch; None for a module that takes its inputs in one
            call of ``compute`` (evaluate wants one declared feature: a text named ``predictions``).
        optional: keys of rows that may be missing from a batch, and what stands for them.
        reference_urls: addresses of the sources.

    Returns:
        A decorator for a subclass of ``Metric`` or ``Measurement``.
    """
    declared = datasets.Features(dict(features or {"predictions": datasets.Value("string")}))
    inputs_description = inputs_description.replace("\nReturns:", f"{_FLAT}\nReturns:", 1)

    def decorate(cls: Module) -> Module:
        def _info(self: Any) -> Any:
            kind = evaluate.MetricInfo if issubclass(cls, evaluate.Metric) else evaluate.MeasurementInfo
            return kind(
                description=description,
                citation=citation,
                inputs_description=inputs_description,
                features=declared,
                reference_urls=list(reference_urls),
            )

        cls._info, cls._optional = _info, dict(optional or {})
        cls.__doc__ = description + inputs_description
        return cls

    return decorate


def need(module: str, **inputs: Any) -> None:
    """Raise unless every input was given.

    Args:
        module: id of the module, for the message.
        **inputs: inputs by name; None means not given.

    Raises:
        ValueError: names what is missing.
    """
    missing = [name for name, value in inputs.items() if value is None]
    if missing:
        raise ValueError(f"{module}.compute() needs {', '.join(f'{name}=...' for name in missing)}.")


def refuse(module: str, expected: str, **inputs: Any) -> None:
    """Raise if an input was given that the module does not take.

    Args:
        module: id of the module, for the message.
        expected: what to give instead.
        **inputs: inputs by name; None means not given.

    Raises:
        ValueError: names the inputs and what is expected.
    """
    extra = [name for name, value in inputs.items() if value is not None]
    if extra:
        raise ValueError(f"{module}.compute() takes no {' and no '.join(extra)}; expected {expected}.")


def one_of(module: str, **inputs: Any) -> Any:
    """The input that was given of two or more names for the same; None if none was.

    Args:
        module: id of the module, for the message.
        **inputs: inputs by name; None means not given.

    Raises:
        ValueError: more than one was given.
    """
    given = [name for name, value in inputs.items() if value is not None]
    if len(given) > 1:
        names = " alone, or ".join(f"{name}=..." for name in inputs)
        refuse(module, f"{names} alone", **{name: inputs[name] for name in given[1:]})
    return inputs[given[0]] if given else None
