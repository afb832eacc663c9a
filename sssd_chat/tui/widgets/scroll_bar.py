"""A scroll bar that is quick to draw: beside a text that comes it changes with every line."""

from __future__ import annotations

from rich.color import Color
from rich.style import Style as RichStyle
from textual.css.styles import RulesMap
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class QuickBar(ScrollBarRender, Visual):
    """Gives Textual the lines of its bar as they are. Its own way, through Rich's layout, takes as
    long as all of the text beside the bar."""

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """One cell for each line."""
        colours = self.style if isinstance(self.style, RichStyle) else RichStyle.parse(self.style)
        drawn = self.render_bar(
            size=height or 0,
            virtual_size=self.virtual_size,
            window_size=self.window_size,
            position=self.position,
            thickness=width,
            vertical=True,
            back_color=colours.bgcolor or Color.default(),
            bar_color=colours.color or Color.default(),
        )
        # Most lines are the same one.
        strips = {id(segment): Strip([segment], width) for segment in drawn.segments}
        return [strips[id(segment)] for segment in drawn.segments]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """As wide as it was made."""
        return self.thickness

    def get_height(self, rules: RulesMap, width: int) -> int:
        """As high as there is room for."""
        return 1
