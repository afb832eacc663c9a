"""What commands share in talking to a person."""

from __future__ import annotations

import pytest

from sssd_chat.cli.console import duration, print_table
from sssd_chat.text import columns


def test_a_table_is_straight_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["plain", "日本語の文書", "cafe\u0301", "한국어"]
    print_table(["name", "size"], [[name, "1,000 kB"] for name in names])
    lines = capsys.readouterr().out.splitlines()
    assert len({columns(line) for line in lines}) == 1
    assert columns("日本") == 4 and columns("e\u0301") == 1


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0.0 s"), (-0.04, "0.0 s"), (-3.0, "-3.0 s"), (119.9, "119.9 s"), (600.0, "10 min")],
)
def test_a_duration(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
