"""Each room stands on what design allows, in a fresh interpreter: no face pulls in from below."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROOMS = {
    "sssd_chat.drafting": ("llama_cpp", "textual", "sssd_chat.llama", "sssd_chat.generation"),
    "sssd_chat.datastore.store": ("llama_cpp", "textual", "sssd_chat.drafting", "sssd_chat.llama"),
    "sssd_chat.documents": ("llama_cpp", "textual", "numpy", "lxml", "pypdf", "sssd_chat.paths"),
    "sssd_chat.llama.target": ("textual", "sssd_chat.drafting", "sssd_chat.generation"),
    "sssd_chat.models.resolve": ("textual", "llama_cpp", "sssd_chat.generation"),
    "sssd_chat.models.pulling": ("textual", "llama_cpp", "huggingface_hub", "httpx2"),
    "sssd_chat.generation.loading": ("textual", "llama_cpp", "sssd_chat.conversation"),
    "sssd_chat.conversation.session": ("textual", "llama_cpp", "sssd_chat.tui", "sssd_chat.cli"),
    "sssd_chat.conversation.engine_thread": ("textual", "numpy", "sssd_chat.tui", "sssd_chat.cli"),
    "sssd_chat.config": ("textual", "numpy", "tomlkit", "sssd_chat.conversation"),
    "sssd_chat.conversation.history": ("textual", "numpy", "sssd_chat.generation"),
    "sssd_chat.conversation.events": ("textual", "numpy", "psutil", "sssd_chat.drafting"),
    "sssd_chat.bench.replay": ("textual", "llama_cpp", "sssd_chat.llama"),
    "sssd_chat.diagnosis.report": ("textual", "llama_cpp", "sssd_chat.conversation"),
    "sssd_chat.integrations.llama_cpp": ("textual", "sssd_chat.conversation", "sssd_chat.cli"),
    "sssd_chat.conversation.batch.run": ("textual", "llama_cpp", "starlette", "sssd_chat.server"),
    "sssd_chat.server.running": ("textual", "llama_cpp", "sssd_chat.cli", "sssd_chat.tui"),
    "sssd_chat.tui.app": ("numpy", "llama_cpp", "sssd_chat.drafting", "sssd_chat.cli"),
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_loads_nothing_from_above_and_nothing_heavy(room: str) -> None:
    code = f"import sys, {room}\nprint([name for name in {ROOMS[room]!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
