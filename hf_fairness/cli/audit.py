"""`hf-fairness audit`: measure bias and utility of a text encoder, write a report."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.arguments import AuditArguments, Command, DataArguments, DeviceArguments, ReportArguments
from hf_fairness.cli.hub import HUB_SETTINGS, HubOptions, model_repository
from hf_fairness.cli.methods import print_report
from hf_fairness.sources import has_variants, one_text_column, open_dataset, open_rows, open_variants
from hf_fairness.utils import is_main_process

if TYPE_CHECKING:
    from hf_fairness.encoders import RememberingEncoder

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Arguments(HubOptions, DeviceArguments, ReportArguments, AuditArguments, DataArguments):
    """What `hf-fairness audit` can be told."""

    model_name_or_path: str = field(metadata={"help": "Encoder to measure: id on the Hub, or a local folder."})
    output_dir: str = field(default="report", metadata={"help": "Folder for the report.", "aliases": ["--output"]})
    reference_model: str | None = field(
        default=None,
        metadata={"help": "The encoder before mitigation: it is audited too, and the report compares the two."},
    )
    dataset: str = field(
        default="",
        metadata={"help": "Texts (or variants of texts) to measure CCED on, beside the built-in ones: file or Hub id."},
    )
    max_rows: int | None = field(default=5000, metadata={"help": "Use at most the first so many rows of the data set."})
    seat_tests: list[str] | None = field(
        default=None, metadata={"help": "Names of SEAT tests; default: those of the attribute, and 1 and 2."}
    )
    pooling: str = field(default="mean", metadata={"help": "Pooling of a bare model: mean, cls or max."})
    normalize: bool | None = field(
        default=None,
        metadata={
            "help": "Scale embeddings to length 1; default: as the model does, yes for a bare one. A "
            "SentenceTransformer with a Normalize module cannot do without."
        },
    )
    max_length: int | None = field(default=None, metadata={"help": "Cut texts to this many tokens."})
    batch_size: int = field(default=32, metadata={"help": "Texts per forward."})
    seed: int = field(default=0, metadata={"help": "Seed of every draw."})
    push_to_hub: bool = field(
        default=False,
        metadata={
            "help": "Put the section on bias into the model's card on the Hub; nothing else in it changes, and no text "
            "of yours is pushed."
        },
    )
    hub_model_id: str | None = field(
        default=None, metadata={"help": "The model's repository, which must be there. Default: --model_name_or_path."}
    )


def run(arguments: Arguments) -> dict[str, Any]:
    """Run the command; returns the report as written."""
    from hf_fairness._processes import refuse_engines, rows_shared
    from hf_fairness.runs import hold_folder

    refuse_engines("hf-fairness audit")
    repository = model_repository(arguments, arguments.model_name_or_path)
    with contextlib.ExitStack() as stack:  # the folder of the report is held from the start
        if is_main_process():
            stack.callback(hold_folder(Path(arguments.output_dir), shared=True))
        stack.enter_context(rows_shared(cpu=arguments.use_cpu))
        return _audit(arguments, repository)


def _audit(arguments: Arguments, repository: str | None) -> dict[str, Any]:
    """Audit, write the report, print the table, push the section of the card."""
    from hf_fairness.attributes import load_attribute
    from hf_fairness.measure.audit import audit
    from hf_fairness.publishing import push_section
    from hf_fairness.report import audit_record, card_metadata, card_section, write_report
    from hf_fairness.report.projection import pictures
    from hf_fairness.report.text import shown_settings

    attribute = load_attribute(arguments.attribute, language=arguments.language)
    sets: dict[str, Any] = dict(open_variants(arguments.variants, attribute.group_names))
    if arguments.dataset:
        if Path(arguments.dataset).stem in sets:
            raise ValueError(
                f"--dataset {arguments.dataset} and a file of --variants are both called "
                f"{Path(arguments.dataset).stem!r}: rename one of them."
            )
        sets[Path(arguments.dataset).stem] = _variants(arguments, attribute)
    options: dict[str, Any] = {
        "attribute": attribute,
        "variants": sets,
        "sts_pairs": None if arguments.sts_pairs is None else open_dataset(arguments.sts_pairs),
        "seat_tests": arguments.seat_tests,
        **{name: getattr(arguments, name) for name in ("n_samples", "n_bootstrap", "seed")},
    }
    model, reference = _open(arguments.model_name_or_path, arguments), _open(arguments.reference_model, arguments)
    before = None if reference is None else audit(reference, **options)
    after = audit(model, reference=reference, n_texts=arguments.show_texts, **options)
    report, earlier = after.report, None if before is None else before.report
    if not is_main_process():
        return report
    logger.info("Drawing, and writing the report into %s", arguments.output_dir)
    if after.embeddings:
        first, audits = next(iter(after.embeddings)), [each for each in (before, after) if each is not None]
        drawn = pictures(*(each.embeddings[first] for each in audits))
        for each, picture in zip(audits, drawn.values(), strict=True):
            each.report["projection"] = picture
    asked = shown_settings(asdict(arguments), without=("output_dir", "name", "show_texts", *HUB_SETTINGS))
    record = audit_record(report, before=earlier, name=arguments.name, asked=asked)
    files = write_report(record, arguments.output_dir, result={"after": report, "before": earlier})
    print_report({"record": record, "files": files})
    if repository is not None:
        section, metadata = card_section(record), card_metadata(record, mitigated=False)
        print(push_section(repository, section, metadata, token=arguments.hub_token))
    return report


def _open(name: str | None, arguments: Arguments) -> RememberingEncoder | None:
    """A model that is opened once; what it makes of a text is kept for both audits."""
    from hf_fairness._processes import own_device
    from hf_fairness.encoders import RememberingEncoder, as_encoder

    options: Any = {each: getattr(arguments, each) for each in ("batch_size", "pooling", "normalize", "max_length")}
    device = arguments.device or own_device()
    return None if name is None else RememberingEncoder(as_encoder(name, device=device, show_progress=False, **options))


def _variants(arguments: Arguments, attribute: Any) -> Any:
    from hf_fairness.augment import GroupVariants

    rows = open_rows(arguments)
    rows = rows.select(range(min(len(rows), arguments.max_rows or len(rows))))
    if not arguments.text_column and has_variants(rows, attribute.group_names):
        return rows
    column = one_text_column(rows, arguments)
    texts = rows.select_columns([column])  # another column may be called like a group
    return texts.map(
        GroupVariants(column, attribute=attribute), batched=True, remove_columns=[column], desc="Making variants"
    )


COMMAND = Command(
    description="""Measure an encoder: SEAT, CCED on built-in and given texts, how well a probe reads the group, and
