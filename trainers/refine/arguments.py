"""What `hf-fairness refine` is told: data, arms and measures; and how each encoder is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hf_fairness.arguments import (
    DataArguments,
    ExperimentArguments,
    HeldOutArguments,
    MeasureArguments,
)
from hf_fairness.attributes.names import BUILT_IN, NO_NAMES, names_option
from hf_fairness.refine.percentile import PERCENTILES
from hf_fairness.trainers.refine.corpora import REFINEMENTS, arm_name
from hf_fairness.trainers.training.encoder import EncoderSettings
from hf_fairness.trainers.training.settings import refuse
from hf_fairness.utils import refuse_any

#: How BiLSTM-max is trained.
PUBLISHED, SMALL = "published", "small"
#: What ``score_model`` is where the rows are scored by the encoder that was trained on all of them.
ORIGINAL = "original"
#: The percentile of the arm that is kept, where it is among those asked for: the best of the paper's tables 6 and 7.
KEPT_PERCENTILE = 95.0


@dataclass(kw_only=True)
class RefineArguments(ExperimentArguments, MeasureArguments, HeldOutArguments, DataArguments):
    """What `hf-fairness refine` is told beside the settings of the training."""

    #: What the settings of the training are filled in from before there are trials.
    UNSWEPT: ClassVar = ("bilstm_settings",)
    RANGES: ClassVar = {
        "percentiles": (0, 100),  # which of them is no percentile is said below
        "hidden_size": (1, 100_000),
        "test_rows": (1, 10**7),
        "n_bias_texts": (1, 10**7),
    }

    model_name_or_path: str = field(
        metadata={
            "help": "Encoder to train: id on the Hub, or a local folder. With --bilstm: a text file of word vectors "
            "(GloVe, word2vec), or an encoder whose input embeddings are read."
        }
    )
    base_model_name: str | None = field(
        default=None, metadata={"help": "How reports call that model; default: its id or its folder's name."}
    )
    text_column: list[str] | None = field(
        default=None,
        metadata={"help": "The two columns of texts; default: premise and hypothesis, or sentence1 and sentence2."},
    )
    label_column: str | None = field(
        default=None,
        metadata={
            "help": "Column that is learned: classes (inference), or scores of how alike the texts are, which is a "
            "column of fractions or one whose name holds `score`; default: `label`, else `score`."
        },
    )
    class_names: list[str] | None = field(
        default=None, metadata={"help": "Names of the classes in the order of their numbers, where the data lack them."}
    )
    max_rows: int | None = field(default=None, metadata={"help": "Take this many random rows; default: all."})
    test_rows: int | None = field(
        default=None,
        metadata={
            "help": "Rows held out for the measures where no test set is named; default: a tenth, at most 10,000."
        },
    )
    percentiles: list[float] | None = field(
        default=None,
        metadata={"help": "Rows whose score lies above these percentiles are refined; default: 90 93 95 97."},
    )
    refinements: list[str] | None = field(
        default=None,
        metadata={
            "help": "What is done with these rows, each at every percentile: sub leaves them out, aug adds their "
            "counterfactuals, replace puts these in their place; default: all three."
        },
    )
    main_arm: str | None = field(
        default=None,
        metadata={
            "help": "The corpus whose encoder is OUTPUT_DIR/model and leads the report, such as aug-90; default: "
            "sub-95 or what comes first."
        },
    )
    control: bool = field(
        default=True,
        metadata={"help": "Also train on corpora in which as many rows, drawn at random, are refined."},
    )
    score_model: str | None = field(
        default=None,
        metadata={
            "help": "Encoder whose bias score finds the rows: id, folder or word vectors; or `original`, the one that "
            "is trained here on all rows; default: --model_name_or_path as it is."
        },
    )
    names: str = field(
        default=BUILT_IN,
        metadata={
            "help": "Given names that are swapped as well: `built-in` (the few pairs of the attribute's file), `none`, "
            "or a csv or tsv file that states its source and date (the paper: 2,500 a group)."
        },
    )
    direction_cache: bool = field(
        default=True,
        metadata={
            "help": "Keep directions of the bias score in HF_HOME/hf_fairness/directions, by the content of the "
            "encoder, and take them from there."
        },
    )
    bilstm: bool = field(
        default=False,
        metadata={
            "help": "Train BiLSTM-max on word vectors, as published; rows are then scored by the one that is trained "
            "on all rows, unless --score_model names another."
        },
    )
    hidden_size: int = field(
        default=2048, metadata={"help": "--bilstm: states in each direction (paper: 2048, which wants a GPU)."}
    )
    bilstm_settings: str = field(
        default=PUBLISHED,
        metadata={
            "help": f"--bilstm: `{PUBLISHED}` trains by SGD whose learning rate follows the development rows, made for "
            f"550,000 pairs; `{SMALL}` by Adam, for some thousand. Settings of the training that you give come first."
        },
    )
    other_vectors: list[str] | None = field(
        default=None,
        metadata={
            "help": "--bilstm: further text files of word vectors, each read by an arm that is trained on all rows "
            "as they are (tables 8 to 11: word2vec)."
        },
    )
    hard_debias: bool = field(
        default=False,
        metadata={"help": "--bilstm: also an arm for each kind of word vectors that reads them hard-debiased (-hd)."},
    )
    hd_words: str | None = field(
        default=None,
        metadata={
            "help": "--hard_debias: folder with the words to go by, as Bolukbasi et al. 2016 publish theirs; default: "
            "words of --attribute."
        },
    )
    seat_tests: list[str] | None = field(
        default=None,
        metadata={
            "help": "Names of SEAT tests, or a JSON or YAML file of your own; default: those of the attribute, 1 and 2."
        },
    )
    n_bias_texts: int = field(
        default=1000, metadata={"help": "Texts of the test rows whose bias score is measured under each encoder."}
    )
    show_texts: int = field(
        default=0,
        metadata={
            "help": "Show so many of the texts with the highest score for each group in the report (not in the "
            "model's card). Reports are files that people send on: default none."
        },
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: a value out of range, no such refinement or arm, an arm or percentile named twice.
        """
        super().__post_init__()
        self.check_experiment()
        names_option(self.names)
        stems = [Path(name).stem for name in self.other_vectors or ()]
        refuse_any(
            {
                **{
                    f"--{name} cannot be set here: no encoder is chosen by it (BiLSTM-max follows a part of its own "
                    "training rows, as published). Rows to measure on are named with --test_dataset or --test_split.": (
                        getattr(self, name) is not None
                    )
                    for name in ("validation_dataset", "validation_config", "validation_split")
                },
                **{
                    f"--{name} is about word vectors, which --bilstm reads: add it, or leave that out.": (
                        getattr(self, name) and not self.bilstm
                    )
                    for name in ("other_vectors", "hard_debias")
                },
                "--hd_words is for the arms of --hard_debias: add it, or leave that out.": (
                    self.hd_words is not None and not self.hard_debias
                ),
                f"bilstm_settings is {self.bilstm_settings!r}, expected {PUBLISHED} or {SMALL}.": (
                    self.bilstm_settings not in (PUBLISHED, SMALL)
                ),
                **{
                    f"{name} is {value}, expected 1 or more.": value is not None and value < 1
                    for name in ("hidden_size", "test_rows", "n_bias_texts")
                    for value in [getattr(self, name)]
                },
                **{
                    f"--other_vectors {name}: there is no such file.": self.bilstm and not Path(name).is_file()
                    for name in self.other_vectors or ()
                },
                f"--other_vectors: arms are called by the names of the files, which repeat: {stems}.": (
                    len(set(stems)) < len(stems)
                ),
                f"text_column is {' '.join(self.text_column or ())}, expected the names of two columns.": (
                    self.text_column is not None and len(self.text_column) != 2
                ),
                **{
                    f"--percentiles holds {level:g}, expected numbers in [1, 100), in per cent: 95 for the 5 % of rows "
                    "with the highest scores.": not 1 <= level < 100
                    for level in self.levels
                },
                f"refinements is {' '.join(self.kinds) or 'empty'} at percentiles "
                f"{' '.join(f'{level:g}' for level in self.levels) or '(none)'}, expected some of "
                f"{', '.join(REFINEMENTS)} at one percentile or more.": (
                    not self.kinds or not self.levels or not set(self.kinds) <= set(REFINEMENTS)
                ),
                f"main_arm is {self.main_arm!r}, expected one of {', '.join(self.refined_arms)}.": (
                    self.main_arm is not None and self.main_arm not in self.refined_arms
                ),
            }
        )

    @property
    def scored_by(self) -> str | None:
        """The encoder whose bias score finds the rows; None for that of ``model_name_or_path``."""
        return ORIGINAL if self.bilstm and self.score_model is None else self.score_model

    @property
    def vector_arms(self) -> dict[str, tuple[str, bool]]:
        """Arms that read other word vectors: by name the vectors, and whether they are hard-debiased."""
        others = {f"vectors-{Path(name).stem}": name for name in self.other_vectors or ()}
        plain = {name: (vectors, False) for name, vectors in others.items()}
        if not self.hard_debias:
            return plain
        hard = {"hd": self.model_name_or_path, **{f"{name}-hd": vectors for name, vectors in others.items()}}
        return plain | {name: (vectors, True) for name, vectors in hard.items()}

    @property
    def levels(self) -> tuple[float, ...]:
        """The percentiles, each once."""
        return tuple(dict.fromkeys(PERCENTILES if self.percentiles is None else map(float, self.percentiles)))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The refinements, each once."""
        return tuple(dict.fromkeys(REFINEMENTS if self.refinements is None else self.refinements))

    @property
    def refined_arms(self) -> dict[str, tuple[str, float]]:
        """Refinement and percentile by name of the arm; the main one first."""
        found = {arm_name(kind, level): (kind, level) for kind in self.kinds for level in self.levels}
        wanted = self.main_arm or next((arm for arm, (_, level) in found.items() if level == KEPT_PERCENTILE), None)
        return {wanted: found[wanted], **found} if wanted in found else found

    @property
    def name_option(self) -> bool | str:
        """What transforms take as ``names``."""
        return False if self.names == NO_NAMES else names_option(self.names)


#: Settings of a training whose usual value depends on the encoder, with that of a transformer.
USUAL: dict[str, Any] = {
    "num_train_epochs": 1.0,
    "learning_rate": 2e-5,
    "optim": EncoderSettings.optim,
    "max_grad_norm": 1.0,
}


@dataclass
class RefineConfig(EncoderSettings):
    """Settings of the training of each encoder; all arms share them, and the number of epochs unless steps are set."""

    num_train_epochs: float | None = field(
        default=None,
        metadata={
            "help": "Epochs of each arm: a corpus with more rows takes more steps (as published); default: 1, with "
            "--bilstm at most 8 (paper)."
        },
    )
    per_device_train_batch_size: int = field(default=64, metadata={"help": "Pairs of a step and device (paper: 64)."})
    learning_rate: float | None = field(
        default=None,
        metadata={"help": "Highest learning rate; default: 2e-5, with --bilstm 0.1 (paper) or 1e-3 (small)."},
    )
    optim: str | None = field(
        default=None,
        metadata={"help": "Optimizer; default: AdamW, with --bilstm sgd (paper) or AdamW (small)."},
    )
    max_grad_norm: float | None = field(
        default=None, metadata={"help": "Longest gradient; default: 1, with --bilstm 5 (as in InferSent's code)."}
    )
    save_strategy: str = field(
        default="no", metadata={"help": "Nothing is saved on the way: a killed run begins the arm anew that it was at."}
    )

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same.

        Raises:
            ValueError: checkpoints or evaluations on the way, which no arm has; or as the parent.
        """
        refuse(
            self,
            {
                "save_strategy": "an arm is trained in one go, and a killed run begins it anew",
                "eval_strategy": "no checkpoint is chosen: what is measured is the end of each training",
            },
        )
        self.given = frozenset(name for name in USUAL if getattr(self, name) is not None)
        for name, usual in USUAL.items():
            if name not in self.given:
                setattr(self, name, usual)
        super().__post_init__()
