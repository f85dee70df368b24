"""`hf-fairness ibadr`: refine the data of a classifier against biases that nobody had to name; `--demo` needs no
data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import Command
from hf_fairness.sources import missing, open_dataset, open_held_out, open_rows

if TYPE_CHECKING:
    from hf_fairness.trainers import IBADRArguments, IBADRConfig

DESCRIPTION = """Refine the data of a text classifier against biases that nobody had to name (Wang et al. 2023, IBADR).
A shallow model says how biased each row is; a language model learns to write rows of a wanted label and bias degree;
in rounds, rows of low degree are written, filtered and added. Trains the classifier on the original rows, on as many
steps of them as IBADR takes (the control), and on the refined ones, and measures all three on validation, test and
challenge sets. Writes OUTPUT_DIR/report (HTML, JSON, Markdown, figures), OUTPUT_DIR/pool (the data set with its card)
and OUTPUT_DIR/model (the classifier). A killed run goes on at its first unfinished stage. On several processes:
torchrun --nproc_per_node 2 $(which hf-fairness) ibadr ..."""

EPILOG = """examples:
  a small planted world, no download, a few minutes on two cores:
    hf-fairness ibadr --demo --output_dir out
  natural language inference, as in the paper:
    hf-fairness ibadr bert-base-uncased --dataset nyu-mll/glue --dataset_config mnli --text_column premise hypothesis \\
        --validation_split validation_matched --generator_model gpt2-large \\
        --challenge hans=heuristics_evaluation_set.txt --output_dir out
  fact verification on data that build-dataset wrote (columns premise, hypothesis, label), a Llama with LoRA, and the
  model-centric method beside it:
    hf-fairness ibadr bert-base-uncased --dataset fever/ --dataset_config pairs --validation_split dev \\
        --n_shallow 500 --generator_model meta-llama/Llama-3.2-1B --generator_use_peft --bf16 --poe \\
        --challenge fever_symmetric:v1=symmetric_v0.1.jsonl fever_symmetric:v2=symmetric_v0.2.jsonl
  files of one's own, the claim in the first column:
    hf-fairness ibadr MODEL --dataset train.csv --validation_dataset dev.csv --test_dataset test.csv \\
        --text_column claim evidence --label_column verdict --hypothesis_first
  tables 3 to 6: rivals, product of experts, ablations and generic augmentations beside it, in one run:
    --arms reweight confreg dct z_filter poe ibadr_poe z_filter_poe without_update lowest_indicator \\
        without_update_lowest without_indicators without_rounds --n_seeds 3
    --arms synonyms mlm paraphrase --masked_model bert-base-uncased --forward_model Helsinki-NLP/opus-mt-en-de \\
        --backward_model Helsinki-NLP/opus-mt-de-en
  table 7: larger classifiers on the pool of a run that is there, and on another; nothing is generated:
    hf-fairness ibadr bert-large-uncased --dataset nyu-mll/glue --dataset_config mnli \\
        --text_column premise hypothesis --validation_split validation_matched \\
        --pool ibadr=out z_filter=other.jsonl --output_dir large
  tables 2, 8 and 9:
    --sweep n_bias_indicators=3,7,9   --sweep max_rows=100000,200000   --added_sizes 10000 100000 300000

The paper's generator and shallow model are both GPT-2 large: --generator_model gpt2-large --shallow_model gpt2-large
(with --bf16 --activation_checkpointing --generator_gradient_accumulation_steps where memory is short). Our defaults are
GPT-2 and the classifier's own model. CrossAug is for claims with evidence, and its false claims come from a few rules.

Which model's confidence filters the samples matters: one that shares the bias throws away what the method is after.
The report shows what the filter did. No number of it shows that a model is free of bias.
"""

#: Settings of the demo; what the user gives wins over them.
DEMO = {
    "n_shallow": 1000,
    "shallow_learning_rate": 1e-3,
    "n_iterations": 3,
    "n_generated": 3000,
    "generator_num_train_epochs": 12,
    "generator_later_num_train_epochs": 4,
    "generator_learning_rate": 2e-3,
    "generator_per_device_train_batch_size": 64,
    "max_new_tokens": 40,
    "sampling_batch_size": 500,
    "num_train_epochs": 4,
    "early_stopping_patience": 4,
    "learning_rate": 1e-3,
    "per_device_train_batch_size": 64,
    "output_dir": "out/ibadr",
    "use_cpu": True,
}


def open_data(arguments: IBADRArguments, config: IBADRConfig) -> dict[str, Any]:
    """The sets that the arguments name, or the world of the demo."""
    pools = {title: _pool(place) for title, place in arguments.pools}
    if arguments.demo:
        return {**demo_data(config.seed), "pools": pools}
    return {
        "pools": pools,
        "train": open_rows(arguments),
        "validation": open_held_out(arguments, arguments, "validation"),
        "test": open_held_out(arguments, arguments, "test"),
        "challenge": dict(_challenge(text) for text in arguments.challenge or []),
    }


def _challenge(text: str) -> tuple[str, Any]:
    """Title and file of a published challenge set, or rows: of one's own, or as `build-dataset` wrote them."""
    from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS

    title, _, place = text.partition("=")
    name = title.partition(":")[0]
    if not place or name not in (*CHALLENGE_SETS, "own"):
        raise ValueError(
            f"--challenge is {text!r}, expected NAME=PLACE or NAME:TITLE=PLACE with one of "
            f"{', '.join(CHALLENGE_SETS)}, own."
        )
    path = Path(place)
    if name != "own" and not path.exists():
        raise ValueError(f"--challenge {title}: {missing(place, 'the file of the challenge set')}")
    if name != "own" and path.suffix != ".parquet" and not any(path.rglob("*.parquet")):
        return title, place
    return title, open_dataset(place, split=None, prefer=("evaluation", "test", "validation"))


def _pool(place: str) -> Any:
    """Rows of a pool: that of another run in its output folder, or of a file, folder or id."""
    inside = Path(place) / "pool"
    return open_dataset(str(inside if inside.is_dir() else place), split=None, prefer=("train",))


def demo_data(seed: int) -> dict[str, Any]:
    """The planted world with its tiny models."""
    from hf_fairness.demo.planted import planted_world
    from hf_fairness.demo.planted_models import planted_classifier, planted_generator, planted_tokenizer

    world = planted_world(3000, artefact_strength=0.95, seed=seed)
    removed = planted_world(1, artefact_strength=0.95, seed=seed, challenge_strength=1 / 3).challenge
    pairs, texts = planted_tokenizer(), planted_tokenizer(pairs=False)
    return {
        "train": world.train,
        "validation": world.validation,
        "challenge": {"reversed": world.challenge, "removed": removed},
        "model": (planted_classifier(pairs), pairs),
        "generator": (planted_generator(texts), texts),
        "anti_artefact": world.anti_artefact,
    }


COMMAND = Command(
    description=DESCRIPTION,
    arguments="hf_fairness.trainers:IBADRArguments",
    config="hf_fairness.trainers:IBADRConfig",
    run="hf_fairness.trainers:run_ibadr",
    open_data=open_data,
    artefacts={
        "generator": "a language model that was trained on your texts, and can repeat them",
        "pool": "the texts and labels of your data, and the rows that were added",
    },
    epilog=EPILOG,
    refused={"use_peft": "classifiers are trained whole; the generator has --generator_use_peft"},
    common=("weight_decay", "lr_scheduler_type", "warmup_steps", "activation_checkpointing"),
    defaults=lambda: {"output_dir": "ibadr"},
    demo=DEMO,
)
