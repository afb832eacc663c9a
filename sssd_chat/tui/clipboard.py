"""The clipboard of the desktop, for terminals that ignore the escape sequence for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def _command() -> list[str] | None:
    """The program of this desktop that fills its clipboard from standard input."""
    candidates: list[list[str]] = []
    if sys.platform == "darwin":
        candidates.append(["pbcopy"])
    elif sys.platform == "win32":
        candidates.append(["clip"])
    else:
        if os.environ.get("WAYLAND_DISPLAY"):
            candidates.append(["wl-copy"])
        if os.environ.get("DISPLAY"):
            candidates.append(["xclip", "-selection", "clipboard"])
            candidates.append(["xsel", "--clipboard", "--input"])
        if os.environ.get("WSL_DISTRO_NAME"):
            candidates.append(["clip.exe"])
    return next((command for command in candidates if shutil.which(command[0])), None)


def copy_to_desktop(text: str) -> bool:
    """Puts `text` on the clipboard of the desktop; whether that was possible. Blocks for two
    seconds at most, so it belongs into a thread."""
    command = _command()
    if command is None:
        return False
    # Windows' clip reads the system's code page unless a byte-order mark says otherwise.
    encoding = "utf-16" if command[0].startswith("clip") else "utf-8"
    try:
        done = subprocess.run(
            command,
            input=text.encode(encoding, "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
