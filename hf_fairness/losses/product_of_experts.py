"""Product of experts: what a bias model knows already, the main model need not learn.

Source: Clark, Yatskar and Zettlemoyer 2019, *Don't Take the Easy Way Out*; He, Zha and Wang 2019, *Unlearn Dataset
Bias in Natural Language Inference by Fitting the Residual*; Karimi Mahabadi, Belinkov and Henderson 2020, *End-to-End
Bias Mitigation by Modelling Biases in Corpora*.
"""

from __future__ import annotations

from torch import Tensor

from hf_fairness.losses.bias_inputs import check_inputs, check_not_negative, gold, precision, reduced, safe_log_probs


def product_of_experts(
    logits: Tensor,
    labels: Tensor,
    bias_log_probs: Tensor,
    *,
    alpha: float = 1.0,
    reduction: str = "mean",
    check_values: bool = True,
) -> Tensor:
    """Cross entropy of the product of the main model's and the bias model's probabilities.

    loss = −log softmax(log p_main + alpha · log p_bias)[label]. Where the bias model is sure of the label, the product
    is right whatever the main model says, and no gradient is left for it. Only the main model is used afterwards. The
    bias model gets no gradient.

    Args:
        logits: of the main model, shape (batch, n_classes).
        labels: class of each row, shape (batch,), whole numbers.
        bias_log_probs: log-probabilities of the bias model, shape (batch, n_classes), normalised; values below −100,
            negative infinity too, count as −100.
        alpha: weight of the bias model, at least 0; 0 is plain cross entropy.
        reduction: ``"mean"`` over rows, ``"sum"``, or ``"none"`` for one loss per row.
        check_values: False skips the checks of values (not of shapes), which make an accelerator wait.

    Returns:
        Scalar, or shape (batch,); at least 0, and 0 when the product is sure of every label. float32, or float64 for
        such logits.

    Raises:
        ValueError: shapes that differ, labels out of range, NaN, rows that are not normalised, a negative ``alpha``.

    Source:
        Clark et al. 2019 (bias product), He et al. 2019 (DRiFt), Karimi Mahabadi et al. 2020. These train the bias
        model before or beside the main one; here it is trained before. The published weight is alpha = 1.

    Example:
        >>> import torch
        >>> logits, labels = torch.zeros(1, 2), torch.tensor([0])
        >>> sure = torch.tensor([[0.99, 0.01]]).log()
        >>> round(product_of_experts(logits, labels, sure).item(), 4), round(-torch.tensor(0.99).log().item(), 4)
        (0.0101, 0.0101)
    """
    check_inputs(logits, labels, check_values, bias_log_probs=bias_log_probs)
    check_not_negative("alpha", alpha)
    main = logits.to(precision(logits)).log_softmax(-1)
    product = (main + alpha * safe_log_probs(bias_log_probs, logits)).log_softmax(-1)
    return reduced(-gold(product, labels), reduction)
