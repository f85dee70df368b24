"""Counterfactual data augmentation (adds rows) and substitution (changes some), for ``datasets.map``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.augment.edits import dump_edits
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.rewrite import check_text, swap_targets
from hf_fairness.augment.transforms import Row, Transform


class CounterfactualAugmentation(Transform):
    """CDA: after every row whose text has terms, a copy of the row with the counterfactual text.

    Use it with ``batched=True``, since it adds rows. All columns are returned and the copy keeps their
    values; rows without terms are not copied, so that no text is trained on twice unchanged.

    Args:
        column: column that holds the texts.
        attribute: name, file or object.
        target: group to write for every term; needed where an attribute has more than two groups.
        names: whether given names are swapped too.

    Adds:
        ``counterfactual``: True for the added rows.
        ``edits``: JSON, read by :func:`parse_edits`; spans lie in the text of the row before.

    Source: Zayed et al. 2023, section 2 (CDA). The paper flips names too: ``names=True``.

    Example:
        >>> from hf_fairness.augment import CounterfactualAugmentation
        >>> batch = CounterfactualAugmentation("text")({"text": ["He ran.", "Rain."], "label": [1, 0]})
        >>> batch["text"], batch["label"], batch["counterfactual"]
        (['He ran.', 'She ran.', 'Rain.'], [1, 1, 0], [False, True, False])
    """

    def __init__(
        self,
        column: str,
        *,
        attribute: str | Path | Attribute = "gender",
        target: str | None = None,
        names: bool = False,
    ) -> None:
        super().__init__(column, attribute=attribute, names=names)
        self.target = target
        self._targets = swap_targets(self.attribute, target)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"counterfactual": "bool", "edits": "string"}

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the rows to a batch, as ``datasets.map(..., batched=True)`` hands it over."""
        texts = self.check(batch)
        if not isinstance(texts, list):
            raise TypeError("CounterfactualAugmentation adds rows: map it with batched=True.")
        columns = list(batch.keys())
        rows: Row = {name: [] for name in (*columns, *self.outputs())}
        engine = engine_for(self.attribute, self.names)
        for i, text in enumerate(texts):
            other, edits = engine.swap(text, self._targets)
            versions = [(text, False, "[]")]
            if edits:
                versions.append((other, True, dump_edits(edits)))
            for version, added, provenance in versions:
                for name in columns:
                    rows[name].append(version if name == self.column else batch[name][i])
                rows["counterfactual"].append(added)
                rows["edits"].append(provenance)
        return rows


class CounterfactualSubstitution(Transform):
    """CDS: the counterfactual of a text in place of the text, with a fixed probability per row.

    Which rows change depends on the seed and the text alone (``blake2b``), so not on batch, order or
    process.

    Args:
        column: column that holds the texts.
        attribute: name, file or object.
        seed: part of the hash.
        probability: of a substitution, in [0, 1]; the paper's .5.
        id_column: column whose value is hashed in place of the text, where equal texts should differ.
        target: group to write for every term; needed where an attribute has more than two groups.
        names: whether given names are swapped too.

    Adds:
        ``<column>_substituted``: the text to train on.
        ``substituted``: whether it is the counterfactual; False where the text has no terms.
        ``edits``: JSON, read by :func:`parse_edits`.

    Raises:
        ValueError: ``probability`` is outside [0, 1].

    Source: Hall Maudslay et al. 2019; Zayed et al. 2023, section 2 (CDS).

    Example:
        >>> from hf_fairness.augment import CounterfactualSubstitution
        >>> CounterfactualSubstitution("text", probability=1.0)({"text": "He ran."})["text_substituted"]
        'She ran.'
    """

    def __init__(
        self,
        column: str,
        *,
        attribute: str | Path | Attribute = "gender",
        seed: int = 0,
        probability: float = 0.5,
        id_column: str | None = None,
        target: str | None = None,
        names: bool = False,
    ) -> None:
        super().__init__(column, attribute=attribute, names=names)
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be in [0, 1], got {probability!r}.")
        self.seed = seed
        self.probability = probability
        self.id_column = id_column
        self.target = target
        self._targets = swap_targets(self.attribute, target)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {f"{self.column}_substituted": "string", "substituted": "bool", "edits": "string"}

    def rewrite(self, text: str, key: object = None) -> Row:
        """The added columns of one row; ``key`` is hashed in place of the text."""
        new, provenance, drawn = text, "[]", self._draw(text if key is None else str(key))
        if drawn:
            new, edits = engine_for(self.attribute, self.names).swap(text, self._targets)
            provenance, drawn = dump_edits(edits), bool(edits)
        return {f"{self.column}_substituted": new, "substituted": drawn, "edits": provenance}

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the columns to a row or a batch, as ``datasets.map`` hands it over."""
        if self.id_column is None:
            return super().__call__(batch)
        texts = self.check(batch)
        if self.id_column not in batch:
            raise ValueError(f"No column {self.id_column!r}. Columns: {', '.join(map(str, batch.keys()))}.")
        keys = batch[self.id_column]
        if isinstance(texts, str):
            return self.rewrite(texts, keys)
        rows = [self.rewrite(check_text(text), key) for text, key in zip(texts, keys, strict=True)]
        return {output: [row[output] for row in rows] for output in self.outputs()}

    def _draw(self, key: str) -> bool:
        digest = hashlib.blake2b(f"{self.seed}\x1f{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.probability * 2**64
