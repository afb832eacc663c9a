"""What can be done on the screens of settings and help, and on the very first one."""

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
