"""The README's second example runs as printed, with two steps instead of an epoch."""

from __future__ import annotations

import re


def test_mitigation_example(root, tmp_path, capsys):
    text = (root / "README.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "CCDTrainer" in block]
    assert len(code.strip().splitlines()) <= 15
    short = code.replace('CCDConfig(output_dir="out/ccd")', f"CCDConfig(output_dir={str(tmp_path)!r}, max_steps=2)")
    short = short.replace('"out/ccd/final"', repr(str(tmp_path / "final")))
    assert short.count(str(tmp_path)) == 2
    exec(compile(short, "README.md", "exec"), {"__name__": "readme"})
    female, male, neutral = capsys.readouterr().out.splitlines()[:3]
    assert len({female, male, neutral}) == 3
    assert (tmp_path / "final" / "model.safetensors").is_file()
