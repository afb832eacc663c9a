"""Every action of the chat, once: the keys, the footer, the palette and the help come from here."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class ChatAction:
    """Something the user can do on the chat screen."""

    name: str
    """The action method of the screen, without `action_`."""
    keys: str
    title: str
    """What the palette and the help call it."""
    help: str
    label: str = ""
    """What the footer calls it; empty keeps it out of the footer."""
    priority: bool = False
    """Whether the key is taken before the prompt sees it."""
    in_palette: bool = True

    def binding(self) -> Binding:
        """The key binding of the screen."""
        return Binding(
            self.keys,
            self.name,
            self.label or self.title,
            show=bool(self.label),
            priority=self.priority,
            tooltip=self.help,
        )


ACTIONS = (
    ChatAction("stop", "escape", "Stop the answer", "What was written stays", "Stop"),
    ChatAction("new_chat", "ctrl+n", "New chat", "Begin an empty conversation", "New chat"),
    ChatAction(
        "toggle_drafts",
        "ctrl+g",
        "Drafts on or off",
        "Same answers either way; only the speed changes",
        "Drafts",
    ),
    ChatAction(
        "copy_answer", "ctrl+o", "Copy the last answer", "Puts it on the clipboard", "Copy answer"
    ),
    ChatAction(
        "import_documents",
        "f3",
        "Import documents",
        "Your own files as something to draft from; the chat goes on meanwhile",
    ),
    ChatAction("help", "f1", "Help", "All keys, and what the numbers mean", "Help"),
    ChatAction(
        "scroll_page(-1)", "pageup", "Page up", "Read back; the view then stays", "", True, False
    ),
    ChatAction("scroll_page(1)", "pagedown", "Page down", "Read on", "", True, False),
    ChatAction("scroll_lines(-1)", "ctrl+up", "Line up", "Read back a line", "", True, False),
    ChatAction("scroll_lines(1)", "ctrl+down", "Line down", "Read on a line", "", True, False),
    ChatAction("go_to_start", "ctrl+home", "Go to the start", "The first question", "", True),
    ChatAction("follow", "ctrl+end", "Go to the end", "And follow the answer again", "", True),
    ChatAction(
        "unfold",
        "ctrl+r",
        "Show thinking and long questions whole",
        "Or fold them to a few lines again",
    ),
)

PROMPT_KEYS = (
    ("enter", "Send"),
    ("ctrl+j, shift+enter", "New line"),
    ("up, down", "At the first or last line: earlier questions"),
    ("ctrl+z, ctrl+y", "Undo, redo"),
)

APP_KEYS = (
    ("ctrl+p", "Command palette, with themes and “Screenshot”"),
    ("ctrl+c", "Copy the selection; stop the answer when nothing is selected"),
    ("ctrl+q", "Quit"),
)
