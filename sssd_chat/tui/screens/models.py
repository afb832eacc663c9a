"""Choosing another target model for the chat."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from textual import on, work
from textual.content import Content
from textual.message import Message

from sssd_chat.conversation.catalogue import ModelCatalogue, ModelChoice
from sssd_chat.conversation.events import Event, ModelFailed, ModelLoading, ModelReady, Notice
from sssd_chat.errors import UserError
from sssd_chat.text import counted, one_line
from sssd_chat.tui.actions import LIST_ACTIONS, MODELS_ACTIONS
from sssd_chat.tui.figures import bar, percent
from sssd_chat.tui.screens.list_screen import ListScreen
from sssd_chat.tui.screens.models_rows import model_rows

_FEW = 4
"""With fewer models the screen says how to get more."""
_BAR = 24
_PULL = "sssd-chat models pull OWNER/NAME"
_NONE = f"There is no model yet.\n\n{_PULL} fetches one from the Hugging Face Hub."
_NONE_FOUND = "No model has all of these words in its name or description."


class ModelsScreen(ListScreen[None]):
    """All models of the machine. Stays open while one is loaded, to show how far that is, and
    afterwards if it failed, to show why."""

    ACTIONS = (*MODELS_ACTIONS, *LIST_ACTIONS)
    headline = "Models"
    placeholder = "Narrow down by name, size or quantization"

    @dataclass
    class Read(Message):
        """The models that there are."""

        models: list[ModelChoice]

    @dataclass
    class Failed(Message):
        """The models could not be read."""

        problem: str

    def __init__(
        self,
        catalogue: ModelCatalogue,
        loaded: str,
        load: Callable[[str], None],
        typed: str = "",
    ) -> None:
        """`loaded` is the path of the model in use, empty for none; `load` loads another one;
        `typed` stands in the field at the start."""
        super().__init__()
        self._catalogue = catalogue
        self._loaded = loaded
        self._load = load
        self._typed_at_start = typed
        self._models: list[ModelChoice] = []
        self._loading: ModelChoice | None = None
        self._problem = ""

    def on_mount(self) -> None:
        """Reads the models."""
        self.begin_with(self._typed_at_start)
        self.summarize("looking …")
        self._read()

    def action_read_models(self) -> None:
        """Reads the models again."""
        self.summarize("looking …")
        self._read()

    @work(thread=True, exclusive=True, group="find", exit_on_error=False)
    def _read(self) -> None:
        try:
            self.post_message(self.Read(self._catalogue.models()))
        except (UserError, OSError) as error:
            self.post_message(self.Failed(str(error)))

    @on(Read)
    def _show_read(self, event: Read) -> None:
        self._models = event.models
        self._show(self._loaded)
        if len(event.models) < _FEW:
            hint = Content.assemble((_PULL, "$accent"), (" fetches more.", "$muted"))
            self.tell(hint if event.models else "")

    @on(Failed)
    def _show_unread(self, event: Failed) -> None:
        self.summarize("")
        self.tell(event.problem, is_problem=True)

    def look_for(self, typed: str) -> None:
        """Shows the models that hold the words."""
        self._show()

    def _show(self, cursor: str | None = None) -> None:
        rows = model_rows(self._models, self.typed, self._loaded)
        self.show_rows(rows, cursor, _NONE_FOUND if self._models else _NONE)
        usable = sum(row.key is not None for row in rows)
        self.summarize(counted(usable, "model"))

    def choose(self, key: Hashable) -> None:
        """Loads the model, or goes back to the chat with the one that is loaded."""
        if self._loading is not None:
            return
        if key == self._loaded:
            self.dismiss(None)
            return
        chosen = next((model for model in self._models if model.path == key), None)
        if chosen is not None:
            self._loading, self._problem = chosen, ""
            self._show_progress(0.0)
            self._load(chosen.path)

    def follow(self, event: Event) -> None:
        """Follows what the engine tells of a model that was chosen here."""
        if self._loading is None:
            return
        match event:
            case ModelLoading(progress):
                self._show_progress(progress)
            case Notice(message, "error"):
                self._problem = message
            case ModelFailed(message):
                self._fail(message)
            case ModelReady() if self._problem:
                # The one before is back.
                self._fail(self._problem)
            case ModelReady():
                self.dismiss(None)
            case _:
                pass

    def _show_progress(self, progress: float) -> None:
        name = one_line(self._loading.name) if self._loading else ""
        full, rest = bar(progress, _BAR)
        self.tell(
            Content.assemble(
                ("◌ ", "$accent"),
                f"loading {name}  ",
                (full, "$accent"),
                (rest, "$quiet"),
                f" {percent(progress):>5}",
            )
        )

    def _fail(self, problem: str) -> None:
        self._loading = None
        self.tell(problem, is_problem=True)
