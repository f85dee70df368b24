"""Base classes of the evaluate modules: inputs reach ``_compute`` as they are.

``evaluate.EvaluationModule.compute`` sends its inputs through Arrow, which cannot carry a model, truncates
floats to a declared integer type and refuses keys that were not declared. The classes here skip that detour
where nothing was added batch by batch and one process computes; ``add``, ``add_batch`` and several processes
work as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import datasets
import evaluate

Module = TypeVar("Module", bound="type[_Direct]")


class _Direct:
    """Calls ``_compute`` without the detour when it can."""

    num_process: int
    writer: Any
    _info: Any

    def _compute(self, **kwargs: Any) -> dict[str, Any]:
        raise NotImplementedError

    def compute(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> dict[str, Any] | None:
        """Compute the module.

        Positional arguments are not allowed. Inputs are handed over as they are, models and arrays included,
        unless batches were added before or several processes take part.

        Args:
            predictions: predictions, where the module takes any.
            references: references, where the module takes any.
            **kwargs: inputs and options of the module; see below.

        Returns:
            A dict of results; None on all but the main process.

        """
        if self.num_process == 1 and self.writer is None:
            inputs = {"predictions": predictions, "references": references}
            return self._compute(**{name: value for name, value in inputs.items() if value is not None}, **kwargs)
        parent: Any = super()
        result: dict[str, Any] | None = parent.compute(predictions=predictions, references=references, **kwargs)
        return result


class Metric(_Direct, evaluate.Metric):  # type: ignore[misc]
    """A metric of predictions: declare ``_info``, write ``_compute``, which checks its inputs."""


class Measurement(_Direct, evaluate.Measurement):  # type: ignore[misc]
    """A measurement of a model or of data: declare ``_info``, write ``_compute``, which checks its inputs."""


def documented(
    description: str,
    inputs_description: str,
    citation: str,
    *,
    features: Mapping[str, Any] | None = None,
    reference_urls: Sequence[str] = (),
) -> Callable[[Module], Module]:
    """Give a module its texts, features and `_info`, so that a module holds nothing else than its ``_compute``.

    Args:
        description: what is measured, its ideal and its limits.
        inputs_description: "Args", "Returns" and "Examples" of ``compute``.
        citation: BibTeX.
        features: types of the inputs that can be added batch by batch; None for a module that takes its inputs in one
            call of ``compute`` (evaluate wants one declared feature: a text named ``predictions``).
        reference_urls: addresses of the sources.

    Returns:
        A decorator for a subclass of ``Metric`` or ``Measurement``.
    """
    declared = datasets.Features(dict(features or {"predictions": datasets.Value("string")}))

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

        cls._info = _info
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
