"""Models are fetched whole or not at all, whatever the network does."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sssd_chat import paths
from sssd_chat.errors import UserError
from sssd_chat.models import pulling
from sssd_chat.models.download import Patience
from sssd_chat.models.finding import find_models
from sssd_chat.models.pulling import Listener, Pulled, find_pulled, pull
from tests.models.conftest import put_in_hub
from tests.models.fake_hub import (
    FakeHub,
    body,
    deaf_to_ranges,
    drop_after,
    endless,
    running_hub,
    status,
    usual,
)
from tests.tiny_models import tiny_model

pytestmark = pytest.mark.usefixtures("no_starter")

REPOSITORY = "org/Tiny-GGUF"
FILE = "Tiny-Q4_K_M.gguf"


@pytest.fixture
def model(models: Path) -> bytes:
    return tiny_model(models).read_bytes()


@pytest.fixture
def hub(model: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with running_hub() as one:
        one.repositories[REPOSITORY] = {FILE: model, "README.md": b"hello"}
        monkeypatch.setenv("HF_ENDPOINT", one.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield one


class Ears:
    """Hears everything that is told, and never really waits."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.said: list[str] = []
        self.progress: list[tuple[int, int]] = []
        self.choices: list[str] = []

    def listener(self) -> Listener:
        return Listener(
            lambda choice: self.choices.append(f"{choice.offer.label}: {choice.why}"),
            lambda _, have, size: self.progress.append((have, size)),
            Patience(self.waits.append, self.said.append),
        )


@pytest.fixture
def ears() -> Ears:
    return Ears()


Fetch = Callable[..., Pulled]


@pytest.fixture
def fetch(ears: Ears) -> Fetch:
    return lambda quantization=None: pull(REPOSITORY, quantization, (), ears.listener())


def complaint(fetch: Fetch, quantization: str | None = None) -> str:
    with pytest.raises(UserError) as caught:
        fetch(quantization)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and "hf_secret" not in sentence
    assert [found for found in find_models() if found.problem is None] == []
    return sentence


def target() -> Path:
    return paths.models_folder() / REPOSITORY / FILE


def parts() -> list[Path]:
    return list(target().parent.glob("*.part"))


def test_a_model_is_fetched_and_found(hub: FakeHub, fetch: Fetch, ears: Ears, model: bytes) -> None:
    pulled = fetch()
    assert (pulled.path, pulled.was_there) == (target(), False)
    assert target().read_bytes() == model
    assert parts() == []
    (found,) = find_models()
    assert (found.name, found.repository, found.problem) == ("Tiny-Q4_K_M", REPOSITORY, None)
    assert ears.progress[-1] == (len(model), len(model))
    assert ears.choices == ["Q4_K_M: the only one there is"]
    assert hub.tokens == {"Bearer hf_secret"}
    assert fetch() == Pulled(target(), True)
    assert hub.asked == [f"0 {FILE}"]


def test_a_dropped_connection_goes_on_from_there(
    hub: FakeHub, fetch: Fetch, ears: Ears, model: bytes
) -> None:
    hub.moods = [drop_after(100_000), drop_after(0), drop_after(50_000), status(503), usual]
    assert fetch().path.read_bytes() == model
    assert [asked.split()[0] for asked in hub.asked] == ["0", *["100000"] * 2, *["150000"] * 2]
    assert all(sentence.endswith(" s.") for sentence in ears.said)
    assert len(ears.said) == len(ears.waits) == 4


def test_a_connection_that_never_works_is_told_and_goes_on_next_time(
    hub: FakeHub, fetch: Fetch, model: bytes
) -> None:
    hub.moods = [drop_after(70_000)] + [drop_after(0)] * 4
    sentence = complaint(fetch)
    assert hub.endpoint in sentence and "failed" in sentence
    assert [part.stat().st_size for part in parts()] == [70_000]
    (listed,) = find_models()
    assert "is not finished" in (listed.problem or "")
    assert fetch().path.read_bytes() == model
    assert hub.asked[-1] == f"70000 {FILE}"


