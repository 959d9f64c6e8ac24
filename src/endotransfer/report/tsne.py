"""The paper's feature figure: t-SNE of source and target pixels by class, for several systems on the same pixels."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.data.read.read_image import image_size, read_image
from endotransfer.engine.model_folder import TrainedModel
from endotransfer.errors import DataError, EndotransferError
from endotransfer.inference import network_input, to_batch
from endotransfer.predict.predictor import load
from endotransfer.report.csv_file import write_csv
from endotransfer.report.drawing import Theme, draw_figure, panels
from endotransfer.report.page import Section, fill, missing
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Run, Study

SYSTEMS = 6
POINTS = 1200  # of a system: t-SNE of more takes minutes and shows no more
IMAGES = 40  # of a domain
STRIDE = 8  # of the segmenter: one feature vector for 8 x 8 pixels
NEIGHBOURS = 10
SEED = 0
SIZE, MARGINS = (3.25, 3.4), (0.06, 0.06, 0.42, 0.06)  # of a panel, in inches
MARKERS = "o^sDPv*X"
DOMAINS = ("source", "target")
INTRODUCTION = (
    "The features that the pixel classifier sees, one point a pixel of the network's map, the same pixels for every "
    "system: source images, and target test images with their true classes. Where transfer works, points of one class "
    "lie together whatever their domain. t-SNE keeps neighbours, not distances, so the percentage is measured "
    f"before it, in the features: target pixels whose {NEIGHBOURS} nearest source pixels are mostly of their class."
)


@dataclass(frozen=True)
class Points:
    """Pixels of one image: where on a grid of `grid` = (rows, columns), and of which class."""

    sample: Sample
    domain: str
    grid: tuple[int, int]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    classes: NDArray[np.uint8]


@dataclass(frozen=True)
class Embedding:
    system: str
    places: NDArray[np.float32]  # [N, 2]
    agreement: float  # per cent


def tsne_section(study: Study, images: RunImages, folder: Path) -> Section:
    runs = study.shown(SYSTEMS)
    if not runs:
        body = missing("No run folder lies here, only figures, so there are no features to show.")
        return Section("features", "Features", body)
    data = images.of(runs[0])
    shape = runs[0].experiment.data.shape
    points = choose_points(data.masked, "source", data.classes, shape)
    points += choose_points(data.test, "target", data.test_classes, shape)
    domains, classes = names_of(points), np.concatenate([one.classes for one in points])
    embeddings, notes = [], []
    for run in runs:
        try:
            embeddings.append(embed_points(run, points, domains, classes))
        except EndotransferError as reason:
            notes.append(f"{run.label} is not shown: {reason}")
    if not embeddings:
        return Section("features", "Features", missing(" ".join(notes)))
    keys = [one.sample.key for one in points for _ in one.classes]
    names = data.classes.names
    rows = [
        (one.system, domains[n], names[classes[n]], keys[n], float(x), float(y))
        for one in embeddings
        for n, (x, y) in enumerate(one.places)
    ]
    write_csv(folder / "tsne.csv", ("system", "domain", "class", "image", "x", "y"), rows)

    def draw(theme: Theme, columns: int) -> Figure:
        figure, axes = panels(theme, len(embeddings), columns // 2 + columns // 4, size=SIZE, margins=MARGINS, foot=0.3)
        for cell, one in zip(axes, embeddings, strict=True):
            _panel(cell, theme, one, domains, classes)
        figure.legend(handles=_legend(theme, names), loc="lower center", ncols=columns)
        return figure

    alt = "t-SNE of source and target features by class, a panel a system"
    shown = draw_figure(draw, folder / "tsne.png", alt=alt, caption=f"{len(keys)} pixels a system.")
    body = fill("features.html", introduction=INTRODUCTION, shown=shown, notes=notes)
    return Section("features", "Features", body)


def choose_points(samples: Sequence[Sample], domain: str, classes: Classes, shape: tuple[int, int]) -> list[Points]:
    """About as many pixels of each class, from many images; a function of the images' names and masks alone."""
    order = sorted((sample for sample in samples if sample.mask is not None), key=lambda sample: _draw_of(sample.key))
    budget = {k: POINTS // (2 * len(classes)) for k in range(len(classes))}
    share = max(4, 3 * budget[0] // IMAGES)  # of one image, so that no image speaks for a class
    grid = (max(1, shape[0] // STRIDE), max(1, shape[1] // STRIDE))
    chosen: list[Points] = []
    for sample in order[: 4 * IMAGES]:
        if len(chosen) == IMAGES or not any(budget.values()):
            break
        reading = read_checked_mask(sample, image_size(sample.image), classes, keep_contradictions=True)
        labels = at_grid(reading.mask, grid)
        if any(budget.get(int(k)) for k in np.unique(labels)):
            chosen += _points_of(sample, domain, labels, budget, share)
    if not chosen:
        raise DataError(f"no {domain} image has a mask with labelled pixels, so its features have no classes.")
    return chosen


def _points_of(
    sample: Sample, domain: str, labels: NDArray[np.uint8], budget: dict[int, int], share: int
) -> list[Points]:
    """Draw from one image and take what was drawn off the budget."""
    generator = np.random.default_rng(_draw_of(sample.key))
    places = []
    for k in budget:
        found = np.flatnonzero(labels == k)
        count = min(len(found), share, budget[k])
        budget[k] -= count
        places.append(np.sort(generator.choice(found, count, replace=False)))
    flat = np.concatenate(places).astype(np.intp)
    rows, columns = np.unravel_index(flat, labels.shape)
    return [Points(sample, domain, labels.shape, rows, columns, labels[rows, columns])] if len(flat) else []


def at_grid(mask: NDArray[np.uint8], grid: tuple[int, int]) -> NDArray[np.uint8]:
    """The label at the middle of every cell."""
    rows, columns = (((np.arange(n) + 0.5) * size / n).astype(int) for n, size in zip(grid, mask.shape, strict=True))
    return mask[np.ix_(rows, columns)]


def names_of(points: Sequence[Points]) -> list[str]:
    """The domain of every point."""
    return [one.domain for one in points for _ in one.classes]


def embed_points(run: Run, points: Sequence[Points], domains: list[str], classes: NDArray[np.uint8]) -> Embedding:
    predictor = load(run.path)
    features = np.concatenate([features_of(predictor.model, one, predictor.device) for one in points])
    parts = min(50, *features.shape)
    features = PCA(parts, random_state=SEED).fit_transform(features)
    perplexity = min(30.0, (len(features) - 1) / 3)
    places = TSNE(2, perplexity=perplexity, init="pca", random_state=SEED).fit_transform(features)
    return Embedding(run.label, places, agreement(features, domains, classes))


@torch.inference_mode()
def features_of(model: TrainedModel, points: Points, device: torch.device) -> NDArray[np.float32]:
    """[N, C] at the chosen pixels of one image; each domain is shown as itself, where normalisation keeps two."""
    images = to_batch([network_input(read_image(points.sample.image), model.shape)], device)
    domain = "source" if points.domain == "source" else model.domain
    features: torch.Tensor = model.module(images, domain=domain).features[0].float()
    height, width = features.shape[1:]
    rows = points.rows * height // points.grid[0]  # a system whose map is finer or coarser is read at the same place
    columns = points.columns * width // points.grid[1]
    chosen: NDArray[np.float32] = features[:, rows, columns].T.cpu().numpy()
    return chosen


def agreement(features: NDArray[np.float32], domains: list[str], classes: NDArray[np.uint8]) -> float:
    """Target points whose nearest source points are mostly of their class; per cent, each class counting the same."""
    source = np.array(domains) == "source"
    count = min(NEIGHBOURS, int(source.sum()))
    nearest = KNeighborsClassifier(count).fit(features[source], classes[source])
    right = nearest.predict(features[~source]) == classes[~source]
    return float(100 * np.mean([right[classes[~source] == k].mean() for k in np.unique(classes[~source])]))


def _panel(axes: Axes, theme: Theme, one: Embedding, domains: list[str], classes: NDArray[np.uint8]) -> None:
    where = np.array(domains)
    for place, domain in enumerate(DOMAINS):
        for k in np.unique(classes):
            _scatter(axes, one.places[(where == domain) & (classes == k)], theme.cycle[place], int(k))
    axes.set_title(f"{one.system[:40]}\n{one.agreement:.0f} % near source pixels of their class")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(theme.line)


def _scatter(axes: Axes, places: NDArray[np.float32], colour: str, label: int) -> None:
    """Colour is the domain; the marker is the class, and class 0 stays in the background."""
    marker, (x, y) = MARKERS[label % len(MARKERS)], places.T
    if label == 0:
        axes.scatter(x, y, marker=marker, s=7, facecolors="none", edgecolors=colour, linewidths=0.5, alpha=0.6)
    else:
        axes.scatter(x, y, marker=marker, s=9, facecolors=colour, edgecolors="none", alpha=0.85)


def _legend(theme: Theme, names: Sequence[str]) -> list[Line2D]:
    handles = []
    for place, domain in enumerate(DOMAINS):
        for k, name in enumerate(names):
            face = "none" if k == 0 else theme.cycle[place]
            handles.append(Line2D([], [], linestyle="", marker=MARKERS[k % len(MARKERS)], markersize=4,
                                  markeredgecolor=theme.cycle[place], markerfacecolor=face, markeredgewidth=0.7,
                                  label=f"{domain}, {name[:24]}"))  # fmt: skip
    return handles


def _draw_of(key: str) -> int:
    """A number that depends on the image's name alone: shuffles alike in every run and on every machine."""
    return int.from_bytes(hashlib.blake2b(f"{SEED}/{key}".encode(), digest_size=6).digest())
