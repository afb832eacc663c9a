"""The Hugging Face Hub: what a repository holds, and its bytes from any place on.

The client library's own download begins again after an interruption; models are large, so the bytes
are fetched here, over that library's connections, with its tokens and its settings.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sssd_chat import __version__
from sssd_chat.errors import UserError
from sssd_chat.models.quantizations import RemoteFile

if TYPE_CHECKING:
    import httpx2

_TIMEOUT = 20.0
"""Seconds without a byte."""
_USUAL_WAIT = 2.0
_LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more patience is not waited for."""
_PASSING = (408, 425, 500, 502, 503, 504)
_NAME = re.compile(r"[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class HubError(UserError):
    """The hub did not give what was asked for."""

    def __init__(self, sentence: str, wait: float | None = None) -> None:
        """`wait` is after how many seconds trying again is worthwhile; None for never."""
        super().__init__(sentence)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Repository:
    """What a repository holds, at one revision."""

    name: str
    revision: str
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """The answer to a request for the bytes of a file."""

    start: int
    """Where in the file it begins: not where it was asked to, if the server cannot do that."""
    length: int | None
    """Bytes of it, where the server says."""
    chunks: Iterator[bytes]
    """Raises HubError when the connection is lost."""


def split_name(text: str) -> tuple[str, str | None]:
    """The repository OWNER/NAME and the quantization of REPO[:QUANT], whose REPO may be the address
    of a page. Raises UserError when it is none."""
    bare = re.sub(r"^(https?://)?(www\.)?(huggingface\.co|hf\.co)/|^hf:(//)?", "", text.strip())
    repository, _, quantization = bare.partition(":")
    parts = repository.strip("/").split("/")
    if len(parts) != 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise UserError(f"{text} is no repository; write it as OWNER/NAME or OWNER/NAME:QUANT.")
    return "/".join(parts), quantization.strip() or None


def is_offline() -> bool:
    """Whether the environment forbids the network (HF_HUB_OFFLINE)."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


class Hub:
    """The hub that HF_ENDPOINT names, or the usual one. Every method may raise HubError."""

    def __init__(self) -> None:
        """Raises UserError when the client library is not installed."""
        try:
            import huggingface_hub.constants
            import huggingface_hub.errors
        except ImportError as error:
            raise UserError(
                "Downloading models needs the package huggingface_hub: install it with "
                "pip install 'sssd-chat[hub]'."
            ) from error
        self._library: Any = huggingface_hub
        self.endpoint = os.environ.get("HF_ENDPOINT") or huggingface_hub.constants.ENDPOINT
        self.endpoint = self.endpoint.rstrip("/")

    def repository(self, name: str) -> Repository:
        """What a repository holds."""
        session = self._library.get_session()
        url = f"{self.endpoint}/api/models/{name}"
        with self._told(name):
            answer = session.get(
                url, params={"blobs": "true"}, headers=self._headers(), timeout=_TIMEOUT
            )
            if answer.status_code >= 400:
                raise self._refusal(name, answer)
            content = answer.json()
            files = tuple(map(_remote_file, content.get("siblings", ())))
            spelled = str(content.get("id", name))
            # Its name becomes a path: no other one than was asked for, but for its capitals.
            spelled = spelled if spelled.casefold() == name.casefold() else name
            return Repository(spelled, str(content.get("sha") or "main"), files)

    def _headers(self) -> dict[str, str]:
        """Those of every request: nothing but the version and the user's token, if there is one."""
        token = self._library.get_token()
        headers = {"User-Agent": f"sssd-chat/{__version__}"}
        return headers | {"Authorization": f"Bearer {token}"} if token else headers

    @contextlib.contextmanager
    def open(self, repository: Repository, file: RemoteFile, start: int) -> Iterator[Body]:
        """The bytes of a file from `start` on."""
        url = self._library.hf_hub_url(
            repository.name, file.name, revision=repository.revision, endpoint=self.endpoint
        )
        headers = self._headers()
        # What is compressed on the way has another length than the file.
        headers["Accept-Encoding"] = "identity"
        if start:
            headers["Range"] = f"bytes={start}-"
        session = self._library.get_session()
        with (
            self._told(repository.name),
            session.stream("GET", url, headers=headers, timeout=_TIMEOUT) as response,
        ):
            if response.status_code == 416:
                yield Body(0, 0, iter(()))
                return
            if response.status_code >= 400:
                raise self._refusal(repository.name, response)
            length = response.headers.get("Content-Length", "")
            yield Body(
                _start(response),
                int(length) if length.isdecimal() else None,
                self._chunks(response),
            )

    def _chunks(self, response: httpx2.Response) -> Iterator[bytes]:
        with self._told(""):
            # Pieces as they come: what is held back to fill a larger one would be lost with the
            # connection.
            yield from response.iter_raw()

    @contextlib.contextmanager
    def _told(self, repository: str) -> Iterator[None]:
        """Turns what the library raises into a sentence."""
        import httpx2

        try:
            yield
        except self._library.errors.OfflineModeIsEnabled as error:
            raise HubError("The network is switched off by HF_HUB_OFFLINE.") from error
        except httpx2.TimeoutException as error:
            raise HubError(f"{self.endpoint} does not answer.", _USUAL_WAIT) from error
        except httpx2.TransportError as error:
            reason = str(error).strip().rstrip(".") or type(error).__name__
            sentence = f"The connection to {self.endpoint} failed: {reason}."
            raise HubError(sentence, _USUAL_WAIT) from error
        except (
            httpx2.HTTPError,
            httpx2.InvalidURL,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            # An endpoint that is no hub answers with something else than JSON, or other JSON.
            raise HubError(f"{self.endpoint} gave no usable answer; check HF_ENDPOINT.") from error

    def _refusal(self, repository: str, response: httpx2.Response) -> HubError:
        status = response.status_code
        page = f"{self.endpoint}/{repository}"
        reason = response.headers.get("X-Error-Code", "")
        if reason == "GatedRepo":
            return HubError(
                f"{repository} has to be asked for: accept its terms on {page}, and set HF_TOKEN "
                "to a token of yours, or log in with `hf auth login`."
            )
        if status in (401, 403):
            return HubError(
                f"{repository} is not open to you, or there is no such repository: check the name, "
                "and set HF_TOKEN to a token that may read it, or log in with `hf auth login`."
            )
        if status == 404:
            return HubError(f"There is no {page}; check the name.")
        if status == 429:
            wait = _retry_after(response)
            if wait > _LONGEST_WAIT:
                return HubError(
                    f"{self.endpoint} has had too many requests; try again in {wait:.0f} seconds."
                )
            return HubError(f"{self.endpoint} has had too many requests; try again later.", wait)
        sentence = f"{self.endpoint} answers with status {status}; try again later."
        return HubError(sentence, _retry_after(response) if status in _PASSING else None)


def _remote_file(sibling: Mapping[str, Any]) -> RemoteFile:
    """A file as the hub lists it; large ones have a checksum."""
    large = sibling.get("lfs")
    size = sibling["size"] if large is None else large["size"]
    return RemoteFile(
        str(sibling["rfilename"]), int(size), None if large is None else str(large["sha256"])
    )


def _start(response: httpx2.Response) -> int:
    """Where the body begins, by the status and Content-Range."""
    place = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(place[1]) if response.status_code == 206 and place else 0


def _retry_after(response: httpx2.Response) -> float:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() and len(value) < 9 else _USUAL_WAIT
