"""Bias score: stereotype in the words of texts, as an `evaluate` measurement."""

from typing import Any

import hf_fairness.modules
from hf_fairness.measure.encoder.bias_score import bias_score

_DESCRIPTION = """\
The bias score asks how much stereotype a model reads into the words of a text: the cosine of each word that names
no group with the direction from one group to the other, times the importance of the word in the text. Terms
towards the two groups are summed apart. The ideal is 0. It speaks of a model and a text together: the same text
scores differently in another model.
"""

_KWARGS_DESCRIPTION = """
Args:
    texts: list of texts.
    model: Hub id, local folder, SentenceTransformer, transformers model (with `tokenizer=...`), word vectors
        (mapping of words to vectors, or a GloVe text file).
    words: whether to return the table of words of every text (default False).
    direction: what `bias_direction` of `hf_fairness.measure.encoder.bias_direction` returned, or the file it was saved
        to; None makes one of `pairs`.
    pairs: pairs of texts, one of each group, to make the direction of; None means ten word pairs (word vectors) or the
        package's own sentences.
    attribute: attribute with two groups (default "gender").
    importance: "max" (published: share of dimensions won in max-pooling) or "mean" (length of the contribution to
        the mean); None means the one that the model pools by.
    form: "raw" (published) scores the text as it stands; "neutral" rewrites it without gendered words first; None
        means "neutral" for an encoder that reads context, "raw" for word vectors.
    names: given names on the exclusion list: True (default), False, or a file or list of more.
    word_vectors: word vectors whose bias counts while `model` gives the importance.
    n_bootstrap: 0: no intervals (default 2,000).
    seed: of what is drawn (default 0).
    **encoder options: batch_size, device, pooling, max_length, tokenizer, show_progress.

Returns:
    one list per group, and absolute: a number per text; the first group's is <= 0, the second's >= 0; ideal 0.
    <key>_mean, <key>_mean_ci95: over the texts.
    n: texts; n_words, n_excluded, n_unknown: words, those on the exclusion list, those without a vector.
    words: if asked for, per text its words with importance, bias and weighted bias.
    meta: convention, ideal, direction, what was scored and how, seed, versions.

Examples:

    >>> import evaluate, hf_fairness
    >>> module = evaluate.load(hf_fairness.metric_path("bias_score"))
    >>> vectors = {"he": [-1.0, 0.0], "she": [1.0, 0.0], "a": [0.0, 1.0], "nurse": [3.0, 4.0], "boxer": [-3.0, 4.0]}
    >>> result = module.compute(texts=["She is a nurse.", "a boxer"], model=vectors, words=True)
    >>> [round(value, 3) for value in result["female"]], [round(value, 3) for value in result["male"]]
    ([0.469, 0.0], [0.0, -0.514])
    >>> [(row["word"], round(row["bias"], 2)) for row in result["words"][0]["rows"]]
    [('She', 0.0), ('is', 0.0), ('a', 0.0), ('nurse', 0.6)]
"""

_CITATION = """\
@article{dolci2023improving,
  title = {Improving Gender-Related Fairness in Sentence Encoders: A Semantics-Based Approach},
  author = {Dolci, Tommaso and Azzalini, Fabio and Tanelli, Mara},
  journal = {Data Science and Engineering},
  year = {2023}
}
"""


@hf_fairness.modules.documented(_DESCRIPTION, _KWARGS_DESCRIPTION, _CITATION)
class BiasScore(hf_fairness.modules.Measurement):
    """Bias score of texts under a model."""

    def _compute(
        self,
        *,
        texts: Any = None,
        model: Any = None,
        predictions: Any = None,
        references: Any = None,
        **options: Any,
    ) -> dict[str, Any]:
        expected = "texts=[...] and model=..."
        hf_fairness.modules.refuse("bias_score", expected, predictions=predictions, references=references)
        hf_fairness.modules.need("bias_score", texts=texts, model=model)
        return bias_score(texts, model, **options)
