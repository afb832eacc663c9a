"""Reading in processes: whatever a file does to its process, it alone fails."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sssd_chat.documents import (
    DocumentError,
    Event,
    FileFailed,
    FileRead,
    FileUnwanted,
    Limits,
    Piece,
    WorkerError,
    read_file,
    read_files,
)
from tests.documents.expected import BROKEN, GOOD, VERBATIM
from tests.documents.make_corpus import pdf, zipped

TEXT = "some text\n"
QUICK = Limits(seconds=1.0)
# Every line of such a message is compared with 900 boundaries, which takes many minutes.
HANG = b"".join(
    b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(900)
)
HANG_NAME, HANG_CONTENT = "hang.eml", HANG + b"x\n" * 2_000_000


def put(folder: Path, name: str, content: bytes | str = TEXT) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def texts(folder: Path, count: int) -> list[Path]:
    return [put(folder, f"{number:03}.txt", f"text {number}\n") for number in range(count)]


def ends(events: Iterator[Event]) -> dict[str, Event]:
    """The last event of each file; checks that those of a file come together."""
    last: dict[str, Event] = {}
    current = None
    for event in events:
        name = event.path.name
        assert name not in last, f"{name} goes on after its end"
        assert current in (None, name), f"{name} comes within {current}"
        current = name if isinstance(event, Piece) else None
        if not isinstance(event, Piece):
            last[name] = event
    return last


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = {child.pid for child in children()}
    yield
    assert {child.pid for child in children()} <= before


def test_whole_corpus_is_read_as_without_processes(corpus: Path) -> None:
    documents: dict[str, list[tuple[str, str]]] = {}
    last: dict[str, Event] = {}
    for event in read_files(sorted(corpus.iterdir()), workers=2):
        if isinstance(event, Piece):
            found = documents.setdefault(event.path.name, [])
            found.append((event.document.title, event.document.text))
        else:
            last[event.path.name] = event
    for name, expected in GOOD.items():
        event = last[name]
        assert documents[name] == expected
        assert isinstance(event, FileRead) and event.documents == len(expected)
        content = (corpus / name).read_bytes()
        assert (event.size, event.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    for name, reason in BROKEN.items():
        event = last[name]
        assert isinstance(event, FileFailed) and event.reason == reason
        assert event.sentence == f"{corpus / name} {reason}."
    assert all(isinstance(last[name], FileRead) for name in VERBATIM)


def test_file_that_hangs_fails_and_the_rest_goes_on(tmp_path: Path) -> None:
    paths = [*texts(tmp_path, 5), put(tmp_path, HANG_NAME, HANG_CONTENT)]
    paths += [put(tmp_path, f"after{number}.txt") for number in range(5)]
    last = ends(read_files(paths, QUICK, workers=2))
    failed = last.pop(HANG_NAME)
    assert isinstance(failed, FileFailed)
    assert failed.reason == "took longer than 1 s to read"
    assert failed.sha256 == hashlib.sha256(HANG_CONTENT).hexdigest()
    assert len(last) == 10 and all(isinstance(event, FileRead) for event in last.values())


def test_file_that_eats_memory_fails_and_the_rest_goes_on(tmp_path: Path) -> None:
    page = put(tmp_path, "page.pdf", pdf([b"1 " * 37_000_000]))
    wide = put(tmp_path, "wide.json", b"[" + b"[]," * 4_000_000 + b"[]]")
    paths = [*texts(tmp_path, 4), page, wide, put(tmp_path, "after.txt")]
    limits = Limits(memory_bytes=150_000_000, seconds=60)
    last = ends(read_files(paths, limits, workers=2))
    for name in ("wide.json", "page.pdf"):
        failed = last.pop(name)
        assert isinstance(failed, FileFailed)
        assert failed.reason == "needs more than 150 MB of memory to be read"
    assert len(last) == 5 and all(isinstance(event, FileRead) for event in last.values())


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_process_that_dies_fails_its_file_and_is_replaced(
    tmp_path: Path, sent: signal.Signals
) -> None:
    hanging = put(tmp_path, HANG_NAME, HANG_CONTENT)

    def wanted(path: Path, sha256: str) -> bool:
        if path == hanging:
            for child in children():
                os.kill(child.pid, sent)
        return True

    paths = [hanging, *texts(tmp_path, 5)]
    last = ends(read_files(paths, workers=1, wanted=wanted))
    failed = last.pop(HANG_NAME)
    assert isinstance(failed, FileFailed)
    assert failed.reason == f"crashed the process that read it (signal {sent})"
    assert len(last) == 5 and all(isinstance(event, FileRead) for event in last.values())


def test_file_that_the_caller_does_not_want_is_hashed_but_not_read(tmp_path: Path) -> None:
    paths = [*texts(tmp_path, 6), put(tmp_path, "broken.json", "{")]
    known = {hashlib.sha256(f"text {number}\n".encode()).hexdigest() for number in (1, 4)}
    known.add(hashlib.sha256(b"{").hexdigest())
    seen = []

    def wanted(path: Path, sha256: str) -> bool:
        seen.append(path)
        return sha256 not in known

    last = ends(read_files(paths, workers=2, wanted=wanted))
    unwanted = {name for name, event in last.items() if isinstance(event, FileUnwanted)}
    assert unwanted == {"001.txt", "004.txt", "broken.json"}
    assert len(last) == 7 and sorted(seen) == sorted(paths)


def test_reading_is_never_far_ahead_of_the_caller(tmp_path: Path) -> None:
    taken = []

    def paths() -> Iterator[Path]:
        for path in texts(tmp_path, 50):
            taken.append(path)
            yield path

    events = read_files(paths(), workers=2)
    for _ in range(10):
        next(events)
    assert len(taken) <= 10
    events.close()  # type: ignore[attr-defined]


def test_large_file_comes_in_pieces_and_together(tmp_path: Path) -> None:
    line = "a line of the large file\n"
    large = put(tmp_path, "large.txt", line * 300_000)
    pieces: list[str] = []
    for event in read_files([large, *texts(tmp_path, 20)], workers=2):
        if event.path == large:
            if isinstance(event, Piece):
                pieces.append(event.document.text)
            else:
                break
        else:
            assert len(pieces) == 0
    assert len(pieces) > 5 and "".join(pieces) == line * 300_000


def test_file_that_changes_while_it_is_read_fails(tmp_path: Path) -> None:
    path = put(tmp_path, "log.txt", "a line\n" * 1_000_000)
    last = None
    for event in read_files([path], workers=1):
        if isinstance(event, Piece) and event.document.part == 1:
            with path.open("a") as file:
                file.write("one more line\n")
        last = event
    assert isinstance(last, FileFailed) and "changed while it was read" in last.reason


def test_missing_and_special_files_fail_with_their_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    paths = [tmp_path / "no.txt", tmp_path / "pipe.txt", tmp_path, put(tmp_path, "good.txt")]
    last = ends(read_files(paths, workers=1))
    reasons = [event.reason for event in last.values() if isinstance(event, FileFailed)]
    assert reasons == [
        "does not exist, or no longer",
        "is a named pipe, not a file to read",
        "is a folder, not a file to read",
    ]
    assert isinstance(last["good.txt"], FileRead)


def test_name_of_any_bytes_is_read(tmp_path: Path) -> None:
    path = put(tmp_path, os.fsdecode(b"odd \xff\n name.txt"))
    events = list(read_files([path], workers=1))
    assert [type(event) for event in events] == [Piece, FileRead]
    assert all(event.path == path for event in events)


def test_one_file_is_read_or_told(tmp_path: Path) -> None:
    document = read_file(put(tmp_path, "a.txt"))[0]
    assert (document.title, document.text) == ("a.txt", TEXT)
    broken = put(tmp_path, "b.json", "{")
    with pytest.raises(DocumentError) as caught:
        read_file(broken)
    assert str(caught.value) == f"{broken} {caught.value.reason}."


# Cancelling.


def test_cancelling_ends_even_if_there_is_always_more(tmp_path: Path) -> None:
    cancelled = threading.Event()
    events = read_files(texts(tmp_path, 200), workers=2, cancelled=cancelled)
    next(events)
    cancelled.set()
    assert len(list(events)) <= 1


def test_cancelling_ends_the_processes_at_once(tmp_path: Path) -> None:
    cancelled = threading.Event()
    hanging = put(tmp_path, HANG_NAME, HANG_CONTENT)
    events = read_files([*texts(tmp_path, 3), hanging], workers=1, cancelled=cancelled)
    next(events)
    threading.Timer(0.2, cancelled.set).start()
    assert HANG_NAME not in {event.path.name for event in events}
    assert cancelled.is_set()


def test_closing_the_iterator_ends_the_processes(tmp_path: Path) -> None:
    events = read_files(texts(tmp_path, 50), workers=2)
    next(events)
    assert children()
    events.close()  # type: ignore[attr-defined]


def test_error_of_the_caller_ends_the_processes(tmp_path: Path) -> None:
    def wanted(path: Path, sha256: str) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(read_files(texts(tmp_path, 5), workers=2, wanted=wanted))


SCRIPT = """
import sys
from pathlib import Path
from sssd_chat.documents import read_files
try:
    for event in read_files(map(Path, sys.argv[1:]), workers=2):
        print(event.path.name, flush=True)
