"""The panel beside the chat, and the line that it folds into."""

from __future__ import annotations

import itertools

import pytest

from sssd_chat.conversation.events import Drafting, Lifetime, LifetimeChanged
from sssd_chat.tui.widgets.panel import LivePanel
from sssd_chat.tui.widgets.panel.section import Section
from tests.tui.conftest import OpenChat
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import ask, ask_and_answer, lines, prompt, shows


async def test_panel_shows_what_is_unknown_as_a_dash(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(120, 40)) as pilot:
        await ask(pilot, backend)
        backend.step("x", emitted=1, draft_size=0)
        await wait_until(pilot, lambda: shows(pilot, "▶ writing"))
        for name in ("acceptance rate", "time saved", "its time, against one"):
            line = next(line for line in lines(pilot) if name in line)
            assert line.rstrip().endswith("–"), line
        assert shows(pilot, "–     plain decoding")


async def test_panel_names_sources_and_reasons(open_chat: OpenChat, backend: FakeBackend) -> None:
    async with open_chat(size=(120, 40)) as pilot:
        await ask(pilot, backend)
        backend.read_prompt(512, 1024, 256)
        await wait_until(pilot, lambda: shows(pilot, "512 of 1,024"))
        backend.stream("word " * 40)
        for name in ("conversation", "runner-ups", "datastore"):
            await wait_until(pilot, lambda name=name: shows(pilot, name))  # type: ignore[misc]
        for _ in range(8):
            backend.step("x ", 1, 0, Drafting.OFF_BY_COST)
        await wait_until(pilot, lambda: shows(pilot, "cost more than they save"))


async def test_narrow_terminals_have_the_numbers_in_one_line(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(120, 30)) as pilot:
        await ask_and_answer(pilot, backend, "first", "word " * 40)
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: not shows(pilot, "acceptance rate"))
        line = next(line for line in lines(pilot) if "ready" in line)
        assert " 46.1 tok/s" in line
        for unit in ("plain", "/step", "acc", "draft", "ctx"):
            assert unit in line
        await pilot.resize_terminal(120, 30)
        await wait_until(pilot, lambda: shows(pilot, "acceptance rate"))


async def test_the_panel_folds_and_unfolds_by_key(
    open_chat: OpenChat, backend: FakeBackend
) -> None:
    async with open_chat(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: shows(pilot, "acceptance rate"))
        await pilot.press("f8")
        await wait_until(pilot, lambda: not shows(pilot, "acceptance rate"))
        assert shows(pilot, "tok/s")
        await pilot.press("f8")
        await wait_until(
            pilot, lambda: shows(pilot, "acceptance rate") and not shows(pilot, "tok/s")
        )
        await pilot.press("f8")
        await pilot.resize_terminal(80, 24)
        await pilot.press("f8")
        await wait_until(pilot, lambda: shows(pilot, "acceptance rate"))
        await pilot.resize_terminal(60, 24)
        await wait_until(pilot, lambda: not shows(pilot, "acceptance rate"))
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: shows(pilot, "acceptance rate"))


@pytest.mark.parametrize("height", [24, 30, 32, 40, 60])
async def test_sections_stand_apart_where_there_is_room(
    open_chat: OpenChat, backend: FakeBackend, height: int
) -> None:
    async with open_chat(size=(120, height)) as pilot:
        await ask_and_answer(pilot, backend, "first", "word " * 40)
        panel = pilot.app.screen.query_one(LivePanel)
        shown = [section for section in panel.query(Section) if section.display]
        gaps = {below.region.y - above.region.bottom for above, below in itertools.pairwise(shown)}
        assert gaps == {0 if height < 30 else 1}
        assert shown[-1].region.bottom <= panel.region.bottom
        assert len(shown) >= (6 if height < 30 else 7)


@pytest.mark.parametrize("way_out", ["f8", "escape", "q"])
@pytest.mark.parametrize("size", [(40, 12), (71, 40)])
async def test_without_room_beside_the_chat_the_panel_opens_over_it(
    open_chat: OpenChat, backend: FakeBackend, size: tuple[int, int], way_out: str
) -> None:
    async with open_chat(size=size) as pilot:
        prompt(pilot).insert_paste("a draft")
        chat = pilot.app.screen
        await pilot.press("f8")
        await wait_until(pilot, lambda: shows(pilot, "tokens/s"))
        panel = pilot.app.screen.query_one(LivePanel)
        assert all(section.display for section in panel.query(Section)), "all of it"
        backend.put(LifetimeChanged(Lifetime(1_234_567, 60.0)))
        await pilot.press("end")
        await wait_until(pilot, lambda: shows(pilot, "1,234,567"))
        await pilot.press(way_out)
        await wait_until(pilot, lambda: pilot.app.screen is chat)
        assert prompt(pilot).text == "a draft"
