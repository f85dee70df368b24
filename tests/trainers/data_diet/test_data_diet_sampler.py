"""Kept rows in epochs of unchanged length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SequentialSampler
from transformers.trainer_pt_utils import LengthGroupedSampler

from hf_fairness.trainers.data_diet.sampler import KeptRowsSampler, install_sampler, sampler_owner
from hf_fairness.utils import FairnessWarning

MASKS = st.lists(st.booleans(), min_size=1, max_size=40).filter(any)


@given(MASKS, st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_an_epoch_is_as_long_as_the_data_and_fair_to_kept_rows(kept, seed, epoch, shuffle):
    sampler = KeptRowsSampler(kept, seed=seed, shuffle=shuffle)
    sampler.set_epoch(epoch)
    rows = list(sampler)
    assert len(rows) == len(sampler) == len(kept)
    counts = np.bincount(rows, minlength=len(kept))
    assert (counts > 0).tolist() == kept
    assert np.ptp(counts[kept]) <= 1
    assert rows == list(sampler)  # it does not move on by itself
    again = KeptRowsSampler(np.array(kept), seed=seed, shuffle=shuffle)
    again.set_epoch(epoch)
    assert rows == list(again)


def test_orders_differ_by_epoch_and_seed_and_within_an_epoch():
    kept = [row < 20 for row in range(60)]
    sampler, other = KeptRowsSampler(kept), KeptRowsSampler(kept, seed=1)
    first = list(sampler)
    assert first[:20] != first[20:40] != first[40:]
    assert first != list(other)
    sampler.set_epoch(1)
    assert first != list(sampler)
    assert list(KeptRowsSampler(kept, shuffle=False)) == 3 * list(range(20))


def test_no_rows():
    with pytest.raises(ValueError, match="None of the 3 rows"):
        KeptRowsSampler([False] * 3)


def test_install():
    loader = DataLoader(range(6), batch_size=2, shuffle=True)
    sampler = install_sampler(loader, [True, False, True, False, False, False], seed=3)
    assert install_sampler(loader, [True] * 6) is sampler  # once
    batches = [batch.tolist() for batch in loader]
    assert len(batches) == len(loader) == 3
    assert {row for batch in batches for row in batch} == {0, 2}
    plain = DataLoader(range(4), batch_size=2)
    assert not install_sampler(plain, [False, True, False, True]).shuffle
    assert [batch.tolist() for batch in plain] == [[1, 3], [1, 3]]
    with pytest.raises(ValueError, match="5 entries, but the dataloader samples 4"):
        install_sampler(DataLoader(range(4), batch_size=2), [True] * 5)


def test_install_warns_where_rows_were_grouped_by_length():
    grouped = LengthGroupedSampler(2, lengths=[1, 2, 3, 4])
    with pytest.warns(FairnessWarning, match="group_by_length"):
        install_sampler(DataLoader(range(4), batch_size=2, sampler=grouped), [True] * 4)


def test_owner():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    class Shards(BatchSampler):
        """As accelerate wraps a batch sampler on several processes."""

        def __init__(self, batch_sampler):
            self.batch_sampler = batch_sampler

    inner = BatchSampler(SequentialSampler(range(4)), 2, drop_last=False)
    assert sampler_owner(DataLoader(range(4), batch_sampler=Shards(inner))) is inner
    for loader in (DataLoader(Stream(), batch_size=2), DataLoader(range(4), batch_sampler=[[0, 1], [2, 3]])):
        with pytest.raises(TypeError, match=r"batch_sampler\.batch_sampler\.sampler"):
            sampler_owner(loader)