def test_an_interruption_goes_on_next_time(
    hub: FakeHub, fetch: Fetch, ears: Ears, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.moods = [drop_after(200_000)]

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(REPOSITORY, None, (), Listener(patience=Patience(interrupt)))
    assert fetch().path.read_bytes() == model
    assert hub.asked[-1] == f"200000 {FILE}"


def test_a_server_that_knows_no_ranges_is_asked_for_all(
    hub: FakeHub, fetch: Fetch, model: bytes
) -> None:
    hub.moods = [drop_after(1000), deaf_to_ranges]
    assert fetch().path.read_bytes() == model
    # Another version of the same size is another file.
    hub.repositories[REPOSITORY] = {FILE: model[::-1]}
    hub.moods = [drop_after(1000), status(416), usual]
    assert fetch().path.read_bytes() == model[::-1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (body(b"short"), "offers 5 bytes"),
        (body(b"x" * 10_000_000), "offers 10,000,000 bytes"),
        (endless(b"x" * 10_000_000), "sent more than the"),
        (status(401), "is not open to you"),
        (status(403), "HF_TOKEN"),
        (status(403, X_Error_Code="GatedRepo"), "accept its terms on http"),
        (status(404), "There is no http"),
        (status(429, Retry_After="3600"), "try again in 3600 seconds"),
        (status(418), "answers with status 418"),
        (status(302, Location="gopher://x/"), "unsupported protocol"),
    ],
)
def test_what_cannot_be_fetched_is_told_and_leaves_nothing(
    hub: FakeHub, fetch: Fetch, answer: object, words: str
) -> None:
    hub.moods = [answer] * 9  # type: ignore[list-item]
    assert words in complaint(fetch)
    assert not target().exists()
    assert all(part.stat().st_size == 0 for part in parts())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(401, X_Error_Code="RepoNotFound"), "is not open to you"),
        (status(404, X_Error_Code="RepoNotFound"), "There is no http"),
        (status(403, X_Error_Code="GatedRepo"), "accept its terms on http"),
        (status(429, Retry_After="600"), "try again in 600 seconds"),
        (body(b"<html>"), "gave no usable answer"),
        (body(b"[]"), "gave no usable answer"),
        (body(b'{"id": "a/b", "sha": "1", "siblings": [{"x": 1}]}'), "gave no usable answer"),
        (body(b'{"id": "a/b", "sha": "1"}'), "holds no GGUF files"),
    ],
)
def test_a_repository_that_cannot_be_listed_is_told(
    hub: FakeHub, fetch: Fetch, answer: object, words: str
) -> None:
    hub.listing_moods = [answer]  # type: ignore[list-item]
    assert words in complaint(fetch)
    assert hub.asked == []


def test_a_token_stays_with_the_hub(hub: FakeHub, fetch: Fetch, model: bytes) -> None:
    """Large files come from other machines, by addresses that need no token."""
    with running_hub() as other:
        other.repositories = hub.repositories
        there = status(302, Location=f"{other.endpoint}/{REPOSITORY}/resolve/c0ffee/{FILE}")
        hub.moods = [there, there]
        other.moods = [drop_after(3000), usual]
        assert fetch().path.read_bytes() == model
        assert other.tokens == {""}
        assert other.asked == [f"0 {FILE}", f"3000 {FILE}"]


