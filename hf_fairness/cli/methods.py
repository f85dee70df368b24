"""Run a command: parse; of a method ask whether one may push, open the data, run, print what changed, push."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from hf_fairness._processes import refuse_engines
from hf_fairness.arguments import Command
from hf_fairness.cli.hub import more_artefacts, push_all, repositories
from hf_fairness.cli.parsing import parse
from hf_fairness.utils import is_main_process

#: Settings of the Trainer that `--help` shows beside those of every method.
COMMON = (
    "output_dir",
    "learning_rate",
    "num_train_epochs",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "seed",
    "use_cpu",
    "bf16",
    "push_to_hub",
    "hub_model_id",
    "hub_private_repo",
)


def main(name: str, command: Command, argv: Sequence[str]) -> Any:
    """Run a command with the words after its name.

    Args:
        name: what the user calls it.
        command: what it is.
        argv: the words.

    Returns:
        What its ``run`` returns; of a method with ``urls`` of what was pushed.

    Raises:
        ValueError: words that do not fit together, data that are not there, an engine that splits models.
        OSError: data that cannot be read, a repository that one may not write to.
    """
    if command.config:
        refuse_engines(f"hf-fairness {name}")
    classes = [resolve_name(each) for each in (command.arguments, command.config) if each]
    told = parse(
        [*classes, more_artefacts(**command.artefacts)] if command.config else classes,
        argv,
        prog=f"hf-fairness {name}",
        description=command.description,
        positional=command.positional,
        further=command.further,
        common=(*COMMON, *command.common),
        epilog=command.epilog,
        defaults=command.defaults(),
        demo=command.demo,
        refused=command.refused,
    )
    run = resolve_name(command.run) if isinstance(command.run, str) else command.run
    return _run_method(command, run, *told) if command.config else run(*told)


def _run_method(command: Command, run: Callable[..., dict[str, Any]], arguments: Any, config: Any, more: Any) -> Any:
    """Carry out what was asked."""
    output_dir = getattr(config, "output_dir", None) or arguments.output_dir
    if config.push_to_hub:
        command.check_push(arguments)
    wanted = repositories(config, str(output_dir), more.push_artefacts)
    if quiet_unless_watched():
        config.disable_tqdm = True
    result = run(arguments, config, **command.open_data(arguments, config))
    if is_main_process():
        print_report(result)
        result["urls"] = push_all(result.get("artefacts", {}), wanted, config)
    return result


def quiet_unless_watched() -> bool:
    """No bars of the libraries where nobody watches them; returns whether that is so."""
    if sys.stderr.isatty():
        return False
    import datasets
    from transformers.utils import logging

    datasets.disable_progress_bars()
    logging.disable_progress_bar()
    return True


def print_report(result: Mapping[str, Any]) -> None:
    """Print what a record says, or what the stages of a run without one counted, and where the files are."""
    if "record" not in result:
        said, places = result["text"], result["stages"]
    else:
        from hf_fairness.report import text_report

        made = {"model": result.get("model")}
        made |= {name: each.folder for name, each in result.get("artefacts", {}).items()}
        files = {path.name: path for path in result["files"].values()}
        said, places = text_report(result["record"]), files | {name: path for name, path in made.items() if path}
    print(f"\n{said}\n")
    for name, path in places.items():
        print(f"  {name.ljust(max(map(len, places)))}  {path}")
