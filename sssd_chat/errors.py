"""Errors that a user sees, as one sentence."""

from __future__ import annotations


class UserError(Exception):
    """A user's mistake or a broken file. The message says in one sentence what happened, to which
    file, and what to do; the command line prints it on stderr and ends with `exit_code`."""

    exit_code = 1


class UsageError(UserError):
    """Options or settings that cannot be had, or not together."""

    exit_code = 2


def reason(error: Exception, path: object = "") -> str:
    """What an error of the system says, to stand after a colon: without numbers, and without the
    name of the file where that is `path`, which the sentence has named."""
    if isinstance(error, OSError) and error.strerror:
        names = [] if error.filename in (None, str(path)) else [str(error.filename)]
        return ": ".join([*names, error.strerror])
    return str(error).rstrip(".")