retained utility. Writes report.html, record.json and report.md, the section of a model card on bias. No number
says that a model is fair; each comes with its interval, its convention and what it does not show.""",
    epilog="""examples:
  before and after a mitigation, with the utility that must stay:
    hf-fairness audit you/all-MiniLM-L6-v2-ccd --reference_model sentence-transformers/all-MiniLM-L6-v2 \\
        --sts_pairs sts-dev.tsv --output_dir report
  on texts of your own, into the card of a model that is on the Hub:
    hf-fairness audit you/model --dataset news.txt --push_to_hub

Quote the word-clustered p-value of SEAT: the published one takes sentences of one word for independent. A CCED of 0
means equal distances, and the group may still be read from the embedding: see the probe.
""",
    arguments="hf_fairness.cli.audit:Arguments",
    config="",
    run=run,
    # What commands have that train, and this one cannot.
    refused={
        **dict.fromkeys(
            (
                "bf16",
                "fp16",
                "gradient_accumulation_steps",
                "activation_checkpointing",
                "use_peft",
                "report_to",
                "control",
            ),
            "an audit trains nothing, it measures a model as it is",
        ),
        "n_seeds": "nothing is trained; --seed is that of the resamples, and the intervals say how far they matter",
        "sweep": "an audit has one setting; call it once for each model or text, into a folder of its own",
        "resume": "an audit is done in one go, in a minute or two",
    },
)
