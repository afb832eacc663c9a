"""Whatever a chat, a file or a model is called: the lists show nothing but text, and what stands
below each other stays below each other."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from datetime import date

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot

from sssd_chat.conversation.catalogue import ModelChoice
from sssd_chat.conversation.chat_library import ChatEntry, ChatLibrary, Deletion, by_day
from sssd_chat.conversation.datastore_library import CollectionEntry, DocumentEntry
from sssd_chat.conversation.services import Services
from sssd_chat.tui.app import ChatApp
from sssd_chat.tui.screens.chats import ChatsScreen
from sssd_chat.tui.screens.chats_rows import chat_rows
from sssd_chat.tui.screens.confirm import ConfirmScreen
from sssd_chat.tui.screens.datastore import DatastoreScreen
from sssd_chat.tui.screens.documents import DocumentsScreen
from sssd_chat.tui.screens.models import ModelsScreen
from sssd_chat.tui.screens.models_rows import model_rows
from sssd_chat.tui.widgets.row_list import RowList
from tests.tui.fake_backend import FakeBackend, wait_until
from tests.tui.screen import lines, shows
from tests.tui.test_datastore import Library as Datastore
from tests.tui.test_display import BIDI, NASTY, PIECES
from tests.tui.test_models import Catalogue, choice

SIZES = ((80, 90), (120, 90))
NOON = 1_764_460_800.0
MATCHES = ((0, 2), (3, 40))


class Chats(ChatLibrary):
    """Chats in memory, with these titles; a search finds them all."""

    def __init__(self, titles: Sequence[str]) -> None:
        super().__init__()
        self.titles = titles

    def list(self, limit: int | None = None) -> list[ChatEntry]:
        return [ChatEntry(n, title, NOON, 7) for n, title in enumerate(self.titles)]

    def search(self, query: str, limit: int = 50) -> list[ChatEntry]:
        return [
            ChatEntry(n, title, NOON, 7, title if n % 2 else title * 30, MATCHES)
            for n, title in enumerate(self.titles)
        ]

    def delete(self, chats: Sequence[int]) -> Deletion:
        return Deletion(tuple(chats), lambda _: None, lambda _: None)


def services(names: Sequence[str]) -> Services:
    """Chats, collections, documents and models of these names."""
    datastore = Datastore()
    datastore.entries = [
        CollectionEntry(name, 12, 3400, 56_000, 900, 64.0, "imported") for name in names
    ]
    datastore.found = [
        DocumentEntry(name, names[-n] if n % 2 else "") for n, name in enumerate(names)
    ]
    return Services(Chats(names), datastore, Catalogue(list(models(names))))


def models(names: Sequence[str]) -> list[ModelChoice]:
    good = [
        choice(name, f"{n}", bytes=98_000_000, licence=names[-n], description=name)
        for n, name in enumerate(names)
    ]
    bad = [
        choice(name, f"bad {n}", bytes=98_000_000, problem=f"{name * 9} is cut short.")
        for n, name in enumerate(names)
    ]
    return good + bad


def check(pilot: Pilot[None], where: str) -> None:
    """Looks at every cell that is drawn."""
    width = pilot.app.size.width
    for strip in pilot.app.screen._compositor.render_strips():
        text = strip.text
        kinds = {unicodedata.category(character) for character in text}
        assert not kinds & {"Cc", "Cs", "Zl", "Zp"}, (where, text)
        assert not set(text) & set(BIDI[2:]), (where, text)
        assert strip.cell_length == cell_len(text) == width, (where, text)
        assert not any(segment.control for segment in strip)


def check_columns(pilot: Pilot[None], where: str, number: str, at_least: int) -> None:
    """Looks whether a text that is in many rows ends in the same column of each of them."""
    found = [line for line in lines(pilot) if number in line]
    assert len(found) >= at_least, (where, len(found))
    ends = {cell_len(line[: line.rindex(number) + len(number)]) for line in found}
    assert len(ends) == 1, (where, ends)


async def look(pilot: Pilot[None], where: str, number: str = "", at_least: int = 1) -> None:
    """Looks at the screen in both widths."""
    for size in SIZES if pilot.app.size.width == SIZES[0][0] else SIZES[::-1]:
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)
        await pilot.pause()
        check(pilot, f"{where} {size}")
        if number:
            assert shows(pilot, "[bold]"), where
            check_columns(pilot, f"{where} {size}", number, at_least)


async def open_list(pilot: Pilot[None], key: str, kind: type) -> None:
    await pilot.press(key)
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, kind))
    await wait_until(pilot, lambda: pilot.app.screen.query_one(RowList).key is not None)
    await pilot.pause()


async def show(names: Sequence[str]) -> None:
    backend = FakeBackend()
    app = ChatApp(backend, services=services(names))
    async with app.run_test(size=SIZES[0], notifications=True) as pilot:
        await wait_until(pilot, lambda: backend.started and backend.idle)
        many = len(names)
        await open_list(pilot, "ctrl+o", ChatsScreen)
        await look(pilot, "chats", "7 turns", many)
        await pilot.press("ctrl+r")
        await look(pilot, "a chat that is renamed")
        await pilot.press("escape", "ctrl+d", *"word")
        await wait_until(pilot, lambda: "found in" in "".join(lines(pilot)))
        await look(pilot, "chats that were found", "7 turns", 40)
        await pilot.press("escape", "escape")
        await open_list(pilot, "f2", ModelsScreen)
        # The models are more than a screen has lines for.
        await look(pilot, "models", " MB", 20)
        await pilot.press("ctrl+end")
        await look(pilot, "models that cannot be used", " MB", 20)
        await pilot.press("escape")
        await open_list(pilot, "f4", DatastoreScreen)
        await look(pilot, "collections", "3.4k", many)
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await look(pilot, "a question about a collection")
        await pilot.press("y")
        await wait_until(pilot, lambda: "is forgotten" in "".join(lines(pilot)))
        await look(pilot, "a collection that is forgotten")
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, DocumentsScreen))
        await wait_until(pilot, lambda: app.screen.query_one(RowList).key is not None)
        await look(pilot, "documents")


@given(st.text(alphabet="ab 日本", min_size=1, max_size=200), st.integers(20, 110))
def test_all_of_a_problem_is_shown_where_it_fits(problem: str, width: int) -> None:
    row = model_rows([choice("name", problem=f"x{problem}.")], "", "")[-1]
    drawn = [line.plain for line in row.draw(width)]
    assert all(cell_len(line) <= width for line in drawn) and len(drawn) <= row.lines
    words = "".join(drawn[1:]).replace(" ", "")
    assert words == f"x{problem}.".replace(" ", "") or words.endswith("…")
    assert cell_len(problem) > width - 12 or "…" not in words


def test_matches_are_marked_in_what_is_left_of_the_text() -> None:
    entry = ChatEntry(1, "t", NOON, 7, "a\u200d\x1b[b]\tword c", ((7, 11),))
    (row,) = [row for row in chat_rows(by_day([entry], NOON), None, date(2025, 11, 30)) if row.key]
    excerpt = row.draw(70)[1]
    (marked,) = [span for span in excerpt.spans if "bold" in str(span.style)]
    assert excerpt.plain.strip() == "a[b] word c"
    assert excerpt.plain[marked.start : marked.end] == "word"


@settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    # Each run is a whole app: to make a failing text shorter would take minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(NASTY, min_size=12, max_size=12, unique=True))
def test_rows_are_text_and_stay_below_each_other(names: list[str]) -> None:
    asyncio.run(show([*dict.fromkeys([*PIECES, *names])]))
