"""What the screens of the app need besides the chat itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from sssd_chat.conversation.catalogue import ModelCatalogue
from sssd_chat.conversation.chat_library import ChatLibrary
from sssd_chat.conversation.datastore_library import DatastoreLibrary


@dataclass(frozen=True, slots=True)
class Services:
    """One of each."""

    library: ChatLibrary = field(default_factory=ChatLibrary)
    datastore: DatastoreLibrary = field(default_factory=DatastoreLibrary)
    models: ModelCatalogue | None = None
    """None where none can be chosen."""
