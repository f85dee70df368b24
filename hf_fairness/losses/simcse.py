"""Unsupervised SimCSE: two dropout views of a text are drawn together, those of other texts are pushed away.

Source: Gao et al. 2021, *SimCSE: Simple Contrastive Learning of Sentence Embeddings*.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def simcse_loss(first: Tensor, second: Tensor, rows: Tensor, *, temperature: float = 0.05) -> Tensor:
    """Mean over texts of how far the second view of a text is from being the one nearest to the first.

    With s_ij = cos(first_i, second_j) / temperature and N_i all j whose row is another than that of i:

        loss = mean over i of −log(exp s_ii / (exp s_ii + Σ_{j in N_i} exp s_ij)).

    In the paper N_i is every other text of the batch. Here other versions of the same text are in the batch too, and
    belong to the same row: as negatives they would teach the model to tell the groups apart, so they are left out.

    Args:
        first: embeddings of texts, shape (batch, dim).
        second: other views of the same texts, shape (batch, dim).
        rows: number of the row that each text is a version of, shape (batch,).
        temperature: divides the cosines, above 0 (Gao et al.: 0.05).

    Returns:
        The loss, a scalar of 0 or more; 0, without gradient, where no text has a negative.
    """
    similarities = F.normalize(first.float(), dim=-1) @ F.normalize(second.float(), dim=-1).T / temperature
    left_out = (rows.unsqueeze(1) == rows.unsqueeze(0)).fill_diagonal_(fill_value=False)
    own = torch.arange(len(first), device=first.device)
    return F.cross_entropy(similarities.masked_fill(left_out, -torch.inf), own)
