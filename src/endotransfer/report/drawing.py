"""One look for every figure: drawn for light and dark pages, for wide and narrow ones, and saved as a PNG."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from endotransfer.errors import DataError
from endotransfer.io import write_atomically
from endotransfer.report.page import data_uri

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

DPI = 160
COLUMNS, COLUMNS_NARROW = 4, 2  # panels side by side on a laptop and on a phone
CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito: safe for colour-blind eyes


@dataclass(frozen=True)
class Theme:
    ink: str
    muted: str
    line: str
    paper: str
    cycle: tuple[str, ...] = CYCLE


LIGHT = Theme(ink="#1d2127", muted="#5f6772", line="#dfe1e5", paper="#ffffff")
DARK = Theme(
    ink="#e4e6ea", muted="#9aa3af", line="#30363e", paper="#14171b",
    cycle=("#56a8e0", "#f08a4b", "#3cc4a0", "#dd94bd", "#e9b949", "#9bd3f5"),
)  # fmt: skip
Draw = Callable[[Theme, int], Figure]  # theme, panels side by side


@dataclass(frozen=True)
class Variant:
    """A figure as PNG, and for which pages it is meant."""

    content: bytes
    media: str  # a CSS media query

    @property
    def uri(self) -> str:
        return data_uri(self.content)

    @property
    def width(self) -> int:
        """In CSS pixels, so that the page does not jump while it loads."""
        return self._css_pixels()[0]

    @property
    def height(self) -> int:
        return self._css_pixels()[1]

    def _css_pixels(self) -> tuple[int, int]:
        with Image.open(io.BytesIO(self.content)) as image:
            return round(image.width * 100 / DPI), round(image.height * 100 / DPI)


@dataclass(frozen=True)
class PageFigure:
    """A figure with its caption; the browser takes the variant that suits its colours and width."""

    variants: list[Variant]
    plain: Variant  # light and wide: for browsers that choose none
    alt: str
    caption: str
    files: tuple[str, str]  # the figure and its data, beside the page


def draw_figure(draw: Draw, path: Path, *, alt: str, caption: str, narrow: bool = True) -> PageFigure:
    """Draw every variant; the light, wide one is also saved as `path`, beside the CSV file of the same name."""
    widths = {"narrow": COLUMNS_NARROW} if narrow else {}
    drawn = {
        (name, width): Variant(_png(draw, theme, columns), _media(name, width))
        for name, theme in (("dark", DARK), ("light", LIGHT))
        for width, columns in (*widths.items(), ("wide", COLUMNS))
    }
    plain = drawn["light", "wide"]
    write_atomically(path, plain.content, DataError)
    return PageFigure([*drawn.values()], plain, alt, caption, (path.name, path.with_suffix(".csv").name))


def _media(theme: str, width: str) -> str:
    return f"(prefers-color-scheme: {theme})" + (" and (max-width: 600px)" if width == "narrow" else "")


def panels(
    theme: Theme, count: int, columns: int, *, size: tuple[float, float], margins: tuple[float, float, float, float],
    foot: float = 0.0,
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """A figure with `count` panels in rows of `columns`, and the list of their axes.

    `size` of a panel with its `margins` (left, right, top, bottom), and `foot` under all of them, in inches: fixed, for
    to have them worked out takes longer than to draw.
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    (width, height), (left, right, top, bottom) = size, margins
    whole = (width * columns, height * rows + foot)
    figure = Figure(figsize=whole, facecolor=theme.paper)
    FigureCanvasAgg(figure)
    spaces = {
        "left": left / whole[0], "right": 1 - right / whole[0],
        "top": 1 - top / whole[1], "bottom": (bottom + foot) / whole[1],
        "wspace": (left + right) / (width - left - right), "hspace": (top + bottom) / (height - top - bottom),
    }  # fmt: skip
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw=spaces).ravel()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def plain_axes(axes: Axes, theme: Theme) -> None:
    """No box, faint horizontal lines: what is drawn should be the data."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", color=theme.line, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def _png(draw: Draw, theme: Theme, columns: int) -> bytes:
    with rc_context(figure_settings(theme)):
        figure = draw(theme, columns)
        raw = io.BytesIO()
        figure.savefig(raw, format="png", dpi=DPI, facecolor=theme.paper)
    small = io.BytesIO()  # 128 colours are enough for lines and letters, and a third of the bytes
    Image.open(raw).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def figure_settings(theme: Theme) -> "dict[RcKeyType, object]":
    return {
        "font.family": "DejaVu Sans", "font.size": 8, "axes.titlesize": 8.5, "axes.titleweight": "regular",
        "axes.titlelocation": "left", "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
        "legend.fontsize": 7.5, "legend.frameon": False, "axes.facecolor": theme.paper, "text.color": theme.ink,
        "axes.titlecolor": theme.ink, "axes.labelcolor": theme.muted, "axes.edgecolor": theme.muted,
        "xtick.color": theme.muted, "ytick.color": theme.muted, "axes.linewidth": 0.6, "lines.linewidth": 1.3,
        "text.parse_math": False,
    }  # fmt: skip
