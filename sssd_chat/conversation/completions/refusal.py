"""Why a request is not answered, in OpenAI's form."""

from __future__ import annotations

from sssd_chat.errors import UserError

INVALID = "invalid_request_error"
SERVER_ERROR = "server_error"


class RequestRefused(UserError):
    """A request that is not answered. The message says in one sentence why."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: str = INVALID,
        status: int = 400,
        retry_after: int | None = None,
    ) -> None:
        """`param` names the field, as in `messages[0].content`; `code` is for programs; `kind` is
        what OpenAI calls the type; `status` is that of HTTP; `retry_after` is in seconds."""
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    def as_json(self) -> dict[str, object]:
        """The body of the reply."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        }


def failed_inside() -> RequestRefused:
    """A mistake of the program, whose details are in the log."""
    return RequestRefused(
        "Something went wrong inside the server; its log has the details.",
        kind=SERVER_ERROR,
        code="internal_error",
        status=500,
    )


def failed_writing(reason: str) -> RequestRefused:
    """An answer that could not be written to its end; `reason` is one sentence."""
    return RequestRefused(reason, kind=SERVER_ERROR, code="generation_failed", status=500)
