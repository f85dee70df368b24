"""The numbers of one small run of each command are those that are kept: reports may change, results may not.

What may change them, and how they are written anew, is in `support/freeze.py`.
"""

from __future__ import annotations

import pytest
import torch

from hf_fairness._linear import cpu_vendor
from support import frozen_runs


@pytest.mark.whole
@pytest.mark.parametrize("name", frozen_runs.RUNS)
def test_a_small_run_gives_the_numbers_that_are_kept(name, tmp_path):
    if (vendor := cpu_vendor()) != frozen_runs.VENDOR:
        pytest.skip(f"near ties may fall otherwise on a processor of {vendor or 'unknown make'}")
    cpu, wanted = torch.backends.cpu.get_cpu_capability(), frozen_runs.frozen(name)
    if cpu not in frozen_runs.CPUS.get(name, (cpu,)):
        pytest.skip(f"near ties of {name} fall otherwise with {cpu} than with {frozen_runs.CPUS[name]}")
    lines = frozen_runs.differences(frozen_runs.run(name, tmp_path / name), wanted)
    more = f"\n... and {len(lines) - 40} more" if len(lines) > 40 else ""
    assert not lines, f"{len(lines)} of {len(wanted)} numbers of {name!r}:\n" + "\n".join(lines[:40]) + more


def test_a_number_that_is_missing_new_or_another_one_is_named():
    wanted = frozen_runs.frozen("ccd")
    path = "gaps/model - original/CCED human/cced"
    found = {**wanted, "counts/more": 3, path: wanted[path] * 1.002}
    gone = "measures/control/utility/similarity_structure"
    del found[gone]
    assert frozen_runs.differences(found, wanted) == [
        f"changed: {path} is {found[path]!r}, was {wanted[path]!r}",
        f"missing: {gone} (was {wanted[gone]!r})",
        "new: counts/more = 3",
    ]
    assert frozen_runs.differences({**wanted, path: wanted[path] * 1.0001}, wanted) == []
    assert len(frozen_runs.differences({**wanted, "counts/n": wanted["counts/n"] + 1}, wanted)) == 1


def test_what_is_kept_is_what_matters():
    """Arms differ, so that a mix-up of arms, sets or signs would be seen; every command has measures, gaps, counts."""
    for name in ("ccd", "gfst", "ibadr", "data_diet", "data_diet_full"):
        firsts = {path.partition("/")[0] for path in frozen_runs.frozen(name)}
        assert {"measures", "gaps", "counts"} <= firsts, name
    ibadr = frozen_runs.frozen("ibadr")
    arms = [ibadr[f"measures/{arm}/validation/accuracy"] for arm in ("base", "control", "ibadr", "poe")]
    assert len(set(arms)) == len(arms)
