"""A prediction as a matplotlib figure: the image beside its overlay, with the colours of the classes."""

from matplotlib import pyplot
from matplotlib.backends.registry import BackendFilter, backend_registry
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from endotransfer.predict.overlay import COLOURS
from endotransfer.predict.prediction import Prediction


def plot(prediction: Prediction) -> Figure:
    """Open it where the backend has windows; elsewhere close it in pyplot, so that a notebook shows it only once."""
    drawn = prediction.overlay()
    figure: Figure = pyplot.figure(figsize=(8, 4), layout="constrained")
    pictures = (("image", prediction.image), ("prediction", drawn))
    for cell, (title, pixels) in zip(figure.subplots(1, 2), pictures, strict=True):
        cell.imshow(drawn if pixels is None else pixels)
        cell.set_title(title)
        cell.set_axis_off()
    figure.legend(handles=_legend(prediction), loc="outside lower center", ncols=4)
    with_windows = backend_registry.list_builtin(BackendFilter.INTERACTIVE)  # type: ignore[no-untyped-call]
    if pyplot.get_backend().lower() in with_windows:
        figure.show()
    else:
        pyplot.close(figure)
    return figure


def _legend(prediction: Prediction) -> list[Patch]:
    """Every class but 0, which is not drawn, with its share of the image."""
    areas = list(prediction.areas.items())[1:]
    return [
        Patch(color=COLOURS[index % len(COLOURS)] / 255, label=f"{name} ({100 * pixels / prediction.mask.size:.1f} %)")
        for index, (name, pixels) in enumerate(areas)
    ]
