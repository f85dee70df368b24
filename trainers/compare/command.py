"""`hf-fairness compare`: any number of methods and published models on one bench, and which claims stand."""

from __future__ import annotations

from hf_fairness.arguments import Command
from hf_fairness.trainers.training.encoder_data import VARIANTS, open_data

DESCRIPTION = """Change one encoder with each of several methods, on the same rows, and set them and further models side
by side: bias, what a probe reads, and utility, with paired intervals over items and seeds. Writes a league table in
which each claim stands, falls, or cannot be decided at this n (Holm over the table), a picture of bias against utility,
and what each method took in seconds and memory. A killed run goes on where it stopped. A method that fails is named in
the report; the others go on, and the exit status is 1. Errors of settings, rows and files stop the run."""

EPILOG = """examples:
  every method that the model allows, three seeds:
    hf-fairness compare sentence-transformers/all-MiniLM-L6-v2 --dataset news.txt --n_seeds 3 --output_dir out
  three methods, beside a published model, with human similarity scores:
    hf-fairness compare bert-base-uncased you/bert-debiased --methods none control ccd dpce leace --dataset news.txt \\
        --sts_pairs sts-dev.tsv --output_dir out
"""

COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:CompareArguments",
    config="hf_fairness.trainers:CompareConfig",
    run="hf_fairness.trainers:run_compare",
    open_data=open_data,
    epilog=EPILOG,
    artefacts=VARIANTS,
    common=("max_steps", "per_device_eval_batch_size"),
    further="models",
)
