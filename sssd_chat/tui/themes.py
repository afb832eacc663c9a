"""The two themes of the app: quiet greys and one accent."""

from __future__ import annotations

from textual.color import Color
from textual.theme import Theme

_MUTED_BLEND = 0.4
_QUIET_BLEND = 0.8

DARK = Theme(
    name="sssd-dark",
    primary="#6fbfae",
    secondary="#8d97a8",
    accent="#6fbfae",
    foreground="#d9dde4",
    background="#14171c",
    surface="#1a1e25",
    panel="#232831",
    success="#6fbfae",
    warning="#d8ad66",
    error="#dc7b73",
    dark=True,
    variables={
        "border": "#3a414d",
        "scrollbar": "#3a414d",
        "scrollbar-hover": "#8d97a8",
        "scrollbar-active": "#6fbfae",
        "scrollbar-background": "#14171c",
        "scrollbar-background-hover": "#14171c",
        "scrollbar-background-active": "#14171c",
        "border-blurred": "#3a414d",
        "footer-key-foreground": "#6fbfae",
        "block-cursor-text-style": "none",
        "input-selection-background": "#6fbfae 30%",
    },
)

LIGHT = Theme(
    name="sssd-light",
    primary="#0f766e",
    secondary="#5b6472",
    accent="#0f766e",
    foreground="#272b32",
    background="#fcfbf8",
    surface="#f4f2ed",
    panel="#e9e6df",
    success="#0f766e",
    warning="#9a6412",
    error="#b3362c",
    dark=False,
    variables={
        "border": "#c9c4b9",
        "scrollbar": "#c9c4b9",
        "scrollbar-hover": "#5b6472",
        "scrollbar-active": "#0f766e",
        "scrollbar-background": "#fcfbf8",
        "scrollbar-background-hover": "#fcfbf8",
        "scrollbar-background-active": "#fcfbf8",
        "border-blurred": "#c9c4b9",
        "footer-key-foreground": "#0f766e",
        "block-cursor-text-style": "none",
        "input-selection-background": "#0f766e 25%",
    },
)


_SOURCES_DARK = {
    "source-conversation": "#6fbfae",
    "source-chats": "#d8ad66",
    "source-documents": "#82aee6",
    "source-starter": "#a5c18f",
    "source-runner-ups": "#c49ac9",
}
_SOURCES_LIGHT = {
    "source-conversation": "#0f766e",
    "source-chats": "#8a560c",
    "source-documents": "#1f5fb0",
    "source-starter": "#4d7030",
    "source-runner-ups": "#8a3f91",
}


def extra_colours(theme: Theme) -> dict[str, str]:
    """Colours that Textual's themes lack: `muted` for words that matter less, `quiet` for lines,
    `code-string`, and one for each source of drafts. Terminal colours cannot be mixed, so there
    they are its own."""
    if theme.ansi:
        grey = "ansi_bright_black" if theme.dark else "ansi_white"
        return {
            "muted": "ansi_bright_black",
            "quiet": grey,
            "code-string": "ansi_green",
            "source-conversation": "ansi_cyan",
            "source-chats": "ansi_yellow",
            "source-documents": "ansi_blue",
            "source-starter": "ansi_green",
            "source-runner-ups": "ansi_magenta",
        }
    text = Color.parse(theme.foreground or ("#e0e0e0" if theme.dark else "#1f1f1f"))
    background = Color.parse(theme.background or ("#121212" if theme.dark else "#e0e0e0"))
    return {
        "muted": text.blend(background, _MUTED_BLEND).hex,
        "quiet": text.blend(background, _QUIET_BLEND).hex,
        "code-string": "#a5c18f" if theme.dark else "#4d7030",
        **(_SOURCES_DARK if theme.dark else _SOURCES_LIGHT),
    }
