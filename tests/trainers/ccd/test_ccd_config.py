"""The settings: the paper's values, the command line, and errors that name the fix."""

from __future__ import annotations

import pytest
from transformers import HfArgumentParser

from hf_fairness.trainers import CCDConfig


def test_defaults_are_the_papers(tmp_path):
    config = CCDConfig(output_dir=str(tmp_path), use_cpu=True)
    assert (config.learning_rate, config.per_device_train_batch_size, config.num_train_epochs) == (
        5e-5,
        32,
        1,
    )
    assert (config.beta, config.seed) == (1.0, 42)
    assert config.optim.value == "adamw_torch_fused"
    assert config.weight_decay == 0  # AdamW without decay is Adam
    assert config.load_best_model_at_end
    assert (config.metric_for_best_model, config.greater_is_better) == ("eval_loss", False)
    assert config.keep_dropout is False
    assert config.rho == "mean"


def test_command_line(tmp_path):
    parser = HfArgumentParser(CCDConfig)
    assert "--rho" in parser.format_help()  # also fails on a stray percent sign
    words = f"--output_dir {tmp_path} --use_cpu --rho 0.5 --beta 1.5 --group_columns male female"
    words += " --keep_mlm_head false"
    (config,) = parser.parse_args_into_dataclasses(words.split())
    assert (config.rho, config.beta, config.group_columns, config.keep_mlm_head) == (
        0.5,
        1.5,
        ["male", "female"],
        False,
    )


def test_every_own_setting_has_help():
    classes = [cls for cls in CCDConfig.__mro__ if cls.__module__.startswith("hf_fairness")]
    own = [name for cls in classes for name in cls.__annotations__ if name in CCDConfig.__dataclass_fields__]
    assert len(own) > 20
    assert all(CCDConfig.__dataclass_fields__[name].metadata.get("help") for name in own)


def test_no_validation_means_no_best_checkpoint(tmp_path):
    config = CCDConfig(output_dir=str(tmp_path), use_cpu=True, eval_strategy="no")
    assert not config.load_best_model_at_end


def test_validation_per_epoch_saves_per_epoch(tmp_path):
    config = CCDConfig(output_dir=str(tmp_path), use_cpu=True, eval_strategy="epoch")
    assert config.save_strategy.value == "epoch"


def test_given_steps_are_kept(tmp_path):
    config = CCDConfig(output_dir=str(tmp_path), use_cpu=True, eval_steps=7)
    assert (config.eval_steps, config.save_steps, config.derive_eval_steps) == (7, 7, False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rho": "median"}, "rho is 'median', expected 'mean', 'variance' or a number"),
        ({"rho": -1}, "rho is -1.0"),
        ({"rho": "nan"}, "rho is nan"),
        ({"beta": -0.5}, "beta is -0.5"),
        ({"bias_weight": -1}, "bias_weight is -1"),
        ({"group_columns": ["male"]}, "at least two different columns"),
        ({"group_columns": ["male", "neutral"]}, "'neutral', which is neutral_column"),
        ({"pooling": "avg"}, "pooling is 'avg', expected one of"),
        ({"max_length": 2}, "max_length is 2 tokens"),
        ({"validation_rows": 0}, "validation_rows is 0"),
        ({"lora_r": 0}, "lora_r is 0"),
        ({"label_smoothing_factor": 0.1}, "--label_smoothing_factor cannot be set here: sentence encoders are trained"),
    ],
)
def test_errors(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        CCDConfig(output_dir=str(tmp_path), use_cpu=True, **settings)