def test_a_disk_that_fills_up_is_told_and_goes_on_next_time(
    hub: FakeHub, fetch: Fetch, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("sssd_chat.models.download.os.fsync", refuse)
        assert "cannot be written: No space left on device." in complaint(fetch)
    assert fetch().path.read_bytes() == model


def test_too_many_requests_are_waited_out_when_it_is_not_for_long(
    hub: FakeHub, fetch: Fetch, ears: Ears, model: bytes
) -> None:
    hub.listing_moods = [status(429, Retry_After="7")]
    hub.moods = [status(429, Retry_After="9"), usual]
    assert fetch().path.read_bytes() == model
    assert ears.waits == [7.0, 9.0]
    assert "too many requests" in ears.said[0]


def test_a_wrong_checksum_throws_the_file_away(hub: FakeHub, fetch: Fetch) -> None:
    hub.announced[FILE] = "0" * 64
    assert "arrived damaged" in complaint(fetch)
    assert parts() == [] and not target().exists()


def test_bytes_of_an_earlier_version_are_not_mixed_in(
    hub: FakeHub, fetch: Fetch, model: bytes
) -> None:
    hub.moods = [drop_after(5000)] + [drop_after(0)] * 4
    complaint(fetch)
    hub.repositories[REPOSITORY][FILE] = newer = model[:-1] + b"\x01"
    assert fetch().path.read_bytes() == newer
    assert parts() == []


def test_a_full_disk_is_told_before_anything_is_fetched(
    hub: FakeHub, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: usage)
    sentence = complaint(fetch)
    assert "not enough room" in sentence and "0.00 GB are free" in sentence
    assert hub.asked == []


def test_a_folder_that_cannot_be_written_is_told(hub: FakeHub, fetch: Fetch, home: Path) -> None:
    (home / "data").mkdir(parents=True)
    paths.models_folder().write_text("in the way")
    assert "cannot be written" in complaint(fetch)


def test_a_server_that_is_not_there_is_told(
    fetch: Fetch, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert "The connection to http://127.0.0.1:9 failed" in complaint(fetch)
    assert len(ears.waits) == 4


def test_all_parts_of_a_split_model_are_fetched(hub: FakeHub, fetch: Fetch, ears: Ears) -> None:
    names = [f"Q8_0/Big-Q8_0-{number:05}-of-00002.gguf" for number in (1, 2)]
    hub.repositories[REPOSITORY].update(dict.fromkeys(names, b"GGUF part"))
    pulled = fetch("q8_0")
    folder = paths.models_folder() / REPOSITORY
    assert pulled.path == folder / names[0]
    assert (folder / names[1]).read_bytes() == b"GGUF part"
    assert ears.choices == ["Q8_0: as asked for"]
    assert len(hub.asked) == 2


def test_what_the_hugging_face_cache_holds_is_not_fetched_again(
    hub: FakeHub, fetch: Fetch, machine: Path, model: bytes
) -> None:
    link = put_in_hub(machine / ".cache/huggingface/hub", REPOSITORY, "c0ffee", FILE, model)
    import hashlib

    blob = link.resolve()
    named = blob.with_name(hashlib.sha256(model).hexdigest())
    blob.rename(named)
    link.unlink()
    link.symlink_to(named)
    assert fetch() == Pulled(link, True)
    assert hub.asked == []
    assert find_pulled(REPOSITORY, None, ()) == Pulled(link, True)


def test_offline_only_this_machine_is_looked_at(hub: FakeHub, fetch: Fetch) -> None:
    with pytest.raises(UserError, match="is not on this machine"):
        find_pulled(REPOSITORY, None, ())
    fetch()
    assert find_pulled("ORG/tiny-gguf", "F32", ()).path == target()
    assert find_pulled(REPOSITORY, "Tiny-Q4_K_M", ()).path == target()
    with pytest.raises(UserError, match="these are on this machine: Tiny-Q4_K_M"):
        find_pulled(REPOSITORY, "Q8_0", ())


def test_only_one_program_fetches_a_file(hub: FakeHub, fetch: Fetch) -> None:
    with pulling._alone(target()), pytest.raises(UserError, match="Another program is fetching"):
        fetch()


@pytest.mark.parametrize("name", ["../../evil-Q4_0.gguf", "/etc/evil-Q4_0.gguf", "a\\b-Q4_0.gguf"])
def test_a_file_cannot_choose_its_folder(hub: FakeHub, fetch: Fetch, name: str) -> None:
    hub.repositories[REPOSITORY] = {name: b"GGUF"}
    assert "impossible name" in complaint(fetch)


def test_without_the_client_library_the_sentence_says_how_to_get_it(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "pip install 'sssd-chat[hub]'" in complaint(fetch)


def test_only_the_owner_can_read_what_was_fetched(hub: FakeHub, fetch: Fetch) -> None:
    path = fetch().path
    assert path.parent.stat().st_mode & 0o077 == 0
    assert path.stat().st_mode & 0o777 == 0o600
