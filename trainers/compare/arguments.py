"""What `hf-fairness compare` is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hf_fairness.trainers.baselines import BASELINES
from hf_fairness.trainers.baselines.adept import ADEPTSettings
from hf_fairness.trainers.baselines.ccd_llm import CCDLLMSettings
from hf_fairness.trainers.baselines.continued import CDASettings
from hf_fairness.trainers.baselines.dpce import DPCESettings
from hf_fairness.trainers.baselines.dropout import DropoutSettings
from hf_fairness.trainers.baselines.hard_debias import HardDebiasSettings
from hf_fairness.trainers.baselines.inlp import INLPSettings
from hf_fairness.trainers.baselines.sentence_debias import RandomDirectionsSettings, SentenceDebiasSettings
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.training.encoder_method import EncoderArguments
from hf_fairness.utils import refuse_any

#: The model as it is, which always stands first; and the twin of CCD that pulls at random.
ORIGINAL, CONTROL = "none", "control"


@dataclass(kw_only=True)
class CompareArguments(EncoderArguments):
    """What `hf-fairness compare` is told beside the settings of the trainings."""

    RANGES: ClassVar = {"utility_margin": (0.0, 1.0)}

    model_name_or_path: str = field(metadata={"help": "Encoder that all methods begin with: Hub id or local folder."})
    models: list[str] | None = field(
        default=None,
        metadata={
            "help": "Further models to set beside it as they are, such as published debiased ones: ids on the Hub or "
            "folders. Words after the first model's name, before any option, are taken for them."
        },
    )
    methods: list[str] | None = field(
        default=None,
        metadata={
            "help": f"Methods to compare, of {', '.join((ORIGINAL, *BASELINES))}; default: all that the model "
            f"and what is installed allow. `{ORIGINAL}`, the model as it is, is always there."
        },
    )
    publish: str | None = field(
        default=None,
        metadata={
            "help": "Method whose model becomes OUTPUT_DIR/model, which the report tells most of and which can be "
            "pushed; default: the first of --methods that changes the model."
        },
    )
    utility_margin: float = field(
        default=0.03,
        metadata={"help": "A measure of utility counts as kept where less than this is lost."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            ValueError: says which option has what, and what it takes.
        """
        super().__post_init__()
        known, named = (ORIGINAL, *BASELINES), self.methods or []
        publishable = [name for name in self.changing if name != CONTROL]
        refuse_any(
            {
                **{
                    f"--methods has {name!r}, expected some of {', '.join(known)}.": name not in known for name in named
                },
                f"--methods has {CONTROL!r}, the twin of ccd, without ccd. Name that too.": (
                    CONTROL in named and "ccd" not in named
                ),
                **{
                    f"--methods names {name!r} twice. A method has one set of settings; see --sweep.": (
                        named.count(name) > 1
                    )
                    for name in named
                },
                f"--methods {' '.join(named)} compares nothing: name a method, or further models behind the "
                "first one's name.": not self.changing and not self.models,
                f"--publish is {self.publish!r}, expected one of {', '.join(publishable) or 'none'}.": (
                    self.publish is not None and self.publish not in publishable
                ),
                f"--utility_margin is {self.utility_margin}, expected 0 to below 1.": (
                    not 0.0 <= self.utility_margin < 1.0
                ),
            }
        )

    @property
    def changing(self) -> list[str]:
        """The methods that change the model, the twin of CCD first, then as they were named."""
        named = list(BASELINES) if self.methods is None else sorted(self.methods, key=lambda name: name != CONTROL)
        return [name for name in named if name != ORIGINAL and (self.control or name != CONTROL)]


@dataclass
class CompareConfig(
    CCDConfig,
    CDASettings,
    DropoutSettings,
    CCDLLMSettings,
    DPCESettings,
    ADEPTSettings,
    HardDebiasSettings,
    SentenceDebiasSettings,
    INLPSettings,
    RandomDirectionsSettings,
):
    """Settings of all trainings: those of CCD, of every method that has some of its own, and of any training."""