except KeyboardInterrupt:
    sys.exit(130)
"""


def reading_process(*paths: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, paths)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
    )
    assert process.stdout and process.stdout.readline()
    return process


def test_interrupt_ends_the_processes(tmp_path: Path) -> None:
    first = put(tmp_path, "first.txt")
    with reading_process(first, put(tmp_path, HANG_NAME, HANG_CONTENT)) as process:
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert workers and not psutil.wait_procs(workers, timeout=10)[1]


def test_killed_reader_leaves_no_process_behind(tmp_path: Path) -> None:
    first, hanging = put(tmp_path, "first.txt"), put(tmp_path, HANG_NAME, HANG_CONTENT)
    with reading_process(first, hanging) as process:
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert workers and not psutil.wait_procs(workers, timeout=10)[1]


# What a process may do.


def test_module_in_the_working_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    for name in ("pypdf", "json", "sssd_chat", "encodings"):
        put(tmp_path, f"{name}.py", "raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert isinstance(ends(read_files([corpus / "text.pdf"], workers=1))["text.pdf"], FileRead)


def test_process_has_no_model_no_network_and_writes_nothing(tmp_path: Path) -> None:
    script = (
        "import os, socket, subprocess, sys\n"
        "from pathlib import Path\n"
        "from sssd_chat.documents import worker\n"
        "from sssd_chat.documents.document import Limits\n"
        "worker._confine(Limits())\n"
        "attempts = [lambda: socket.create_connection(('127.0.0.1', 9)),\n"
        "    lambda: socket.getaddrinfo('localhost', 9),\n"
        "    lambda: subprocess.run(['true']), lambda: os.system('true'), os.fork,\n"
        f"    lambda: Path({str(tmp_path / 'x')!r}).write_text('x')]\n"
        "for attempt in attempts:\n"
        "    try:\n"
        "        attempt()\n"
        "    except PermissionError as error:\n"
        "        print(error)\n"
        "print(sorted({'llama_cpp', 'numpy', 'textual', 'pypdf', 'lxml'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        check=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 7 and lines[-1] == "[]"
    assert not (tmp_path / "x").exists()


def test_process_that_cannot_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.txt")
    for program, words in (("/nowhere/python", "no such file"), ("/bin/false", "code 1")):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(WorkerError) as caught:
            list(read_files([path], workers=1))
        assert words in str(caught.value)


def test_archive_of_archives_ends_at_the_limit(tmp_path: Path) -> None:
    inner = zipped({f"{number}.txt": b" " * 1_000_000 for number in range(20)})
    bomb = put(tmp_path, "bomb.zip", zipped({f"{number}.zip": inner for number in range(500)}))
    limits = Limits(memory_bytes=300_000_000, unpacked_bytes=50_000_000)
    failed = ends(read_files([bomb], limits, workers=1))["bomb.zip"]
    assert isinstance(failed, FileFailed)
    assert failed.reason == "would become more than 50 MB when unpacked"
