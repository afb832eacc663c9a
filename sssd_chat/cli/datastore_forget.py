"""`sssd-chat datastore forget` and `audit`: taking a text out for good, and seeing that it is."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

from sssd_chat import paths
from sssd_chat.cli.console import say
from sssd_chat.errors import UserError
from sssd_chat.text import counted


def forget(options: argparse.Namespace) -> int:
    """`forget`: takes a text out, and all that was made from it."""
    from sssd_chat.conversation import forgetting

    if not options.yes and not _confirmed(options):
        say("nothing was forgotten.")
        return 1
    if options.chat is not None:
        forgetting.forget_chat(options.chat)
        say(f"chat {options.chat} is forgotten.")
    elif options.collection is not None:
        count = forgetting.forget_collection(options.collection)
        say(f"the collection {options.collection} is forgotten ({counted(count, 'document')}).")
    elif options.document is not None:
        name = _known_document(options.document)
        forgetting.forget_document(name)
        say(f"the document {name} is forgotten.")
    else:
        forgetting.forget_everything()
        say("everything is forgotten.")
    return 0


def _known_document(path: str) -> str:
    """What a document is called, whose path may be given as it is kept or from here."""
    from sssd_chat.conversation.corpus import document_name
    from sssd_chat.datastore.texts import TextStore

    name = document_name(Path(path))
    with contextlib.closing(TextStore(paths.texts_file())) as texts:
        is_known = any(texts.parts(collection, name) for collection in texts.collections())
    return name if is_known else document_name(Path(path).absolute())


def _confirmed(options: argparse.Namespace) -> bool:
    """Asks on a terminal; a script that says what to forget means it."""
    if not sys.stdin.isatty():
        if options.all:
            raise UserError("Forgetting everything needs --yes where nobody can be asked.")
        return True
    if options.chat is not None:
        what = f"chat {options.chat}"
    elif options.collection is not None:
        what = f"the collection {options.collection}"
    elif options.document is not None:
        what = f"the document {options.document}"
    else:
        what = "all chats and all imported texts"
    print(f"Forget {what} for good? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def audit(options: argparse.Namespace) -> int:
    """`audit`: whether any file still holds a text; exit code 1 if so."""
    from sssd_chat.conversation import auditing
    from sssd_chat.llama.model import open_vocabulary
    from sssd_chat.text import for_display

    if not options.text.strip():
        raise UserError("There is no text to look for.")
    traces = list(
        auditing.audit(options.text, paths.data_folder(), paths.datastore_folder(), open_vocabulary)
    )
    if options.json:
        print(json.dumps([{"path": str(t.path), "what": t.what} for t in traces]))
        return 1 if traces else 0
    for trace in traces:
        print(for_display(f"{trace.path}: {trace.what}"))
    if not traces:
        say(f"no file below {paths.data_folder()} holds this text.")
    return 1 if traces else 0
