"""What a run of GFST is told beside the settings of the training; `hf-fairness gfst` parses it from flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hf_fairness.arguments import DataArguments, ExperimentArguments, HeldOutArguments
from hf_fairness.scores.statistics import N_BOOTSTRAP
from hf_fairness.utils import refuse_any

RETRAIN, MIXED, BACK_TRANSLATION = "retrain", "mixed_finetune", "back_translation"
#: How the final model is made.
METHODS = (RETRAIN, MIXED, BACK_TRANSLATION)
#: The arms: the initial model, the method, its control, and those that `arms` adds; one that learns from the pairs of a
#: single group has the name of that group.
BASELINE, GFST, CONTROL, RANDOM, UNFILTERED = "baseline", "gfst", "control", "randst", "no_target_filter"
HD, GFST_HD = "hd", "gfst_hd"
#: Arms that are another one with hard-debiased embeddings of its encoder (+HD, tables 4 and 8).
HARD_DEBIASED = {HD: BASELINE, GFST_HD: GFST}
#: Stages in their order; a run without the later ones ends after the one that `until` names.
STAGES = (
    *("parallel", "filter_source", "start", "initial", "translate", "filter_target", "balance", "randst"),
    *("train", "predict", "scores", "report", "model"),
)
#: Precisions that translations are computed in.
DTYPES = ("auto", "float32", "bfloat16", "float16")
#: The filters in their order; back-translation filters the texts by their target language first.
BACKWARDS = {"filter_source": "filter_target", "filter_target": "filter_source"}


@dataclass(kw_only=True)
class GFSTArguments(ExperimentArguments, HeldOutArguments, DataArguments):
    """What `hf-fairness gfst` needs beside the settings of the training.

    Source: Choubey et al. 2021; defaults are those of the paper where it names one.
    """

    RANGES: ClassVar = {"human_sheets": (0, 10_000), "translation_batch_tokens": (1, 100_000_000)}

    model_name_or_path: str | None = field(
        default=None,
        metadata={
            "help": "Translation model (any AutoModelForSeq2SeqLM): an id on the Hub or a local folder. Default: a "
            "small Marian model that is trained here on the parallel data."
        },
    )
    target_lang: str | None = field(
        default=None, metadata={"help": "Code of the target language (it, de, ru ...): of its tagger and rules."}
    )
    source_lang: str = field(default="en", metadata={"help": "Code of the source language: of its word lists."})
    dataset: str = field(
        default="",
        metadata={
            "help": "Parallel data: a tsv, csv, json, jsonl or parquet file, a folder of such files, a saved data set, "
            "an id on the Hub, or two aligned text files with a comma between (train.en,train.it)."
        },
    )
    text_column: list[str] | None = field(
        default=None,
        metadata={
            "help": "Not for pairs: their columns are --source_column and --target_column, that of monolingual texts "
            "is --monolingual_text_column."
        },
    )
    monolingual_dataset: str | None = field(
        default=None,
        metadata={
            "help": "Monolingual text to translate, one sentence a line or row: text file, table, folder, saved data "
            "set or id; in the source language, for back-translation in the target language."
        },
    )
    monolingual_config: str | None = field(
        default=None, metadata={"help": "Configuration of monolingual data that have several."}
    )
    monolingual_split: str = field(default="train", metadata={"help": "Split of the monolingual data to read."})
    monolingual_text_column: str | None = field(
        default=None, metadata={"help": "Column of the monolingual texts; default: `text`, or the only text column."}
    )
    validation_split: str | None = field(
        default=None,
        metadata={"help": "Split of --validation_dataset, or without one of --dataset; default: no validation loss."},
    )
    winomt: str | None = field(
        default=None,
        metadata={
            "help": "WinoMT: its data file en.txt (en_pro.txt and en_anti.txt are read beside it), or a data set with "
            "gender, target_index, sentence and profession, as `hf-fairness build-dataset winomt` writes it."
        },
    )
    must_she: str | None = field(
        default=None,
        metadata={
            "help": "MuST-SHE: its tsv file of the language, or a data set with source, category and gender_terms, as "
            "`hf-fairness build-dataset must_she` writes it."
        },
    )
    method: str | None = field(
        default=None,
        metadata={
            "help": "`retrain`: from scratch on parallel and pseudo-parallel data. `mixed_finetune`: go on from the "
            "initial model with as many original pairs as pseudo ones. `back_translation`: target-language text, "
            "filtered and translated back. Default: retrain for a model trained here, else mixed_finetune."
        },
    )
    reverse_model: str | None = field(
        default=None, metadata={"help": "Model from target to source language; needed for back-translation only."}
    )
    train_initial: bool | None = field(
        default=None,
        metadata={
            "help": "Train the initial model here, on the parallel data, from fresh weights of its architecture; "
            "default: only where no model is given."
        },
    )
    arms: list[str] = field(
        default_factory=lambda: [RANDOM],
        metadata={
            "help": "Further models beside GFST and its control: randst (as many unfiltered random pairs), "
            "no_target_filter (appendix D), the name of a group (its pairs alone, section 6.2), hd and gfst_hd (the "
            "initial model and GFST with hard-debiased embeddings of the encoder, tables 4 and 8); `none` for none."
        },
    )
    hd_words: str | None = field(
        default=None,
        metadata={
            "help": "hd, gfst_hd: folder with the words to debias by, as Bolukbasi et al. 2016 publish theirs: "
            "definitional_pairs.json, equalize_pairs.json, gender_specific_full.json; default: words of --attribute."
        },
    )
    stop_arms_early: bool = field(
        default=False,
        metadata={
            "help": "Let every arm but the control stop by the validation loss, as the initial model does (paper: he, "
            "it, ru); default: after updates in proportion to its pairs (paper: de, fr)."
        },
    )
    attribute: str = field(default="gender", metadata={"help": "Attribute whose groups are filtered and balanced."})
    wordlist: str = field(
        default="default", metadata={"help": "Words of the source filter: `default`, or `gfst` as the authors had."}
    )
    tagger: str | None = field(
        default=None, metadata={"help": "Kind of the tagger of the target filter; default: that of the language."}
    )
    lexicon: str | None = field(
        default=None,
        metadata={"help": "Table of forms (UniMorph format) in place of a tagger, for any language; WinoMT uses it."},
    )
    human_nouns_only: bool = field(
        default=False, metadata={"help": "Target filter: read the gender of nouns for persons only."}
    )
    nouns: str | None = field(
        default=None, metadata={"help": "File with nouns for persons, where the tagger does not tell them apart."}
    )
    ambiguous: str = field(
        default="neither",
        metadata={"help": "Words of several genders show `neither` of them, or `each`, to the target filter."},
    )
    max_candidates: int | None = field(
        default=None, metadata={"help": "Translate at most so many sentences per group, drawn at random; default: all."}
    )
    max_pairs: int | None = field(
        default=None, metadata={"help": "Keep at most so many pairs per group (paper: 30000 for it); default: all."}
    )
    min_pairs: int = field(default=100, metadata={"help": "Fewer pairs than this per group are an error."})
    upsample: int = field(default=1, metadata={"help": "How often every pseudo pair is used (paper: 20 for fr)."})
    finetune_num_train_epochs: float = field(
        default=3.0,
        metadata={"help": "Mixed fine-tuning: passes over its pairs (not in the paper); max_steps wins over it."},
    )
    finetune_learning_rate: float | None = field(
        default=1e-4, metadata={"help": "Mixed fine-tuning: highest learning rate (not in the paper)."}
    )
    num_beams: int = field(default=5, metadata={"help": "Beams of every translation."})
    translation_batch_size: int = field(default=64, metadata={"help": "Most sentences translated at a time."})
    translation_batch_tokens: int = field(
        default=4096, metadata={"help": "Most source tokens translated at a time, padding included."}
    )
    translation_dtype: str = field(
        default="auto",
        metadata={
            "help": "Precision that translations are computed in: float32, bfloat16, float16, or auto, that of the "
            "trainings (--bf16, --fp16)."
        },
    )
    max_source_length: int | None = field(
        default=None, metadata={"help": "Longest source in tokens, the rest is cut; default: what the model takes."}
    )
    max_new_tokens: int | None = field(
        default=None, metadata={"help": "Longest translation in tokens; default: what the model says."}
    )
    source_code: str | None = field(
        default=None,
        metadata={
            "help": "Source language as the tokenizer names it (mBART: en_XX, NLLB: eng_Latn); default: its own."
        },
    )
    target_code: str | None = field(
        default=None,
        metadata={
            "help": "Target language as the tokenizer names it (mBART: it_IT, NLLB: ita_Latn); default: the one that "
            "the model is set to, if any. For back-translation give both codes."
        },
    )
    prefix: str = field(
        default="", metadata={"help": "Text before every source, as T5 wants: 'translate English to German: '."}
    )
    reverse_prefix: str = field(
        default="",
        metadata={"help": "The same for the reverse model: 'translate German to English: '. Back-translation only."},
    )
    vocab_size: int = field(default=8000, metadata={"help": "Small model: size of the shared vocabulary."})
    token_level: str = field(
        default="bpe", metadata={"help": "Small model: tokens are pieces of words (`bpe`) or each a `word`."}
    )
    d_model: int = field(default=256, metadata={"help": "Small model: width."})
    layers: int = field(default=3, metadata={"help": "Small model: layers of encoder and of decoder."})
    heads: int = field(default=4, metadata={"help": "Small model: attention heads."})
    ffn: int = field(default=1024, metadata={"help": "Small model: width of the feed-forward layers."})
    dropout: float = field(default=0.3, metadata={"help": "Small model: dropout (paper: 0.3, for fr 0.1)."})
    aligner: str = field(default="fast_align", metadata={"help": "Aligner of WinoMT: fast_align, systran, eflomal."})
    n_bootstrap: int = field(default=N_BOOTSTRAP, metadata={"help": "Resamples behind each interval."})
    human_sheets: int = field(
        default=0,
        metadata={
            "help": "Write sheets for people to judge so many sentences by (tables 5, 9 and 17: 100, for quality 300), "
            "of the first seed, to OUTPUT_DIR/human, their keys apart; `hf-fairness gfst-sheets` scores them. 0: none."
        },
    )
    until: str | None = field(
        default=None, metadata={"help": f"End after this stage: {', '.join(STAGES)}; default: go on to the end."}
    )
    demo: bool = field(
        default=False,
        metadata={"help": "Sentences made from a grammar and a small model trained here: needs no data, no download."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: a value out of range, or options that do not fit together; the message names them.
        """
        super().__post_init__()
        self.check_experiment()
        self.arms = [] if self.arms == ["none"] else list(dict.fromkeys(self.arms))
        self.until = None if self.until is None else self.until.replace("-", "_")
        refuse_any(
            {
                **{
                    f"{name} is {getattr(self, name)}, expected 1 or more.": getattr(self, name) < 1
                    for name in (
                        *("min_pairs", "upsample", "num_beams"),
                        *("translation_batch_size", "translation_batch_tokens"),
                    )
                },
                f"translation_dtype is {self.translation_dtype!r}, expected one of {', '.join(DTYPES)}.": (
                    self.translation_dtype not in DTYPES
                ),
                **{
                    f"{name} is {value}, expected at least --min_pairs, which is {self.min_pairs}.": (
                        value is not None and value < self.min_pairs
                    )
                    for name, value in (("max_candidates", self.max_candidates), ("max_pairs", self.max_pairs))
                },
                f"method is {self.method!r}, expected one of {', '.join(METHODS)}.": (
                    self.method not in (None, *METHODS)
                ),
                f"until is {self.until!r}, expected a stage: {', '.join(STAGES)}.": self.until not in (None, *STAGES),
                "--text_column: parallel data have two columns of texts. Name them with --source_column and "
                "--target_column, and that of monolingual texts with --monolingual_text_column.": self.text_column,
                "--tagger and --lexicon both say how words get their gender: give one of them.": (
                    self.tagger and self.lexicon
                ),
                f"human_sheets is {self.human_sheets}, expected 0 or more.": self.human_sheets < 0,
                f"--human_sheets needs the translations of the arms, and --until {self.until} ends the run before: "
                "leave out one of them.": self.human_sheets > 0 and not self.wants("predict"),
                "--hd_words is for the arms hd and gfst_hd: add one of them to --arms.": (
                    self.hd_words is not None and not set(self.arms) & set(HARD_DEBIASED)
                ),
                "--train_initial False needs a model that can translate already: give its id or folder with "
                "--model_name_or_path.": self.model_name_or_path is None and self.train_initial is False,
            }
        )

    @property
    def trains_initial(self) -> bool:
        """Whether the initial model is trained in this run."""
        return self.model_name_or_path is None if self.train_initial is None else self.train_initial

    @property
    def training(self) -> str:
        """How the arms are trained: anew, or on from the initial model."""
        return RETRAIN if self.method == RETRAIN or (self.method != MIXED and self.trains_initial) else MIXED

    @property
    def backwards(self) -> bool:
        """Whether target-language text is translated back."""
        return self.method == BACK_TRANSLATION

    @property
    def target_filter(self) -> dict[str, Any]:
        """How the target filter reads genders, beside its tagger."""
        nouns = None if self.nouns is None else Path(self.nouns)
        return {"human_nouns_only": self.human_nouns_only, "nouns": nouns, "ambiguous": self.ambiguous}

    def wants(self, stage: str) -> bool:
        """Whether the run goes as far as a stage."""
        order = [BACKWARDS.get(each, each) for each in STAGES] if self.backwards else STAGES
        return self.until is None or order.index(stage) <= order.index(self.until)
