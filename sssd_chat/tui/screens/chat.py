"""The chat: transcript, prompt, and the numbers of the engine beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, TextArea

from sssd_chat.conversation.attachments import with_chips
from sssd_chat.conversation.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStep,
    Attached,
    AttachmentsChanged,
    ChatBackend,
    ChatOpened,
    Drafting,
    Event,
    ModelFailed,
    ModelReady,
    Notice,
    StoppedBy,
    TurnsLeftOut,
)
from sssd_chat.text import for_display
from sssd_chat.tui.actions import ACTIONS
from sssd_chat.tui.chat_state import ChatState, Phase
from sssd_chat.tui.imports import Imports
from sssd_chat.tui.messages import (
    AttachWanted,
    DetachWanted,
    FollowRequested,
    PlaceChanged,
    QuestionEntered,
    QuestionHeldBack,
)
from sssd_chat.tui.pace import Pace
from sssd_chat.tui.widgets.follow_hint import FollowHint
from sssd_chat.tui.widgets.live_panel import LivePanel
from sssd_chat.tui.widgets.prompt import Prompt
from sssd_chat.tui.widgets.status_line import StatusLine
from sssd_chat.tui.widgets.transcript import Transcript
from sssd_chat.tui.widgets.turn import Said
from sssd_chat.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from sssd_chat.tui.widgets.answer import Answer

_FLUSHES_PER_SECOND = 16
_DRAWS_PER_FIGURES = 4
"""Numbers that change faster than this cannot be read, and drawing them costs more than text."""
_PANEL_FROM_COLUMNS = 100
_WIDTHS = [(0, "-narrow"), (_PANEL_FROM_COLUMNS, "-panel"), (140, "-wide")]
_HEIGHTS = [(0, "-low"), (30, "-middle"), (36, "-high")]
"""Style classes by the size of the terminal, from so many columns or lines on."""


class ChatScreen(Screen[None]):
    """One conversation with one model."""

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "Prompt"
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS]

    def __init__(self, backend: ChatBackend, *, rings: bool = False) -> None:
        """With `rings`, the terminal's bell says that an answer is finished."""
        super().__init__()
        self._backend = backend
        self._rings = rings
        self._state = ChatState()
        self._answer: Answer | None = None
        self._clear_when_stopped = False
        self._pace = Pace()
        self._draws = 0
        self._figures_are_old = False
        self._draft_is_new = False
        self._attached: tuple[Attached, ...] = ()
        self._imports = Imports(self.app)

    def compose(self) -> ComposeResult:
        """Chat on the left, numbers on the right, keys at the bottom."""
        with Horizontal():
            with Vertical(id="chat"):
                with Vertical(id="reading"):
                    yield Transcript()
                    yield FollowHint()
                yield StatusLine(self._state)
                yield Prompt("Ask something")
            yield LivePanel(self._state)
        yield Footer(compact=True)

    async def on_mount(self) -> None:
        """Shows the first screen, and only then begins to load the model."""
        await self._transcript.mount(Welcome(self._state))
        self.query_one(Prompt).border_subtitle = "enter asks · ctrl+j new line"
        self.call_after_refresh(self._begin)

    def on_unmount(self) -> None:
        """Nothing goes on without the screen."""
        self._imports.close()

    def _begin(self) -> None:
        self._backend.start()
        self.set_interval(1 / _FLUSHES_PER_SECOND, self._take_events)

    @property
    def _transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_resize(self, event: events.Resize) -> None:
        """Folds the numbers into one line where the panel has no room."""
        self.query_one(StatusLine).folded = event.size.width < _PANEL_FROM_COLUMNS

    def on_key(self, event: events.Key) -> None:
        """Typing goes to the prompt, wherever the focus is."""
        prompt = self.query_one(Prompt)
        if event.is_printable and event.character and self.focused is not prompt:
            prompt.focus()
            prompt.insert(event.character)
            event.stop()

    # What the engine tells

    async def _take_events(self) -> None:
        if self._draft_is_new:
            self._draft_is_new = False
            self._backend.draft(self.query_one(Prompt).question)
        taken = self._backend.events()
        phase = self._state.phase
        for event in taken:
            self._state.apply(event)
            await self._show(event)
        self._figures_are_old = self._figures_are_old or bool(taken)
        if phase is not self._state.phase:
            self._show_state()
            self.refresh_bindings()
        elif self._answer is not None and self._pace.due():
            await self._answer.draw()
            self._draws += 1
            if self._draws % _DRAWS_PER_FIGURES == 0:
                self._show_state()
        elif self._answer is None and self._figures_are_old:
            self._show_state()

    async def _show(self, event: Event) -> None:
        match event:
            case AnswerStep(text=text, thinking=thinking) if self._answer is not None:
                self._answer.add(text, thinking)
            case AnswerDone(text, stopped_by, statistics, thinking) if self._answer is not None:
                await self._answer.finish(text, stopped_by, statistics, thinking)
                await self._rest()
            case AnswerFailed(message, text, thinking) if self._answer is not None:
                await self._answer.fail(text, message, thinking)
                await self._rest()
            case AnswerFailed(message):
                self.notify(for_display(message), severity="error", markup=False)
            case ModelReady(info) if self._answer is not None:
                self._answer.name_speaker(info.name)
            case ChatOpened(turns=turns) if turns:
                await self._transcript.restore([Said.restored(turn) for turn in turns])
            case AttachmentsChanged(documents):
                self._show_attached(documents)
            case TurnsLeftOut(turns):
                self._transcript.mark_left_out(turns)
            case ModelFailed(message):
                await self._show_no_model(message)
            case Notice(message, severity):
                known = "error" if severity == "error" else "information"
                self.notify(
                    for_display(message),
                    severity="warning" if severity == "warning" else known,  # type: ignore[arg-type]
                    markup=False,
                )
            case _:
                pass

    def _show_state(self) -> None:
        self._figures_are_old = False
        self.query_one(Prompt).answering = self._state.busy
        self.query_one(StatusLine).refresh()
        self.query_one(LivePanel).show()
        for welcome in self.query(Welcome):
            if self._state.phase is not Phase.FAILED:
                welcome.show(self._state)

    def _show_attached(self, documents: tuple[Attached, ...]) -> None:
        """Names what goes along with the next question, and its share of the context."""
        self._attached = documents
        room = self._state.model.context_length if self._state.model else 0
        names = " ".join(f"⟦{document.name}⟧" for document in documents)
        tokens = sum(document.tokens for document in documents)
        title = f"{for_display(names)} {tokens:,} of {room:,} tokens" if documents else ""
        self.query_one(Prompt).border_title = Content(title)

    async def _show_no_model(self, message: str) -> None:
        if self._answer is not None:
            await self._answer.finish("", StoppedBy.CANCELLED, None)
            self._answer = None
        for welcome in self.query(Welcome):
            welcome.show(self._state, message)
        if not self.query(Welcome):
            await self._transcript.mount(Welcome(self._state, message))
        self.query_one(Prompt).disabled = True

    async def _rest(self) -> None:
        """The answer is over."""
        self._answer = None
        if self._rings:
            self.app.bell()
        if self._clear_when_stopped:
            await self._clear()

    # What the user does

    @on(QuestionEntered)
    async def _ask(self, event: QuestionEntered) -> None:
        self._state.asked()
        attached = [(document.name, document.lines) for document in self._attached]
        await self._transcript.add_question(with_chips(event.text, attached))
        name = self._state.model.name if self._state.model else "the model"
        self._answer = await self._transcript.begin_answer(name)
        if self._state.phase is Phase.WAITING:
            self._answer.wait()
        self._backend.send(event.text)
        self._show_state()
        self.refresh_bindings()

    @on(AttachWanted)
    def _attach_document(self, event: AttachWanted) -> None:
        if not event.path:
            self.notify("Which document? Type /attach and its path.", markup=False)
            return
        self._backend.attach(event.path)

    @on(DetachWanted)
    def _detach_documents(self) -> None:
        self._backend.detach()

    @on(TextArea.Changed, "Prompt")
    def _note_draft(self) -> None:
        self._draft_is_new = True

    @on(QuestionHeldBack)
    def _hold_back(self) -> None:
        self.notify("An answer is on its way; Esc stops it.", markup=False)

    @on(PlaceChanged)
    def _hint(self, event: PlaceChanged) -> None:
        self.query_one(FollowHint).set_class(not event.at_end, "-shown")

    @on(FollowRequested)
    def action_follow(self) -> None:
        """Goes to the end and follows it."""
        self._transcript.follow()

    async def action_go_to_start(self) -> None:
        """Goes to the first question."""
        await self._transcript.go_to_start()

    def action_scroll_page(self, direction: int) -> None:
        """Scrolls the transcript by a page, up (-1) or down (1)."""
        self._scroll(direction * max(1, self._transcript.size.height - 2))

    def action_scroll_lines(self, lines: int) -> None:
        """Scrolls the transcript by some lines."""
        self._scroll(lines)

    def _scroll(self, lines: int) -> None:
        self._transcript.scroll_relative(y=lines, animate=False, immediate=True)

    def action_stop(self) -> None:
        """Stops the answer."""
        self.clear_selection()
        if self._state.busy and self._state.phase is not Phase.STOPPING:
            self._state.stop_asked()
            self._backend.cancel()
            self._show_state()
            self.refresh_bindings()

    def action_copy_text(self) -> None:
        """Copies the selection; with nothing selected, the key stops the answer."""
        if self._state.busy and not self.get_selected_text():
            self.action_stop()
        else:
            super().action_copy_text()

    @work
    async def action_new_chat(self) -> None:
        """Begins an empty chat; asks first when that stops an answer."""
        if self._state.busy:
            from sssd_chat.tui.screens.confirm import ConfirmScreen

            question = "An answer is being written. Stop it and begin a new chat?"
            if not await self.app.push_screen_wait(ConfirmScreen(question, "New chat")):
                return
        if self._state.busy:
            # What the old answer still sends must not land in the new chat.
            self._clear_when_stopped = True
            self.action_stop()
        else:
            await self._clear()

    async def _clear(self) -> None:
        self._clear_when_stopped = False
        self._backend.new_chat()
        self._state.cleared()
        await self._transcript.clear_turns()
        await self._transcript.mount(Welcome(self._state))
        self._show_state()

    def action_toggle_drafts(self) -> None:
        """Switches drafts on or off."""
        if self._state.drafting is Drafting.IMPOSSIBLE:
            self.notify(Drafting.IMPOSSIBLE.value.capitalize() + ".", markup=False)
            return
        self._state.drafts_wanted = not self._state.drafts_wanted
        self._backend.set_drafting(self._state.drafts_wanted)
        self._show_state()

    def action_copy_answer(self) -> None:
        """Copies the last answer."""
        text = self._transcript.last_answer()
        if text is None:
            self.notify("There is no answer to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(text)
        self.notify("Answer copied.", markup=False)

    def action_unfold(self) -> None:
        """Shows thinking and long questions whole, or folds them again."""
        self._transcript.unfold()

    def action_import_documents(self) -> None:
        """Makes files a collection that is drafted from."""
        if self._state.model is not None:
            self._imports.open(Path(self._state.model.path))

    def action_help(self) -> None:
        """Shows the keys and the meaning of the numbers."""
        from sssd_chat.tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Greys out what does not apply now."""
        if action == "stop" and not self._state.busy:
            return None
        if action == "import_documents" and self._state.model is None:
            return None
        return True
