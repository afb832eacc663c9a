"""The panel beside the chat: what drafting gains, live. One file a section."""

from sssd_chat.tui.widgets.panel.panel import LivePanel

__all__ = ["LivePanel"]
