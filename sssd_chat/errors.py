"""Errors that a user sees, as one sentence."""

from __future__ import annotations


class UserError(Exception):
    """A user's mistake or a broken file. The message says in one sentence what happened, to which
    file, and what to do; the command line prints it on stderr and ends with `exit_code`."""

    exit_code = 1
