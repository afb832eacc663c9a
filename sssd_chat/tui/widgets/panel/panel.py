"""The panel: its sections from top to bottom, and who of them gets how many lines."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from sssd_chat.tui.chat_state import ChatState
from sssd_chat.tui.widgets.panel.context import ContextSection
from sssd_chat.tui.widgets.panel.cost import CostSection
from sssd_chat.tui.widgets.panel.drafts import DraftsSection
from sssd_chat.tui.widgets.panel.layout import Wish, plan
from sssd_chat.tui.widgets.panel.lifetime import LifetimeSection
from sssd_chat.tui.widgets.panel.model import ModelSection
from sssd_chat.tui.widgets.panel.section import Section
from sssd_chat.tui.widgets.panel.sources import SourcesSection
from sssd_chat.tui.widgets.panel.speed import SpeedSection
from sssd_chat.tui.widgets.panel.time import TimeSection

_KINDS: tuple[type[Section], ...] = (
    SpeedSection,
    DraftsSection,
    SourcesSection,
    CostSection,
    TimeSection,
    ContextSection,
    LifetimeSection,
    ModelSection,
)
_TITLE = 1
_CALM_FROM = 29
"""From so many lines on there is an empty line between sections."""
_AIRY_FROM = 44
"""From so many lines on there is one above the first section too."""


class LivePanel(Vertical, can_focus=False):
    """Speed, drafts, sources, cost, time, context, lifetime and model."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._sections = [kind(state) for kind in _KINDS]
        self._planned: tuple[int, list[Wish]] = (0, [])

    def compose(self) -> ComposeResult:
        """The sections from top to bottom."""
        yield from self._sections

    def on_resize(self) -> None:
        """Shares the lines out anew."""
        self.show()

    def show(self) -> None:
        """Draws the state as it is now; nothing moves unless the terminal or the number of sources
        changed."""
        room = self.content_size.height
        if not room:
            return
        is_calm = room >= _CALM_FROM
        wishes = [Wish(section.RANK, section.heights(is_calm)) for section in self._sections]
        if (room, wishes) != self._planned:
            self._planned = (room, wishes)
            self._share_out(wishes, room)
        for section in self._sections:
            section.show()

    def _share_out(self, wishes: list[Wish], room: int) -> None:
        is_calm, is_airy = room >= _CALM_FROM, room >= _AIRY_FROM
        self.set_class(is_calm, "-calm")
        self.set_class(is_airy, "-airy")
        above_first = 1 if is_calm and not is_airy else 0
        heights = plan(wishes, room + above_first, _TITLE + is_calm)
        for section, height in zip(self._sections, heights, strict=True):
            section.give(height)
