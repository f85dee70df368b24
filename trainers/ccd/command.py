"""`hf-fairness ccd`: mitigate a text encoder with content-conditional debiasing, audit it before and after."""

from __future__ import annotations

from hf_fairness.arguments import Command
from hf_fairness.trainers.training.encoder_data import VARIANTS, open_data

DESCRIPTION = """Make an encoder keep equal distances between the versions of a text about each group and its neutral
version (content-conditional debiasing, Deng et al. 2024). Measures bias and utility before and after, beside a control,
and writes OUTPUT_DIR/report (HTML, JSON, Markdown) and OUTPUT_DIR/model (opens with SentenceTransformer or AutoModel).
A killed run goes on where it stopped. On several processes: torchrun --nproc_per_node 2 $(which hf-fairness) ccd ..."""

EPILOG = """examples:
  your texts, with human similarity scores as the utility that must stay; the model goes to the Hub:
    hf-fairness ccd --model_name_or_path sentence-transformers/all-MiniLM-L6-v2 --dataset news.txt --output_dir out \\
        --sts_pairs sts-dev.tsv --push_to_hub --hub_model_id you/all-MiniLM-L6-v2-ccd
  four weights of the part of the loss that keeps the model as it was, side by side:
    hf-fairness ccd --model_name_or_path MODEL --dataset news.txt --sweep beta=0,0.5,1,1.5 --output_dir out
  a masked-language model, whose head is kept, measured on published benchmarks for each weight (table 7 of the paper):
    hf-fairness ccd --model_name_or_path bert-base-uncased --dataset news.txt --sweep beta=0,0.5,1,1.5 \\
        --stereoset dev.json --stereoset_targets attribute --crows_pairs crows_pairs_anonymized.csv \\
        --bias_ir GrepBiasIR --output_dir out

A tenth of the rows, of other sentences than those trained on, is for the audits alone; another tenth chooses the
checkpoint. Where a text is long, part of what CCED gains is that the groups' texts move closer to the neutral one: read
CCED / mean distance beside it. SEAT and what a probe reads need not fall with CCED.
"""


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:CCDArguments",
    config="hf_fairness.trainers:CCDConfig",
    run="hf_fairness.trainers:run_ccd",
    open_data=open_data,
    epilog=EPILOG,
    artefacts=VARIANTS,
    common=("max_steps", "per_device_eval_batch_size"),
)
