"""What an action is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from textual.binding import Binding


class Group(Enum):
    """Where an action can be used; the value is its headline in the help."""

    PROMPT = "While typing"
    CHAT = "In the chat"
    MESSAGE = "With a message selected"
    LISTS = "In every list"
    CHATS = "In the list of chats"
    MODELS = "When choosing a model"
    DATASTORE = "In the datastore"
    SETTINGS = "In the settings"
    WINDOW = "In every window"
    READING = "In a window to read"
    QUESTION = "When asked"
    FIRST_RUN = "Without a model"
    EVERYWHERE = "Everywhere"


class Completes(Enum):
    """What the argument of a typed command is completed with."""

    NOTHING = "nothing"
    PATH = "files and folders"
    MODEL = "models"
    PARAMETER = "parameters of answers"
    EXPORT = "formats, files and folders"


TYPING = frozenset(
    {
        Group.PROMPT,
        Group.CHAT,
        Group.EVERYWHERE,
        Group.LISTS,
        Group.CHATS,
        Group.MODELS,
        Group.WINDOW,
    }
)
"""Where a key that types a character would be lost for typing."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do."""

    name: str
    """The action method of the screen, without `action_`; also the name in the settings' [keys]."""
    keys: str
    """With commas between them, as Textual names them; empty where there is only the palette."""
    title: str
    """What the palette and the help call it."""
    help: str
    group: Group
    label: str = ""
    """What the footer calls it; empty keeps it out of the footer."""
    priority: bool = False
    """Whether the key is taken before the focused widget sees it."""
    in_palette: bool = True
    slash: str = ""
    """What to type for it, e.g. "/attach PATH"; what follows the name goes to the method
    `command_` of the action's name, where the screen has one."""
    completes: Completes = Completes.NOTHING

    @property
    def command(self) -> str:
        """The first word to type, e.g. "/attach"; empty when there is none."""
        return self.slash.partition(" ")[0]

    @property
    def argument(self) -> str:
        """What follows the command, as the help shows it, e.g. "PATH"."""
        return self.slash.partition(" ")[2]

    def bindings(self, keys: str | None = None) -> list[Binding]:
        """The bindings of the screen, one for each key; `keys` are those of the user."""
        # The user's key counts even where the prompt has a use of its own for it.
        priority = self.priority or keys is not None
        chosen = self.keys if keys is None else keys
        return [
            Binding(
                key,
                self.name,
                self.label or self.title,
                show=bool(self.label) and number == 0,
                priority=priority,
                tooltip=self.help,
            )
            for number, key in enumerate(filter(None, chosen.split(",")))
        ]
