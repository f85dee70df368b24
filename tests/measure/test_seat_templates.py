"""The same words in several template sets: on paper, and on the real MiniLM."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hf_fairness import measure
from hf_fairness.measure.encoder.seat_templates import seat_templates

WORDS = {"targ1": {"words": ["Al", "Bo"], "kind": "name"}, "targ2": {"words": ["Cy", "Di"], "kind": "name"}}
SETS = WORDS | {"attr1": ["work"], "attr2": ["home"]}
ANGLES = {"work": 0.0, "home": 90.0, "Al": 30.0, "Bo": 40.0, "Cy": 50.0, "Di": 60.0}


class Angles:
    """Puts every text at the angle of the word it holds; a question turns the word's angle around 45 degrees."""

    def encode(self, texts):
        angles = []
        for text in texts:
            angle = next(angle for word, angle in ANGLES.items() if word in text)
            angles.append(np.radians(90.0 - angle if text.endswith("?") else angle))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_templates_that_turn_an_association_around_are_seen():
    mine = {"plain": {"name": ["Here is {word}."]}, "asked": {"name": ["Is this {word}?"]}}
    result = seat_templates(Angles(), {"toy": SETS}, templates=mine)
    toy = result["tests"]["toy"]
    plain, asked = (toy["by_templates"][name] for name in ("plain", "asked"))
    assert plain["effect_size"] == pytest.approx(-asked["effect_size"])
    assert plain["effect_size"] > 1.0
    assert plain["numerator"] > 0.0
    assert toy["effect_size_mean"] == pytest.approx(0.0)
    assert (toy["effect_size_min"], toy["effect_size_max"]) == (asked["effect_size"], plain["effect_size"])
    assert toy["effect_size_sd"] == pytest.approx(np.sqrt(2) * plain["effect_size"])
    # |d| is the same in both: the mean over tests hides what the templates do to the sign.
    assert result["mean_abs_effect_size_sd"] == pytest.approx(0.0)
    assert result["meta"]["templates"] == ["plain", "asked"]
    json.dumps(result, allow_nan=False)


def test_the_published_set_gives_the_result_of_seat(minilm):
    names = ["published", "bare", "question"]
    result = seat_templates(minilm, "7", templates=names, n_samples=200, n_bootstrap=100)
    plain = measure.seat(minilm, "7", n_samples=200, n_bootstrap=100)
    test = result["tests"]["7"]
    assert list(test["by_templates"]) == names
    published = test["by_templates"]["published"]
    assert published["effect_size"] == pytest.approx(plain["tests"]["7"]["effect_size"], abs=1e-5)
    assert published["n_sentences"] == plain["tests"]["7"]["n_sentences"]
    assert test["by_templates"]["bare"]["n_words"] == 16
    # The spread over templates is of the size of differences that papers report as effects.
    assert 0.2 < test["effect_size_sd"] < 0.4
    mean = result["mean_abs_effect_size"]["published"]
    assert mean["mean_abs_effect_size"] == pytest.approx(plain["mean_abs_effect_size"], abs=1e-5)


def test_retention_tests_have_no_mean():
    result = seat_templates(Angles(), {"toy": SETS | {"purpose": "retention"}}, templates=["bare", "question"])
    assert result["mean_abs_effect_size"] == {}
    assert "mean_abs_effect_size_sd" not in result


@pytest.mark.parametrize(
    ("tests", "templates", "message"),
    [
        ({"toy": SETS}, ["bare"], "at least two template sets; got bare"),
        ({"toy": SETS}, "bare", "at least two template sets"),
        ({"toy": SETS}, ["bare", "long"], "Unknown template set 'long'"),
        (["weat6"], None, "'weat6' has the same texts in every template set"),
        ({"toy": {role: [role] for role in ("targ1", "targ2", "attr1", "attr2")}}, None, "'toy' has the same texts"),
        (["competent_vignette"], None, "no templates for it"),
    ],
)
def test_what_cannot_vary_is_an_error(tests, templates, message):
    with pytest.raises(ValueError, match=message):
        seat_templates(Angles(), tests, templates=templates)
