"""`hf-fairness refine`: train a text encoder on its corpus without the most stereotyped rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import Command
from hf_fairness.sources import open_dataset, open_held_out, open_rows

if TYPE_CHECKING:
    from hf_fairness.trainers import RefineArguments, RefineConfig

DESCRIPTION = """Find the rows of a training corpus that are most stereotyped by their bias score, leave them out,
compensate or replace them, and train an encoder on each corpus (Dolci et al. 2023). Trains as well on the corpus as it
is, and on corpora in which as many rows, drawn at random, are refined. Measures association tests (SEAT), the bias
score of held-out texts and utility, and writes OUTPUT_DIR/report (HTML, JSON, Markdown, figures) and OUTPUT_DIR/model
(opens with SentenceTransformer). A killed run goes on at the first encoder that is not trained."""

EPILOG = """examples:
  natural language inference, at the paper's percentiles, with the similarity of SICK or STS-B as a further utility:
    hf-fairness refine sentence-transformers/all-MiniLM-L6-v2 --dataset stanfordnlp/snli --test_split test \\
        --sts_pairs sick-r.tsv --output_dir out
  sentence pairs with scores, one percentile, three seeds; the encoder trained on the compensated corpus is kept:
    hf-fairness refine MODEL --dataset nyu-mll/glue --dataset_config stsb --test_split validation \\
        --percentiles 95 --refinements sub aug --main_arm aug-95 --n_seeds 3 --output_dir out
  an encoder without any training scores nothing: take the one that is trained here on all rows
    hf-fairness refine my-random-encoder --dataset pairs.csv --score_model original --output_dir out
  the paper's encoder (BiLSTM-max on GloVe), beside word2vec and both hard-debiased (tables 6 to 11); with some thousand
  pairs and no GPU add --bilstm_settings small --hidden_size 128, and MODEL in place of GloVe reads its embeddings
    hf-fairness refine glove.840B.300d.txt --bilstm --dataset stanfordnlp/snli --test_split test \
        --other_vectors word2vec.txt --hard_debias --output_dir out

Every percentile has up to six encoders: name fewer --percentiles and --refinements for a first look.
"""


def open_data(arguments: RefineArguments, config: RefineConfig) -> dict[str, Any]:
    """The sets that the arguments name."""
    return {
        "sts_pairs": None if arguments.sts_pairs is None else open_dataset(arguments.sts_pairs),
        "test": open_held_out(arguments, arguments, "test"),
        "rows": open_rows(arguments),
    }


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:RefineArguments",
    config="hf_fairness.trainers:RefineConfig",
    run="hf_fairness.trainers:run_refine",
    open_data=open_data,
    epilog=EPILOG,
    artefacts={"corpus": "the texts and labels of your data, refined"},
    common=("max_steps",),
)
