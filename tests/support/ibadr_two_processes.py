"""Run under torchrun, or alone: samples of a generator, how sure it is of them, and a whole run; written to a file."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

from support.launch import run_script

COLUMNS = ("premise", "hypothesis")


def main(folder: Path) -> None:
    from accelerate import PartialState
    from accelerate.utils import gather_object

    from hf_fairness.trainers.ibadr.generator import generator_confidence, open_generator
    from hf_fairness.trainers.ibadr.sampling import sample
    from support.ibadr_case import make_case

    case = make_case()
    state = PartialState(cpu=True)
    found = {"processes": state.num_processes}
    config = case.config(folder / "unused", sampling_batch_size=7)
    model, layout = open_generator(case.generator[0], n_labels=3, n_texts=2, config=config, tokenizer=case.generator[1])
    drawn = sample(model, layout, 40, config=config, key="round-1")
    found["reasons"] = gather_object([drawn.reasons])
    found["labels"] = gather_object([drawn.labels.tolist()])
    texts = [list(case.world.validation[name]) for name in COLUMNS]
    sure = generator_confidence(model, layout, texts, case.world.validation["label"], [1] * 40, config=config)
    found["confidence"] = gather_object([sure.tolist()])
    if os.environ.get("IBADR_WHOLE") == "1":
        warnings.filterwarnings("ignore", message="Round|Every one of the", category=UserWarning)  # of a run so small
        report = case.run(folder / "run", n_iterations=1, arms=["poe", "dct", "z_filter"])
        found["steps"] = {arm: training["steps"] for arm, training in report["arms"].items()}
        found["drawn"] = report["rounds"][0]["counts"]["drawn"]
        # The generator that the run trained, on any number of processes the same samples.
        writer = report["artefacts"]["generator"].folder
        model, layout = open_generator(None, n_labels=3, n_texts=2, config=config, trained=writer)
        found["trained"] = gather_object([sample(model, layout, 40, config=config, key="x").texts])
    if state.is_main_process:
        (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
