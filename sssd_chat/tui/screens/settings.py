"""All settings: what each is for, what it is and where that comes from, and a way to change it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from sssd_chat import paths
from sssd_chat.config import load_config, put_setting
from sssd_chat.config.settings import Setting, all_settings
from sssd_chat.errors import UserError, reason
from sssd_chat.text import for_display, one_line
from sssd_chat.tui.actions import SETTINGS_ACTIONS
from sssd_chat.tui.messages import SettingsChanged
from sssd_chat.tui.screens.action_screen import ActionScreen
from sssd_chat.tui.setting_values import few_values, from_typed, matches, shown_value, typed_form
from sssd_chat.tui.widgets.key_footer import KeyFooter
from sssd_chat.tui.widgets.row_list import Row, RowList

_HEIGHTS = [(0, "-low"), (20, "-high")]
_NAME = 24
_SOURCE = 9
"""Columns."""


class SettingsScreen(ActionScreen[None]):
    """The settings file, one row a setting."""

    CSS_PATH = "settings.tcss"
    AUTO_FOCUS = "#typed"
    ACTIONS = SETTINGS_ACTIONS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(self) -> None:
        super().__init__()
        self._file: Path = paths.config_file()
        self._config = load_config()
        self._settings = {setting.key: setting for setting in all_settings()}
        self._problems: dict[str, str] = {}
        self._edited: Setting | None = None

    def compose(self) -> ComposeResult:
        """A field to look for a setting, the settings, what the one under the cursor is for, and a
        field to change it."""
        with Vertical(id="box"):
            with Horizontal(id="head"):
                yield Static("Settings", id="headline", markup=False)
                yield Static(one_line(_short(self._file)), id="file", markup=False)
            yield Input(placeholder="Find a setting", id="typed", compact=True)
            yield RowList(id="rows")
            yield Static(id="about", markup=False)
            yield Input(id="value", compact=True)
        yield KeyFooter()

    def on_mount(self) -> None:
        """Shows what is set."""
        self.query_one("#value").display = False
        self._show()

    @property
    def _rows(self) -> RowList:
        return self.query_one(RowList)

    @property
    def _current(self) -> Setting | None:
        return self._settings.get(str(self._rows.key))

    # Showing

    def _show(self) -> None:
        words = self.query_one("#typed", Input).value
        rows: list[Row] = []
        section = ""
        for key, setting in self._settings.items():
            if not matches(setting, words):
                continue
            if setting.section != section:
                section = setting.section
                rows.append(Row(None, 1 + bool(rows), partial(_headline, section, bool(rows))))
            lines = 2 if key in self._problems else 1
            rows.append(Row(key, lines, partial(self._lines, setting)))
        self._rows.show_rows(rows)
        self._tell_about()

    def _lines(self, setting: Setting, width: int) -> list[Content]:
        """The row of a setting, and what is wrong with what was typed for it."""
        is_given = setting.key in self._config.given
        value = shown_value(setting.of(self._config))
        room = max(1, width - _NAME - _SOURCE - 2)
        shown = value if len(value) <= room else value[: room - 1] + "…"
        line = Content.assemble(
            f"{setting.name:<{_NAME}}",
            (f"{shown:<{room}}", "bold" if is_given else ""),
            ("  " + ("file" if is_given else "default"), "$accent" if is_given else "$muted"),
        )
        problem = self._problems.get(setting.key, "")
        return [line, Content.styled(f"  ✖ {problem}", "$text-error")] if problem else [line]

    @on(RowList.Moved)
    def _tell_about(self) -> None:
        """What the setting under the cursor is for."""
        setting = self._current
        text = Content()
        if setting is not None:
            when = "counts at once" if setting.at_once else "counts from the next start on"
            text = Content.assemble(
                (setting.key, "bold"),
                f"  {setting.purpose}\n",
                (f"{setting.expected} · {when}", "$muted"),
            )
        self.query_one("#about", Static).update(text)
        self.refresh_bindings()

    @on(Input.Changed, "#typed")
    def _narrow(self) -> None:
        self._show()

    # Changing

    @on(RowList.Chosen)
    def action_change_setting(self) -> None:
        """Goes to the next value, opens the field, or keeps what stands in it."""
        if self._edited is not None:
            self._keep_typed(self._edited)
        elif self._values():
            self.action_next_value()
        elif self._current is not None:
            self._edit(self._current)

    def _values(self) -> Sequence[Any]:
        """The values of a setting that has few."""
        themes = (name for name in self.app.available_themes if not name.startswith("sssd-"))
        return few_values(self._current, themes) if self._current is not None else ()

    def action_next_value(self) -> None:
        """Goes to the next of few values."""
        self._step(1)

    def action_previous_value(self) -> None:
        """Goes to the value before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        values, setting = self._values(), self._current
        if setting is None or not values:
            return
        now = setting.of(self._config)
        place = values.index(now) if now in values else -1
        self._put(setting, values[(place + step) % len(values)])

    def action_default_setting(self) -> None:
        """Takes the setting out of the file."""
        if self._current is not None:
            self._close_field()
            self._put(self._current, None)

    def _edit(self, setting: Setting) -> None:
        self._edited = setting
        field = self.query_one("#value", Input)
        field.display = True
        field.placeholder = setting.expected
        field.value = typed_form(setting.of(self._config))
        field.focus()
        self.refresh_bindings()

    def _keep_typed(self, setting: Setting) -> None:
        try:
            value = from_typed(setting, self.query_one("#value", Input).value)
        except ValueError as error:
            self._problems[setting.key] = str(error)
            self._show()
            return
        self._close_field()
        self._put(setting, value)

    def _close_field(self) -> None:
        if self._edited is not None:
            self._problems.pop(self._edited.key, None)
            self._edited = None
        self.query_one("#value").display = False
        self.query_one("#typed").focus()

    def _put(self, setting: Setting, value: Any) -> None:
        """Writes a value; None takes the setting out of the file."""
        self._problems.pop(setting.key, None)
        try:
            put_setting(self._file, setting, value)
        except UserError as error:
            self._problems[setting.key] = for_display(str(error))
        except OSError as error:
            self._problems[setting.key] = f"the file cannot be written: {reason(error, self._file)}"
        self._config = load_config()
        self.post_message(SettingsChanged(self._config))
        self._show()

    # Moving

    def action_setting_up(self) -> None:
        """Goes to the setting before."""
        self._rows.move(-1)

    def action_setting_down(self) -> None:
        """Goes to the setting after."""
        self._rows.move(1)

    def action_settings_up(self) -> None:
        """Goes a page up."""
        self._rows.move_page(-1)

    def action_settings_down(self) -> None:
        """Goes a page down."""
        self._rows.move_page(1)

    def action_leave_settings(self) -> None:
        """Takes back what was typed, or else goes back to the chat."""
        if self._edited is not None:
            self._close_field()
            self._show()
        elif self.query_one("#typed", Input).value:
            self.query_one("#typed", Input).clear()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is typed is not disturbed."""
        if action in ("next_value", "previous_value"):
            return self._edited is None and bool(self._values())
        if action in ("setting_up", "setting_down", "settings_up", "settings_down"):
            return self._edited is None
        return True


def _headline(section: str, has_gap: bool, width: int) -> list[Content]:
    line = Content.styled(section, "bold $accent")
    return [Content(), line] if has_gap else [line]


def _short(path: Path) -> str:
    """The path as a user writes it."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)
