"""`sssd-chat bench screen`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from sssd_chat.cli.console import print_table
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.bench.screen import ScreenCost

_TOKENS_A_SECOND = 300
_LONG_CHAT = 499
_SHORT_CHAT = 4
"""Turns before the one that is measured."""
_LONGEST_ANSWER_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Speeds:
    """Tokens a second of the same answer with the screen around it and without one."""

    screen: float
    plain: float

    @property
    def ratio(self) -> float:
        """1 where the screen costs nothing."""
        return self.screen / self.plain


def screen(options: argparse.Namespace) -> int:
    """Runs `bench screen` and returns the exit code."""
    _tell("typing while text streams")
    costs = {
        "typing": _stream(_SHORT_CHAT, options.tokens, typing=True),
        f"turn {_SHORT_CHAT + 1}": _stream(_SHORT_CHAT, options.tokens, typing=False),
        f"turn {_LONG_CHAT + 1}": _stream(_LONG_CHAT, options.tokens, typing=False),
    }
    speeds = [_speeds(options, number) for number in range(options.repeats)]
    if options.json:
        print(json.dumps(as_json(costs, speeds)))
    else:
        show(costs, speeds)
    return 0


def _tell(what: str) -> None:
    print(f"sssd-chat: {what}", file=sys.stderr)


def _stream(turns: int, tokens: int, *, typing: bool) -> ScreenCost:
    from sssd_chat.bench.screen import Terminal, measure_stream
    from sssd_chat.cli.scripted_chat import END, READY

    if not typing:
        _tell(f"text streams at turn {turns + 1}")
    words = ("--turns", str(turns), "--tokens", str(tokens), "--rate", str(_TOKENS_A_SECOND))
    terminal = Terminal([sys.executable, "-m", "sssd_chat.cli.scripted_chat", *words])
    try:
        terminal.wait_for(READY)
        terminal.settle()
        terminal.type("go\r")
        return measure_stream(terminal, END, typing=typing)
    finally:
        terminal.close()


def _speeds(options: argparse.Namespace, number: int) -> Speeds:
    """Both, one after the other; which one is first changes."""
    _tell(f"answers of the model, {number + 1} of {options.repeats}")
    order = (True, False) if number % 2 else (False, True)
    found = {on_screen: _speed(options, on_screen) for on_screen in order}
    return Speeds(found[True], found[False])


def _speed(options: argparse.Namespace, on_screen: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        command = [sys.executable, "-m", "sssd_chat.cli.timed_chat", str(result)]
        command += ["--temperature", "0", "--max-tokens", str(options.max_tokens)]
        for name in ("model", "ctx", "threads"):
            value = getattr(options, name)
            command += [f"--{name}", str(value)] if value is not None else []
        if on_screen:
            _answer_on_screen([*command, "--screen"], result)
        else:
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if not result.exists():
            raise UserError("The model that is measured gave no answer; try `sssd-chat ask`.")
        measured = json.loads(result.read_text(encoding="utf-8"))
    if not measured["tokens"]:
        raise UserError("The answer is too short to be measured.")
    return float(measured["tokens"] / measured["seconds"])


def _answer_on_screen(command: list[str], result: Path) -> None:
    from sssd_chat.bench.screen import Terminal
    from sssd_chat.cli.timed_chat import QUESTION

    terminal = Terminal(command)
    try:
        terminal.wait_for("context of")
        terminal.settle()
        terminal.type(QUESTION + "\r")
        end = time.perf_counter() + _LONGEST_ANSWER_SECONDS
        while not result.exists() and terminal.process.poll() is None:
            terminal.read(0.05)
            if time.perf_counter() > end:
                break
    finally:
        terminal.close()


def as_json(costs: dict[str, ScreenCost], speeds: list[Speeds]) -> dict[str, object]:
    """The object of `--json`."""
    typing = costs["typing"]
    return {
        "echo_seconds": typing.echo_seconds,
        "echo_p95": typing.echo(0.95),
        "processor_load": {name: cost.load for name, cost in costs.items()},
        "tokens_per_second": [{"screen": one.screen, "ask": one.plain} for one in speeds],
        "ratio": median(one.ratio for one in speeds) if speeds else None,
    }


def show(costs: dict[str, ScreenCost], speeds: list[Speeds]) -> None:
    """Prints the tables."""
    typing = costs["typing"]
    print(f"{_TOKENS_A_SECOND} tokens/s; {len(typing.echo_seconds)} letters typed meanwhile")
    shares = (("half of them", 0.5), ("95 %", 0.95), ("all", 1.0))
    print_table(
        ["on the screen within", ""],
        [[words, f"{1000 * typing.echo(share):.0f} ms"] for words, share in shares],
    )
    print()
    print_table(
        ["processor time", "of a second"],
        [[name, f"{1000 * cost.load:.0f} ms"] for name, cost in costs.items()],
    )
    if speeds:
        print()
        print_table(
            ["tokens/s", "chat", "ask", "chat / ask"],
            [
                [f"{n}", f"{one.screen:.1f}", f"{one.plain:.1f}", f"{one.ratio:.3f}"]
                for n, one in enumerate(speeds, 1)
            ],
        )
        print(f"median: {median(one.ratio for one in speeds):.3f}")
