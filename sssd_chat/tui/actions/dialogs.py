"""What can be done in the settings, in windows and questions, and on the very first screen."""

from __future__ import annotations

from sssd_chat.tui.actions.action import Action, Group


def _first(name: str, keys: str, title: str, what: str = "", label: str = "") -> Action:
    return Action(name, keys, title, what, Group.FIRST_RUN, label, in_palette=False)


FIRST_RUN_ACTIONS = (
    _first("take_model", "enter", "Chat with the model", "The next time too", "Chat"),
    _first("model_up", "up", "Model before"),
    _first("model_down", "down", "Model after"),
    _first("copy_way_1", "1", "Copy the first command", "For the small model", "Copy command"),
    _first("copy_way_2", "2", "Copy the second command", "For any model of the Hub"),
    _first("copy_way_3", "3", "Copy the third command", "For a file that you have"),
    _first("leave", "q,escape", "Leave", "", "Leave"),
)


def _setting(
    name: str, keys: str, title: str, what: str = "", label: str = "", *, priority: bool = True
) -> Action:
    # The field to type into has uses of its own for most of these keys.
    return Action(name, keys, title, what, Group.SETTINGS, label, priority, in_palette=False)


SETTINGS_ACTIONS = (
    _setting("change_setting", "enter", "Change the setting", "Or keep what was typed", "Change"),
    _setting("next_value", "right", "Next value", "Of a setting that has few", "Next value"),
    _setting("previous_value", "left", "Value before"),
    _setting("default_setting", "ctrl+d", "Default again", "Takes it out of the file", "Default"),
    _setting("setting_up", "up", "Setting before"),
    _setting("setting_down", "down", "Setting after"),
    _setting("settings_up", "pageup", "Page up"),
    _setting("settings_down", "pagedown", "Page down"),
    _setting(
        "leave_settings",
        "escape",
        "Back to the chat",
        "First takes back what was typed",
        "Back",
        priority=False,
    ),
)

WINDOW_ACTIONS = (
    Action(
        "close_window",
        "escape",
        "Close the window",
        "An import goes on without it",
        Group.WINDOW,
        in_palette=False,
    ),
)
READING_ACTIONS = (
    Action(
        "close_reading",
        "q",
        "Close the window",
        "So does the key that opened it",
        Group.READING,
        in_palette=False,
    ),
)
"""For windows with nothing to type into, beside those of every window."""


def _answer(name: str, keys: str, title: str) -> Action:
    return Action(name, keys, title, "", Group.QUESTION, in_palette=False)


QUESTION_ACTIONS = (
    _answer("say_yes", "y", "Yes"),
    _answer("say_no", "n,escape", "No"),
    _answer("other_answer", "left,right", "The other answer"),
)
