"""Stacked heads learn what torch's own layers and optimiser would, and their GraNd is that of autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_fairness.trainers.data_diet.heads import Heads
from hf_fairness.trainers.data_diet.learners import side_by_side

SETTINGS = {
    "hidden": 7, "num_train_epochs": 3, "per_device_train_batch_size": 16, "learning_rate": 0.01, "n_classes": 3
}  # fmt: skip


@pytest.fixture(scope="module")
def texts():
    """Features, labels and two sets of rows of unequal size."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(90, 5)).astype(np.float32)
    labels = (features[:, 0] > 0).astype(int) + (features[:, 1] > 0.5)
    return features, labels, [np.arange(80), np.arange(10, 83)]


def network(heads: Heads, index: int) -> torch.nn.Sequential:
    """The same head in torch's layers."""
    weights = heads.select(index)
    layers = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    names = {"0.weight": "hidden.weight", "0.bias": "hidden.bias", "2.weight": "output.weight", "2.bias": "output.bias"}
    layers.load_state_dict({ours: weights[theirs].clone() for ours, theirs in names.items()})
    return layers


def test_gradients_are_those_of_autograd(texts):
    features, labels, _ = texts
    heads = Heads([3, 4], 5, **SETTINGS)
    inputs = torch.from_numpy(np.stack([features[:16], features[16:32]]))
    targets = torch.from_numpy(np.stack([labels[:16], labels[16:32]]))
    weights = torch.full((2, 16, 1), 1 / 16)
    found = heads.gradients(inputs, targets, weights)
    for index in range(2):
        layers = network(heads, index)
        torch.nn.functional.cross_entropy(layers(inputs[index]), targets[index]).backward()
        wanted = [
            layers[0].weight.grad.T,
            layers[0].bias.grad[None],
            layers[2].weight.grad.T,
            layers[2].bias.grad[None],
        ]
        for ours, theirs in zip(found, wanted, strict=True):
            assert theirs.abs().max() > 1e-3
            torch.testing.assert_close(ours[index], theirs, rtol=1e-4, atol=1e-6)


def test_grand_is_the_length_of_autograds_gradient(texts):
    features, labels, rows = texts
    heads = Heads([3, 4], 5, **SETTINGS).fit(features, labels, rows)
    found = heads.grand(features, labels)
    for index in range(2):
        layers = network(heads, index)
        for row in range(0, 90, 9):
            layers.zero_grad()
            loss = torch.nn.functional.cross_entropy(
                layers(torch.from_numpy(features[row : row + 1])), torch.tensor(labels[row : row + 1])
            )
            loss.backward()
            length = torch.sqrt(sum((p.grad**2).sum() for p in layers.parameters())).item()
            assert found[index, row] == pytest.approx(length, rel=1e-4)


def test_a_head_learns_the_same_beside_others_and_alone(texts):
    features, labels, rows = texts
    # The second set needs as many steps alone as beside the first: 73 and 80 rows are 5 batches of 16.
    both = Heads([3, 4], 5, **SETTINGS).fit(features, labels, rows)
    alone = Heads([4], 5, **SETTINGS).fit(features, labels, rows[1:])
    np.testing.assert_allclose(both.logits(features)[1], alone.logits(features)[0], atol=1e-5)
    assert not np.allclose(both.logits(features)[0], both.logits(features)[1], atol=1e-2)


def test_training_is_adam_on_the_cross_entropy(texts):
    features, labels, _ = texts
    heads = Heads([5], 5, **{**SETTINGS, "num_train_epochs": 4, "per_device_train_batch_size": 90})
    layers = network(heads, 0)
    heads.fit(features, labels, [np.arange(90)])
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=4)
    for _ in range(4):  # whole batches: their order does not matter
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layers(torch.from_numpy(features)), torch.from_numpy(labels)).backward()
        optimizer.step()
        rate.step()
    wanted = layers(torch.from_numpy(features)).detach().numpy()
    np.testing.assert_allclose(heads.logits(features)[0], wanted, atol=1e-4)


def test_every_row_is_seen_once_an_epoch(texts):
    _, _, rows = texts
    heads = Heads([3, 4], 5, **SETTINGS)
    seen = [[], []]
    for batch, weights in heads._batches([torch.from_numpy(chosen) for chosen in rows], 5):
        assert weights.sum(dim=1).flatten().tolist() == pytest.approx([1.0, 1.0])
        for head in range(2):
            seen[head] += batch[head][weights[head, :, 0] > 0].tolist()
    assert [sorted(numbers) for numbers in seen] == [chosen.tolist() for chosen in rows]


def test_too_few_rows_are_refused(texts):
    features, labels, _ = texts
    with pytest.raises(ValueError, match="needs at least 6 rows"):
        Heads([0, 1], 5, **SETTINGS).fit(features, labels, [np.arange(90), np.arange(5)])
    with pytest.raises(ValueError, match="Each of the 2 heads"):
        Heads([0, 1], 5, **SETTINGS).fit(features, labels, [np.arange(90)])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_heads_learn_the_same_in_threads_of_their_own(texts, threads):
    """Parts of unequal rows take the same steps, numbers come back in order, the threads of torch are as before."""
    features, labels, rows = texts
    rows, seeds, before = [*rows, np.arange(33)], [3, 4, 5], torch.get_num_threads()

    def work(part: slice) -> dict[str, np.ndarray]:
        heads = Heads(seeds[part], 5, **SETTINGS)
        return {"logits": heads.fit(features, labels, rows[part], longest=80).logits(features)}

    together = Heads(seeds, 5, **SETTINGS).fit(features, labels, rows).logits(features)
    torch.set_num_threads(threads)
    try:
        found = side_by_side(work, 3)["logits"]
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found, together, rtol=1e-5, atol=1e-6)
