"""What can be done with a selected message."""

from __future__ import annotations

from sssd_chat.tui.actions.action import Action, Group


def _action(
    name: str, keys: str, title: str, what: str, label: str = "", *, in_palette: bool = True
) -> Action:
    # Single keys have to go before the prompt, which keeps the focus.
    return Action(name, keys, title, what, Group.MESSAGE, label, True, in_palette)


MESSAGE_ACTIONS = (
    _action("copy_message", "c", "Copy the message", "As Markdown", "Copy"),
    _action("copy_code", "k", "Copy a block of code", "Again for the next one", "Code"),
    _action("edit_message", "e", "Edit the question", "Asks it anew, as a branch", "Edit"),
    _action("regenerate", "r", "Answer again", "Another answer, as a branch", "Again"),
    _action(
        "regenerate_with",
        "R",
        "Answer again with other parameters",
        "Temperature and the like for this one answer",
    ),
    _action("continue_answer", "n", "Go on writing", "The last answer grows", "Go on"),
    _action("delete_message", "d", "Delete the message", "And all that follow it", "Delete"),
    _action("previous_branch", "left", "Branch before", "Of an edited or repeated message"),
    _action("next_branch", "right", "Branch after", "Of an edited or repeated message"),
    _action("message_statistics", "s", "Statistics", "Of this answer", "Numbers"),
    _action("next_span", "tab", "Next drafted words", "While these are marked", in_palette=False),
    _action(
        "previous_span",
        "shift+tab",
        "Drafted words before",
        "While these are marked",
        in_palette=False,
    ),
    _action("open_source", "o", "Open the source", "Where the drafted words came from"),
    _action("message_before", "up", "Message before", "Select the one above", in_palette=False),
    _action("message_after", "down", "Message after", "Select the one below", in_palette=False),
    _action("leave_messages", "escape,enter", "Back to the prompt", "", "Back", in_palette=False),
)
