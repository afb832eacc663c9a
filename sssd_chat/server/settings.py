"""How the server is reached, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass

from sssd_chat.server.access import ApiKey, is_loopback


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """See the module."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0 takes a free one."""
    keys: tuple[ApiKey, ...] = ()
    """Who may ask; everybody on this machine when there is none."""
    origin: str | None = None
    """The web page whose scripts may ask, as "https://example.org"; "*" for any, None for none."""
    parallel: int = 4
    """Answers written at once."""
    most_waiting: int = 64
    """Answers that may wait for their turn."""
    most_body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 30.0
    """How long a client may take to send its request."""
    stalled_seconds: float = 60.0
    """How long a client may read nothing before it counts as gone."""
    grace_seconds: float = 10.0
    """How long answers go on when the server is told to stop."""

    @property
    def is_for_this_machine(self) -> bool:
        """Whether only programs of this machine can reach it."""
        return is_loopback(self.host)
