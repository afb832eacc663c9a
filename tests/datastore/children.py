"""Other processes: forked, so that starting one takes a millisecond."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Child:
    """A process that runs a function and may talk to this one."""

    process: int
    reports: int
    """Where this process reads what the child tells."""
    orders: int
    """Where this process tells the child something."""

    def read(self) -> bytes:
        """All that it told, once it has ended."""
        told = b""
        while chunk := os.read(self.reports, 1 << 16):
            told += chunk
        return told

    def wait_for_word(self) -> bytes:
        """Its next word, of one byte; empty when it has ended."""
        return os.read(self.reports, 1)

    def tell(self) -> None:
        """Lets it go on."""
        os.write(self.orders, b".")

    def end(self) -> tuple[int, str]:
        """Waits for its end: its exit code, negative for a signal, and what it told."""
        told = self.read().decode()
        _, status = os.waitpid(self.process, 0)
        os.close(self.reports)
        os.close(self.orders)
        return os.waitstatus_to_exitcode(status), told

    def kill(self) -> None:
        """Ends it without notice."""
        os.kill(self.process, signal.SIGKILL)


@dataclass(frozen=True)
class Parent:
    """The process that started this one."""

    reports: int
    orders: int

    def tell(self, word: bytes) -> None:
        """Tells it something."""
        _write(self.reports, word)

    def wait(self) -> None:
        """Waits until it says go on."""
        os.read(self.orders, 1)


_write = os.write


def start(function: Callable[[Parent], None]) -> Child:
    """Runs a function in another process. Its exit code is 0, or 1 after an exception, whose
    traceback is told."""
    read_reports, write_reports = os.pipe()
    read_orders, write_orders = os.pipe()
    process = os.fork()
    if process:
        os.close(write_reports)
        os.close(read_orders)
        return Child(process, read_reports, write_orders)
    os.close(read_reports)
    os.close(write_orders)
    parent = Parent(write_reports, read_orders)
    code = 1
    try:
        function(parent)
        code = 0
    except BaseException:
        parent.tell(traceback.format_exc().encode())
    finally:
        os._exit(code)


@contextmanager
def running(*functions: Callable[[Parent], None]) -> Iterator[list[Child]]:
    """Children that run meanwhile and must end by themselves, without an exception."""
    children = [start(function) for function in functions]
    try:
        yield children
    finally:
        ends = [child.end() for child in children]
    for code, told in ends:
        assert code == 0, told
