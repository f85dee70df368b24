"""Coordinates for the picture of embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from hf_fairness.report import project
from hf_fairness.report.projection import pictures


def spaces(n: int = 40, d: int = 12, gap: float = 3.0, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, d))
    axis = np.eye(d)[0] * gap
    return {"male": base + axis, "female": base - axis, "neutral": base}


def gap_of(points: dict) -> float:
    male, female = (np.mean(points[name], axis=0) for name in ("male", "female"))
    return float(np.linalg.norm(male - female))


def test_pca_puts_both_models_on_one_pair_of_axes():
    result = project(spaces(gap=3.0), spaces(gap=0.5), "pca")
    before, after = (gap_of(result[side]["points"]) for side in ("before", "after"))
    assert before == pytest.approx(6.0, rel=0.1)
    assert after == pytest.approx(1.0, rel=0.1)


def test_same_input_same_picture():
    for method in ("pca", "tsne"):
        assert project(spaces(), spaces(gap=1), method, seed=3) == project(spaces(), spaces(gap=1), method, seed=3)


def test_tsne_shows_groups_that_are_apart():
    points = project(spaces(gap=8.0), method="tsne")["before"]["points"]
    means = {group: np.mean(rows, axis=0) for group, rows in points.items()}
    right = sum(
        min(means, key=lambda g: float(np.linalg.norm(np.asarray(point) - means[g]))) == group
        for group, rows in points.items()
        for point in rows
    )
    assert right / 120 > 0.9


def test_tsne_keeps_the_layout_where_nothing_moved():
    result = project(spaces(), spaces(), "tsne")
    old, new = (np.concatenate(list(result[side]["points"].values())) for side in ("before", "after"))
    correlation = [np.corrcoef(old[:, k], new[:, k])[0, 1] for k in range(2)]
    assert min(correlation) > 0.9


def test_sampling_keeps_the_versions_of_a_text_together():
    groups = {name: np.arange(500.0)[:, None] * np.ones(3) for name in ("male", "neutral")}
    section = project(groups, method="pca", max_points=30)["before"]
    assert section["points"]["male"] == section["points"]["neutral"]
    assert section["n"] == 60


def test_center_takes_out_the_content():
    section = project(spaces(gap=1.0), method="pca", center=True)["before"]
    points = {name: np.asarray(rows) for name, rows in section["points"].items()}
    assert points["neutral"] == pytest.approx(0.0, abs=1e-6)
    assert abs(points["male"][:, 0]) == pytest.approx(1.0, abs=1e-4)
    assert "subtracted" in section["note"]


def test_one_dimension_and_equal_rows_work():
    flat = project({"male": np.zeros((3, 1)), "neutral": np.zeros((3, 1))}, method="pca")
    assert flat["before"]["points"]["male"] == [[0.0, 0.0]] * 3


def test_global_random_state_is_left_alone():
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    project(spaces(10), method="tsne")
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("before", "after", "options", "message"),
    [
        ({}, None, {}, "got no groups"),
        ({"a": np.ones(3)}, None, {}, "expected \\(n, d\\)"),
        ({"a": np.ones((3, 2)), "b": np.ones((3, 4))}, None, {}, "same d"),
        ({"a": np.ones((0, 2))}, None, {}, "no rows"),
        ({"a": np.full((4, 2), np.nan)}, None, {}, "NaN"),
        ({"a": np.ones((2, 2))}, None, {}, "at least 3"),
        ({"a": np.ones((4, 2))}, {"a": np.ones((5, 2))}, {}, "same texts"),
        ({"a": np.ones((4, 2))}, {"a": np.ones((4, 3))}, {"method": "pca"}, "no common axes"),
        ({"a": np.ones((4, 2))}, None, {"method": "umap"}, "'tsne' or 'pca'"),
        ({"a": np.ones((4, 2))}, None, {"max_points": 0}, "at least 1"),
        ({"a": np.ones((4, 2)), "b": np.ones((5, 2))}, None, {"center": True}, "center"),
    ],
)
def test_bad_input(before, after, options, message):
    with pytest.raises(ValueError, match=message):
        project(before, after, **options)


def test_models_of_different_widths_have_no_axes_in_common():
    random = np.random.default_rng(0)
    narrow, wide = ({group: random.normal(size=(12, width)) for group in ("a", "b", "neutral")} for width in (4, 7))
    drawn = pictures(narrow, wide)
    assert [[part["method"] for part in drawn[side]] for side in ("before", "after")] == [["tsne"], ["tsne"]]
    assert [part["method"] for part in pictures(narrow)["before"]] == ["tsne", "pca"]
