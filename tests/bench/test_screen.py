"""What the screen costs, measured from the other side of a terminal."""

from __future__ import annotations

import sys

import pytest

from sssd_chat.bench.screen import LETTERS, ScreenCost, Terminal, measure_stream
from sssd_chat.errors import UserError

pytest.importorskip("pty", reason="needs a pseudo-terminal")

ECHO = """
import sys, termios, tty
tty.setraw(0)
print("ready", flush=True)
for number in range({letters}):
    sys.stdout.write("some text " + sys.stdin.read(1))
    sys.stdout.flush()
print("the end", flush=True)
sys.stdin.read(1)
"""


def program(letters: int) -> list[str]:
    return [sys.executable, "-c", ECHO.format(letters=letters)]


def test_letters_are_typed_and_timed_until_the_text_ends() -> None:
    terminal = Terminal(program(letters=3))
    try:
        terminal.wait_for("ready")
        terminal.settle()
        cost = measure_stream(terminal, "the end", typing=True)
    finally:
        terminal.close()
    assert len(cost.echo_seconds) == 3
    assert 0 < cost.echo(0.5) <= cost.echo(0.95) <= cost.echo(1.0) < cost.seconds
    assert cost.load >= 0


def test_a_program_that_ends_early_is_told() -> None:
    terminal = Terminal([sys.executable, "-c", "print('gone')"])
    try:
        with pytest.raises(UserError, match="did not come to 'ready'"):
            terminal.wait_for("ready")
    finally:
        terminal.close()


def test_each_letter_is_there_once() -> None:
    assert len(set(LETTERS)) == len(LETTERS)


def test_shares_of_the_letters() -> None:
    cost = ScreenCost([0.04, 0.01, 0.02, 0.03])
    assert (cost.echo(0.5), cost.echo(0.95), cost.echo(1.0)) == (0.03, 0.04, 0.04)
