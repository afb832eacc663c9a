"""Without a model: what to do, and models that are here already."""

from __future__ import annotations

from pathlib import Path

from sssd_chat.config import load_config
from sssd_chat.conversation.catalogue import ModelChoice
from sssd_chat.conversation.services import Services
from sssd_chat.tui.app import ChatApp
from tests.tui.fake_backend import wait_until
from tests.tui.screen import shows, told


class Catalogue:
    """Two models that work and one that does not."""

    def models(self) -> list[ModelChoice]:
        return [
            _model("Qwen3-4B", "/models/qwen.gguf"),
            _model("Smol\x1b[31mLM2", "/models/smol.gguf"),
            _model("Broken", "/models/broken.gguf", "is cut short"),
        ]


def _model(name: str, path: str, problem: str = "") -> ModelChoice:
    return ModelChoice(path, name, "llama 4B", 2_400_000_000, "Q4_K_M", 8192, "", problem, False)


async def test_ways_can_be_copied_and_places_are_named() -> None:
    app = ChatApp(None, "There is no model.", places=("sssd-chat", "LM Studio"))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "There is no model."))
        assert shows(pilot, "Models were looked for in: sssd-chat, LM Studio.")
        await pilot.press("1")
        await wait_until(pilot, lambda: app.clipboard == "pip install 'sssd-chat[starter]'")
        await pilot.press("3")
        await wait_until(pilot, lambda: told(pilot, "Copied: sssd-chat --model FILE.gguf"))
        await pilot.press("enter")
        assert app.is_running, "there is nothing to take"
        await pilot.press("q")
    assert app.return_code == 0 and app.chosen_model == ""


async def test_a_model_of_this_machine_is_taken_for_next_time_too(home: Path) -> None:
    app = ChatApp(None, services=Services(models=Catalogue()))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "Qwen3-4B"))
        assert shows(pilot, "Smol[31mLM2") and not shows(pilot, "Broken")
        await pilot.press("down", "enter")
    assert app.chosen_model == "/models/smol.gguf"
    assert load_config().model.path == "/models/smol.gguf"
