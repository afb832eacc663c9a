"""Choosing a model."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from sssd_chat.conversation.catalogue import ModelChoice
from sssd_chat.conversation.events import ModelFailed, ModelLoading, ModelReady, Notice
from sssd_chat.conversation.services import Services
from sssd_chat.errors import UserError
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chat import ChatScreen
from sssd_chat.tui.screens.models import ModelsScreen
from tests.tui.fake_backend import MODEL, FakeBackend, wait_until
from tests.tui.screen import lines, shows

OpenList = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def choice(name: str, path: str = "", **more: object) -> ModelChoice:
    plain = ModelChoice(
        path or f"/models/{name}.gguf",
        name,
        "llama 135M",
        98_000_000,
        "Q4_1",
        8192,
        "drafts gain less",
        "",
        False,
        "apache-2.0",
    )
    return dataclasses.replace(plain, **more)  # type: ignore[arg-type]


MODELS = [
    choice("Fake-135M-Instruct", MODEL.path, in_use=True),
    choice(
        "Qwen2.5-Coder-1.5B",
        description="qwen2 1.5B",
        bytes=1_100_000_000,
        quantization="Q4_K_M",
        context=32768,
        batches_well="drafts gain much",
        licence="",
    ),
    choice("broken", description="", bytes=12, problem="broken.gguf is cut short: [/x]."),
    choice("Zephyr", context=0, quantization="", batches_well=""),
]


class Catalogue:
    """Implements ModelCatalogue."""

    def __init__(self, models: list[ModelChoice]) -> None:
        self.found = models
        self.problem = ""

    def models(self) -> list[ModelChoice]:
        if self.problem:
            raise UserError(self.problem)
        return list(self.found)


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(MODELS)


@pytest.fixture
def open_list(backend: FakeBackend, catalogue: Catalogue) -> OpenList:
    """Opens the list; `async with open_list() as pilot`."""

    @asynccontextmanager
    async def opener(size: tuple[int, int] = (90, 24)) -> AsyncIterator[Pilot[None]]:
        app = ChatApp(backend, services=Services(models=catalogue))
        async with app.run_test(size=size, notifications=True) as pilot:
            await wait_until(pilot, lambda: backend.started and backend.idle)
            await pilot.press("f2")
            await wait_until(pilot, lambda: isinstance(pilot.app.screen, ModelsScreen))
            await wait_until(pilot, lambda: not shows(pilot, "looking"))
            yield pilot

    return opener


def telling(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#telling", Static).render())


async def test_models_are_listed_with_what_matters(open_list: OpenList) -> None:
    async with open_list() as pilot:
        assert shows(pilot, "3 models")
        (marked,) = [line for line in lines(pilot) if "●" in line]
        assert "Fake-135M-Instruct" in marked and "98.0 MB" in marked and "▌" in marked
        assert shows(pilot, "qwen2 1.5B · Q4_K_M · 32,768 tokens · drafts gain much · no licence")
        assert shows(pilot, "llama 135M · apache-2.0"), "what is not known is not shown"
        assert shows(pilot, "Cannot be used") and shows(pilot, "broken.gguf is cut short: [/x].")


async def test_a_model_is_loaded_and_the_chat_goes_on_with_it(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: backend.loaded_models == [MODELS[1].path])
        backend.put(ModelLoading(0.5))
        await wait_until(pilot, lambda: shows(pilot, "loading Qwen2.5-Coder-1.5B"))
        await wait_until(pilot, lambda: shows(pilot, "50 %"))
        await pilot.press("enter")
        assert len(backend.loaded_models) == 1, "one at a time"
        backend.put(ModelReady(dataclasses.replace(MODEL, name="Qwen", path=MODELS[1].path)))
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


@pytest.mark.parametrize("has_other", [False, True])
async def test_a_failure_stays_on_the_screen(
    open_list: OpenList, backend: FakeBackend, has_other: bool
) -> None:
    async with open_list() as pilot:
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: backend.loaded_models)
        problem = "It needs 9 GB of memory [/x]."
        if has_other:
            backend.put(Notice(problem, "error"), ModelReady(MODEL))
        else:
            backend.put(ModelFailed(problem))
        await wait_until(pilot, lambda: problem in telling(pilot))
        assert isinstance(pilot.app.screen, ModelsScreen)
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: len(backend.loaded_models) == 2)


async def test_the_model_in_use_is_not_loaded_again(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    assert backend.loaded_models == []


async def test_what_cannot_be_used_cannot_be_chosen(
    open_list: OpenList, backend: FakeBackend
) -> None:
    async with open_list() as pilot:
        await pilot.press("ctrl+end")
        screen = pilot.app.screen
        assert isinstance(screen, ModelsScreen) and screen.rows.key == MODELS[3].path
        line = next(n for n, text in enumerate(lines(pilot)) if "✖" in text)
        await pilot.click(offset=(10, line))
        await pilot.click(offset=(10, line))
        assert screen.rows.key == MODELS[3].path and backend.loaded_models == []


async def test_typing_narrows_down(open_list: OpenList) -> None:
    async with open_list() as pilot:
        await pilot.press(*"q4_k CODER")
        await wait_until(pilot, lambda: shows(pilot, "1 model"))
        assert not shows(pilot, "Zephyr")
        await pilot.press(*"x")
        await wait_until(pilot, lambda: shows(pilot, "No model has all of these words"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: shows(pilot, "3 models"))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


async def test_few_models_come_with_how_to_get_more(
    open_list: OpenList, catalogue: Catalogue
) -> None:
    catalogue.found = []
    async with open_list() as pilot:
        assert shows(pilot, "There is no model yet.") and shows(pilot, "sssd-chat models pull")
        catalogue.found = MODELS[:1]
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: shows(pilot, "1 model"))
        assert "sssd-chat models pull OWNER/NAME fetches more." in telling(pilot)
        catalogue.problem = "The folder of models cannot be read."
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: catalogue.problem in telling(pilot))


async def test_a_model_can_be_named_in_the_prompt(
    backend: FakeBackend, catalogue: Catalogue
) -> None:
    app = ChatApp(backend, services=Services(models=catalogue))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press(*"/model zephyr", "enter")
        await wait_until(pilot, lambda: backend.loaded_models == [MODELS[3].path])
        backend.put(ModelReady(MODEL))
        await pilot.press(*"/model qwen", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelsScreen))
        await wait_until(pilot, lambda: shows(pilot, "1 model") and shows(pilot, "Qwen2.5"))


async def test_without_a_catalogue_there_is_nothing_to_choose(backend: FakeBackend) -> None:
    async with ChatApp(backend, services=Services()).run_test() as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        await pilot.press("f2")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChatScreen)
