"""The keys that count now, in one line; a click is a key press."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.binding import ActiveBinding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from sssd_chat.tui.actions import ALL_ACTIONS, Group
from sssd_chat.tui.keymap import shown_key

_GAP = "  "
_PLACES = {
    # What can be done with a selected message matters most while there is one.
    action.name: (action.group is not Group.MESSAGE, place)
    for place, action in enumerate(ALL_ACTIONS)
}
_ELSEWHERE = (True, len(_PLACES))


@dataclass(frozen=True, slots=True)
class _Key:
    action: str
    key: str
    label: str
    is_enabled: bool

    @classmethod
    def of(cls, active: ActiveBinding) -> _Key:
        """That of a binding."""
        binding = active.binding
        return cls(binding.action, binding.key, binding.description, active.enabled)

    @property
    def width(self) -> int:
        """In columns."""
        return len(self.shown) + 1 + len(self.label)

    @property
    def shown(self) -> str:
        """As short as can be."""
        return shown_key(self.key).replace("ctrl+", "^")


def _width(keys: Sequence[_Key]) -> int:
    """Of all of them, in columns."""
    return sum(key.width for key in keys) + len(_GAP) * max(0, len(keys) - 1)


def _place(active: ActiveBinding) -> tuple[bool, int]:
    return _PLACES.get(active.binding.action, _ELSEWHERE)


class KeyFooter(Widget):
    """As many keys as there is room for, the most important ones first."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter {
        dock: bottom;
        height: 1;
        padding: 0 2;
        color: $muted;
        background: $background;
    }
    """

    def on_mount(self) -> None:
        """Follows what applies on the screen."""
        self.screen.bindings_updated_signal.subscribe(self, self._draw_again)

    def on_unmount(self) -> None:
        """Follows nothing any more."""
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _draw_again(self, screen: Screen[object]) -> None:
        if screen is self.screen:
            self.refresh()

    def _keys(self) -> list[_Key]:
        """The keys that are shown, each action once; where they do not fit, that of the help stays,
        which names the others."""
        shown = (active for active in self.screen.active_bindings.values() if active.binding.show)
        # Textual's order is that of the focused widget's keys, which a user knows nothing of.
        actives: dict[str, ActiveBinding] = {}
        for active in sorted(shown, key=_place):
            actives.setdefault(active.binding.action, active)
        keys = [_Key.of(active) for active in actives.values()]
        while len(keys) > 1 and _width(keys) > self.content_size.width:
            keys.pop(-1 if keys[-1].action != "help" else -2)
        return keys

    def render(self) -> Content:
        """The line."""
        parts: list[Content] = []
        for key in self._keys():
            style = "$accent" if key.is_enabled else "$muted dim"
            text = "$muted" if key.is_enabled else "$muted dim"
            parts.append(Content.assemble((key.shown, style), (f" {key.label}", text)))
        return Content(_GAP).join(parts)

    def on_click(self, event: events.Click) -> None:
        """Presses the key that was clicked."""
        place = event.get_content_offset(self)
        keys = self._keys()
        for number, key in enumerate(keys):
            start = _width(keys[:number]) + (len(_GAP) if number else 0)
            if place is not None and start <= place.x < start + key.width:
                self.app.simulate_key(key.key)
