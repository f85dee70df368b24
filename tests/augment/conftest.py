"""What the tests of augmentations by models share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def one_thread():
    """These models are so small that threads only wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
