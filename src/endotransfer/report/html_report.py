"""`endotransfer report`: one HTML page of a run or a benchmark, and every figure in it as PNG and CSV."""

from collections.abc import Callable, Sequence
from pathlib import Path

from markupsafe import Markup
from rich.console import Console

from endotransfer.errors import ConfigError, EndotransferError
from endotransfer.io import write_atomically
from endotransfer.report.benchmark_rows import BenchmarkTable, TableRow
from endotransfer.report.curves import curves_section
from endotransfer.report.gallery import gallery_section
from endotransfer.report.heatmap import heatmap_section
from endotransfer.report.page import Section, fill, missing, whole_page
from endotransfer.report.propagation_figure import propagation_section
from endotransfer.report.ranking import sharing
from endotransfer.report.reliability_figure import reliability_section
from endotransfer.report.results_table import table_section
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Study, read_study
from endotransfer.report.tsne import tsne_section

FOLDER = "report"
Part = tuple[str, str, Callable[[], Section]]  # anchor, title, how it is made


def write_report(
    folder: Path,
    out: Path | None = None,
    *,
    data: Sequence[Path] = (),
    photographs: bool = True,
    force: bool = False,
    console: Console | None = None,
) -> Path:
    """Write `folder`/report/report.html (or `out`) with its figures under `folder`/report/; returns the page's path."""
    console = console or Console()
    if out is not None and out.exists() and not force:
        raise ConfigError(f"{out} exists already; choose another --out, or replace it with --force.")
    study, images = read_study(folder), RunImages(data, photographs=photographs)
    figures = folder / FOLDER
    try:
        figures.mkdir(exist_ok=True)
    except OSError as reason:
        raise ConfigError(f"cannot write to {figures}: {reason.strerror}; copy the folder elsewhere.") from reason
    sections = [_attempt(name, title, build, console) for name, title, build in _parts(study, images, figures)]
    page = out or figures / "report.html"
    write_atomically(page, whole_page(study.title, _head(study), sections), ConfigError)
    return page


def _parts(study: Study, images: RunImages, figures: Path) -> list[Part]:
    table: Part = ("table", "Results", lambda: table_section(study, figures))
    if study.is_sweep:
        return [("sensitivity", "Sensitivity", lambda: heatmap_section(study, figures)), table]
    return [
        *([table] if study.cells else []),
        ("predictions", "Predictions", lambda: gallery_section(study, images, figures)),
        ("calibration", "Calibration", lambda: reliability_section(study, figures)),
        ("propagation", "Pseudo-labels", lambda: propagation_section(study, images, figures)),
        ("features", "Features", lambda: tsne_section(study, images, figures)),
        ("curves", "Loss curves", lambda: curves_section(study, figures)),
    ]


def _attempt(anchor: str, title: str, build: Callable[[], Section], console: Console) -> Section:
    """A part that cannot be drawn becomes a sentence; the rest of the page stands."""
    console.print(f"{title.lower()} ...", markup=False, highlight=False)
    try:
        return build()
    except (EndotransferError, OSError) as reason:
        return Section(anchor, title, missing(f"This part could not be drawn: {reason}"))


def _head(study: Study) -> Markup:
    """What the page is about, and the few figures one looks for first."""
    dates = sorted({cell.results.date for cell in study.cells if cell.results.date})
    images = sorted({cell.results.images for cell in study.cells if cell.results.images is not None})
    systems = len(study.table.rows)
    lead = [
        f"{systems} system{'s' * (systems != 1)}, {len(study.cells)} run{'s' * (len(study.cells) != 1)}",
        f"{'–'.join(f'{n:,}' for n in images)} test images" if images else "",
        " to ".join(dict.fromkeys([*dates[:1], *dates[-1:]])),
    ]
    return fill("head.html", lead=[part for part in lead if part], facts=_facts(study))


def _facts(study: Study) -> list[tuple[str, str, str]]:
    """Name, value, note: the highest mIoU, what it is above the source alone, and the bound above it."""
    measured = [(row, figure.mean) for row in study.table.rows if (figure := row.figures["miou"]) is not None]
    free = sorted(((row, mean) for row, mean in measured if not row.upper_bound), key=lambda pair: -pair[1])
    facts = [("highest mean mIoU", f"{mean:.1f}", _beside(study.table, row)) for row, mean in free[:1]]
    base = next((mean for row, mean in measured if row.label == study.reference), None)
    if free and base is not None and free[0][0].label != study.reference:
        first, mean = free[0]
        sure = "" if first.told_apart else ", not told apart"
        facts.append(("above the reference", f"{mean - base:+.1f}", f"{study.reference} has {base:.1f}{sure}"))
    facts += [("with the target's masks", f"{mean:.1f}", row.label) for row, mean in measured if row.upper_bound]
    return facts


def _beside(table: BenchmarkTable, row: TableRow) -> str:
    """Who has the highest mean, and how many others are not told apart from it."""
    others = sharing(table, row)
    return row.label + (f", not told apart from {len(others)} other{'s' * (len(others) > 1)}" if others else "")
