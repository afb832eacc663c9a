"""What the parts of the chat screen share."""

from __future__ import annotations

from textual.content import Content

from sssd_chat.conversation.events import Attached, ChatBackend, Event
from sssd_chat.conversation.services import Services
from sssd_chat.text import for_display
from sssd_chat.tui.actions import CHAT_ACTIONS, MESSAGE_ACTIONS
from sssd_chat.tui.chat_state import ChatState, Phase
from sssd_chat.tui.pace import Pace
from sssd_chat.tui.screens.action_screen import ActionScreen
from sssd_chat.tui.widgets.panel import LivePanel
from sssd_chat.tui.widgets.prompt import Prompt
from sssd_chat.tui.widgets.status_line import StatusLine
from sssd_chat.tui.widgets.suggestion_list import SuggestionList
from sssd_chat.tui.widgets.transcript import Transcript
from sssd_chat.tui.widgets.welcome import Welcome

_MESSAGE_NAMES = frozenset(action.name for action in MESSAGE_ACTIONS)


def services_of_app(app: object) -> Services:
    """The chats, collections and models that the app knows."""
    services = getattr(app, "services", None)
    return services if isinstance(services, Services) else Services()


class ChatScreenBase(ActionScreen[None]):
    """One conversation with one model: what is known of it, and its widgets.

    The screen is made of parts, each with its own actions and its own share of the engine's
    events. A part extends `take` and `check_action` and leaves to the others what is not its own.
    """

    ACTIONS = (*MESSAGE_ACTIONS, *CHAT_ACTIONS)

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__()
        self._backend = backend
        self._state = ChatState()
        self._services = services_of_app(self.app)
        self._attached: tuple[Attached, ...] = ()
        self._prompt_note = ""
        """What goes on with the chat beside an answer; shown above the prompt."""
        self._transcript = Transcript()
        self._suggestions = SuggestionList()
        self._prompt = Prompt("Ask something", self._suggestions)
        self._figures_are_old = False
        self._pace = Pace()
        self._banner = ""

    @property
    def selecting(self) -> bool:
        """Whether a message is selected, so that single keys act on it."""
        return False

    def show_prompt_title(self) -> None:
        """Says what the text in the prompt is for and what goes on, or names what goes along with
        the next question and its share of the context."""
        room = self._state.model.context_length if self._state.model else 0
        names = " ".join(f"⟦{document.name}⟧" for document in self._attached)
        tokens = sum(document.tokens for document in self._attached)
        attached = f"{names} {tokens:,} of {room:,} tokens" if names else ""
        parts = filter(None, (self._banner, self._prompt_note or attached))
        self._prompt.border_title = Content(for_display(" · ".join(parts)))

    async def take(self, event: Event) -> None:
        """Shows what the engine tells."""

    def show_state(self) -> None:
        """Draws the figures and what depends on what goes on."""
        self._figures_are_old = False
        self._prompt.answering = self._state.busy
        self.query_one(StatusLine).refresh()
        self.query_one(LivePanel).show()
        for welcome in self.query(Welcome):
            if self._state.phase is not Phase.FAILED:
                welcome.show(self._state)

    def show_banner(self, banner: str) -> None:
        """Says on the edge of the prompt what the text in it is for; empty for a new question."""
        self._banner = banner
        self.show_prompt_title()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """False for what has no meaning now, None for what is shown greyed out."""
        return self.selecting if action in _MESSAGE_NAMES else True
