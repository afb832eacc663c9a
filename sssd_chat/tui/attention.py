"""Telling a user who looks elsewhere that an answer is finished. No widgets."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from sssd_chat.text import one_line

_TITLE = "sssd-chat"
_TEXT = "The answer is finished."
"""Nothing of the chat: a desktop shows it to whoever stands beside."""
_OSC_9_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_OSC_777_TERMS = ("rxvt", "foot")
_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Sign:
    """How this terminal or desktop is told: one of the two."""

    sequence: str = ""
    """What to write to the terminal."""
    command: tuple[str, ...] = ()
    """The program to run."""


def sign_for(environment: Mapping[str, str]) -> Sign:
    """The way to tell the desktop; neither sequence nor command where none is known.

    A terminal that knows a sequence gets it, also from another machine; a program of this machine's
    desktop is of use only when the user sits in front of it."""
    sequence = _sequence(environment)
    if sequence:
        return Sign(sequence=_through_tmux(sequence) if "TMUX" in environment else sequence)
    if "SSH_CONNECTION" in environment:
        return Sign()
    return Sign(command=_command(environment))


def _sequence(environment: Mapping[str, str]) -> str:
    term = environment.get("TERM", "")
    if environment.get("TERM_PROGRAM") in _OSC_9_PROGRAMS:
        return f"\x1b]9;{_TITLE}: {_TEXT}\x07"
    if "KITTY_WINDOW_ID" in environment:
        return f"\x1b]99;;{_TITLE}: {_TEXT}\x1b\\"
    if term.startswith(_OSC_777_TERMS):
        return f"\x1b]777;notify;{_TITLE};{_TEXT}\x07"
    return ""


def _through_tmux(sequence: str) -> str:
    """The sequence as tmux hands it on to the terminal around it, where that is allowed."""
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def _command(environment: Mapping[str, str]) -> tuple[str, ...]:
    if sys.platform == "darwin":
        script = f'display notification "{_TEXT}" with title "{_TITLE}"'
        return ("osascript", "-e", script)
    has_desktop = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if has_desktop and shutil.which("notify-send"):
        return ("notify-send", "--app-name", _TITLE, _TITLE, _TEXT)
    return ()


KEEP_TITLE = "\x1b[22;2t"
RESTORE_TITLE = "\x1b[23;2t"
"""The terminal's title before the program, put aside and taken back."""


def title_sequence(title: str) -> str:
    """What names a terminal."""
    return f"\x1b]2;{one_line(title)}\x07"


def run_command(command: tuple[str, ...]) -> None:
    """Runs the program of the desktop; that it fails is no news to anyone. Blocks for two seconds
    at most, so it belongs into a thread."""
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return
