"""A person's own files become a collection that is drafted from."""

from sssd_chat.conversation.corpus.background import BackgroundImport
from sssd_chat.conversation.corpus.importing import Importer, ImportSettings
from sssd_chat.conversation.corpus.indexed import index_collection, tokenizing_threads
from sssd_chat.conversation.corpus.names import check_collection_name, document_name
from sssd_chat.conversation.corpus.report import FileNote, ImportProgress, ImportReport, Stage
from sssd_chat.documents import WalkSettings

__all__ = [
    "BackgroundImport",
    "FileNote",
    "ImportProgress",
    "ImportReport",
    "ImportSettings",
    "Importer",
    "Stage",
    "WalkSettings",
    "check_collection_name",
    "document_name",
    "index_collection",
    "tokenizing_threads",
]
