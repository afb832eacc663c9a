"""The cost table of a replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sssd_chat.bench.cost import cost_table
from sssd_chat.errors import UserError


def test_flat_is_the_published_line() -> None:
    assert cost_table("flat", 3) == pytest.approx([1.0, 1.004, 1.008, 1.012])


def test_sizes_between_are_interpolated_and_larger_ones_extrapolated(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_text(json.dumps({"1": 10, "3": 20, "4": 18, "8": 30}))
    assert cost_table(str(path), 10)[1:] == pytest.approx([10, 15, 20, 18, 21, 24, 27, 30, 33, 36])
    assert cost_table(str(path), 2)[1:] == pytest.approx([10, 15])


def test_extrapolated_costs_never_fall(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_text(json.dumps({"1": 10, "3": 30, "4": 20}))
    assert cost_table(str(path), 40)[4:] == pytest.approx([20] * 37)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[1]", "object"),
        ('{"1": 1, "x": 2}', "'x'"),
        ('{"1": 1, "0": 2}', "'0'"),
        ('{"1": 1, "2": -2}', "-2"),
        ('{"1": 1, "2": true}', "True"),
        ('{"1": 1}', "one more"),
        ('{"2": 1, "3": 1}', "batch size 1"),
    ],
)
def test_a_broken_table_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        cost_table(str(path), 4)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json"):
        cost_table(str(tmp_path / "none.json"), 4)
