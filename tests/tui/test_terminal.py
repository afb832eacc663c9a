"""The real app in a real terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

ROOT = Path(__file__).parents[2]

CHAT = """
import sys
from sssd_chat.tui.app import run_chat
from tests.tui.fake_backend import FakeBackend

class Backend(FakeBackend):
    def send(self, text):
        self.answer(f"You said {text}")

    def close(self):
        print("closed")

sys.exit(run_chat(Backend()))
"""

LEFT = """
import json, sys
from sssd_chat.conversation.events import QuestionKept
from sssd_chat.tui.app import run_chat
from tests.tui.fake_backend import FakeBackend

class Backend(FakeBackend):
    def send(self, text):
        self.put(QuestionKept(1, 0, 1))
        self.read_prompt(60, 60)
        self.stream(f"You said {text}")

    def close(self):
        print("closed", flush=True)
        print("closed", file=sys.stderr)
        with open(sys.argv[1], "w") as file:
            json.dump(self.saved_prompts, file)

sys.exit(run_chat(Backend()))
"""

FAULT = """
import sys
from sssd_chat.tui.app import run_chat
from tests.tui.fake_backend import FakeBackend

class Backend(FakeBackend):
    def events(self):
        raise ValueError("boom")

sys.exit(run_chat(Backend()))
"""


class Terminal:
    """A program in a pseudo-terminal of 100 by 30."""

    def __init__(self, program: str, folder: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLUMNS": "100",
            "LINES": "30",
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(folder),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self.output = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < end, self.output[-2000:]
            self._read()

    def exit_code(self, seconds: float = 20.0) -> int:
        """What the program ends with, while somebody reads what it writes."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self._read()
        self._read()
        return self.process.wait(1)

    def _read(self) -> None:
        if select.select([self._master], [], [], 0.1)[0]:
            try:
                self.output += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError:  # Linux says so when the other side is closed.
                time.sleep(0.05)

    def hang_up(self) -> None:
        """Closes this end. No signal comes: the terminal controls nothing."""
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._master >= 0:
            os.close(self._master)


def test_a_turn_and_quit(tmp_path: Path) -> None:
    terminal = Terminal(CHAT, tmp_path)
    try:
        terminal.wait_for("Fake-135M-Instruct")
        terminal.type("hello\r")
        terminal.wait_for("You said hello")
        terminal.type("\x11")
        assert terminal.exit_code() == 0
        assert terminal.output.rstrip().endswith("closed")
    finally:
        terminal.close()


def test_a_fault_is_one_sentence_and_a_file(tmp_path: Path) -> None:
    terminal = Terminal(FAULT, tmp_path)
    try:
        assert terminal.exit_code() == 1
        left = terminal.output.rpartition("\x1b")[2]
        assert "sssd-chat closed because of a fault of its own: ValueError: boom" in terminal.output
        assert "Traceback" not in terminal.output and "NOTE" not in left
        (log,) = tmp_path.glob("sssd-chat-*.log")
        assert "Traceback" in log.read_text(encoding="utf-8")
    finally:
        terminal.close()


@pytest.mark.parametrize("end", ["closed", "not read", signal.SIGHUP, signal.SIGTERM])
def test_whoever_ends_it_nothing_is_lost(tmp_path: Path, end: str | signal.Signals) -> None:
    left = tmp_path / "left.json"
    terminal = Terminal(LEFT, tmp_path, str(left))
    try:
        terminal.wait_for("Fake-135M-Instruct")
        terminal.type("hello\r")
        terminal.wait_for("You said hello")
        terminal.type("and then")
        terminal.wait_for("then")
        if end == "not read":
            # The panel folds and unfolds until nothing more can be written.
            terminal.type("\x1b[19~" * 40)
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.process.wait(20) == 128 + signal.SIGTERM
        elif isinstance(end, signal.Signals):
            terminal.process.send_signal(end)
            assert terminal.exit_code() == 128 + end
            assert "Traceback" not in terminal.output
            assert "\x1b[?1049l" in terminal.output, "the terminal is given back"
        else:
            terminal.hang_up()
            assert terminal.process.wait(20) == 128 + signal.SIGHUP
        assert json.loads(left.read_text()) == ["and then"]
        assert not list(tmp_path.glob("*.log"))
    finally:
        terminal.close()
