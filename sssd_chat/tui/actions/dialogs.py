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
