"""A small SVG canvas: accessible, readable in light and in dark, the same text for the same numbers."""

from __future__ import annotations

from html import escape

STYLE = """
.fig{--ink:#1c2430;--soft:#5b6675;--line:#c5ccd6;--accent:#1f5fa8;--warm:#a8430b;--wash:#dbe7f5;--paper:#fff}
@media (prefers-color-scheme:dark){.fig{--ink:#e6eaf0;--soft:#aab4c2;--line:#4a5565;--accent:#8ab8f2;--warm:#f2a66b;
--wash:#24405f;--paper:#1e2129}}
"""
CLASSES = """
.fig text{font-family:system-ui,sans-serif;font-size:13px;fill:var(--ink);stroke:none}
.fig .small{font-size:11.5px;fill:var(--soft)}.fig .mid{text-anchor:middle}.fig .end{text-anchor:end}
.fig .bold{font-weight:600}.fig .accent-text{fill:var(--accent)}.fig .warm-text{fill:var(--warm)}
.fig .axis{stroke:var(--line);stroke-width:1;fill:none}.fig .ink{stroke:var(--ink);fill:none}
.fig .accent{stroke:var(--accent);stroke-width:2.2;fill:none}.fig .warm{stroke:var(--warm);stroke-width:2.2;fill:none}
.fig .soft{stroke:var(--soft);stroke-width:2.2;fill:none}.fig .dash{stroke-dasharray:6 4}
.fig .fill-accent{fill:var(--accent)}.fig .fill-warm{fill:var(--warm)}.fig .fill-wash{fill:var(--wash)}
.fig .fill-line{fill:var(--line)}.fig .fill-ink{fill:var(--ink)}
"""


def number(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


class Canvas:
    """What has been drawn so far; `svg()` is the file."""

    def __init__(self, name: str, width: int, height: int, title: str, description: str) -> None:
        self.name, self.width, self.height = name, width, height
        self.title, self.description = title, description
        self.parts: list[str] = []

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """Words at a point; `kind` may say small, bold, mid or end."""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" class="{kind}">{escape(words)}</text>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, kind: str = "axis", width: float = 0.0
    ) -> None:
        """A straight line."""
        style = f' style="stroke-width:{number(width)}"' if width else ""
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self.parts.append(f'<line {ends} class="{kind}"{style}/>')

    def path(self, points: list[tuple[float, float]], kind: str = "accent", close: bool = False) -> None:
        """A line through points."""
        steps = " L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.parts.append(f'<path d="M{steps}{"Z" if close else ""}" class="{kind}"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, opacity: float = 1.0) -> None:
        """A filled rectangle."""
        see = f' style="opacity:{number(opacity)}"' if opacity < 1 else ""
        size = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self.parts.append(f'<rect {size} class="{kind}"{see}/>')

    def dot(self, x: float, y: float, radius: float, kind: str = "fill-accent") -> None:
        """A filled circle."""
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="{kind}"/>')

    def svg(self) -> str:
        """The file."""
        known = f'aria-labelledby="{self.name}-title {self.name}-desc"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="fig" role="img" {known} '
                f'viewBox="0 0 {self.width} {self.height}" width="{self.width}">',
                f'<title id="{self.name}-title">{escape(self.title)}</title>',
                f'<desc id="{self.name}-desc">{escape(self.description)}</desc>',
                f"<style>{STYLE}{CLASSES}</style>",
                *self.parts,
                "</svg>\n",
            ]
        )


class Plot:
    """Two axes on a canvas: `at` turns values into points."""

    def __init__(
        self,
        canvas: Canvas,
        box: tuple[float, float, float, float],
        across: tuple[float, float],
        up: tuple[float, float],
    ) -> None:
        self.canvas, self.box, self.across, self.up = canvas, box, across, up
        left, top, width, height = box
        canvas.line(left, top + height, left + width, top + height)
        canvas.line(left, top, left, top + height)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a pair of values lies."""
        left, top, width, height = self.box
        share = (x - self.across[0]) / (self.across[1] - self.across[0])
        rise = (y - self.up[0]) / (self.up[1] - self.up[0])
        return left + width * share, top + height * (1 - rise)

    def ticks(self, across: dict[float, str], up: dict[float, str]) -> None:
        """Labels at values of both axes."""
        for x, label in across.items():
            spot, low = self.at(x, self.up[0])
            self.canvas.line(spot, low, spot, low + 4)
            self.canvas.text(spot, low + 18, label, "small mid")
        for y, label in up.items():
            low, spot = self.at(self.across[0], y)
            self.canvas.line(low - 4, spot, low, spot)
            self.canvas.text(low - 7, spot + 4, label, "small end")

    def titles(self, across: str, up: str) -> None:
        """What the axes are."""
        left, top, width, height = self.box
        self.canvas.text(left + width, top + height + 36, across, "small end")
        self.canvas.text(left - 4, top - 10, up, "small")

    def curve(self, xs: list[float], ys: list[float], kind: str) -> None:
        """A line through values."""
        self.canvas.path([self.at(x, y) for x, y in zip(xs, ys, strict=True)], kind)
