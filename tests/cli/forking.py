"""Imports the program once, and forks for each order on standard input: see `running`."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys

import sssd_chat

_UNNEEDED = ("sssd_chat.tui", "sssd_chat.server", "sssd_chat.integrations", "sssd_chat.__main__")


def import_all() -> None:
    """Imports what the commands may need."""
    for module in pkgutil.walk_packages(sssd_chat.__path__, "sssd_chat."):
        if not module.name.startswith(_UNNEEDED):
            importlib.import_module(module.name)


def become(order: dict) -> None:
    """Makes this process one that was started with the arguments and streams of the order."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
    for number, (path, flag) in enumerate(zip(order["streams"], flags, strict=True)):
        handle = os.open(path, flag)
        os.dup2(handle, number)
        os.close(handle)
    # What Python made of them at its start may have read ahead.
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.argv = ["sssd-chat", *order["words"]]


def main() -> None:
    """Runs orders until there are no more; in a forked process the program, which ends it."""
    import_all()
    for line in sys.stdin:
        process = os.fork()
        if not process:
            from sssd_chat.cli.main import run

            become(json.loads(line))
            run()
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


main()
