"""A prediction outside Python: as a PNG file, or as HTML for a notebook."""

import base64
import io
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.errors import ConfigError, DataError
from endotransfer.io import write_atomically
from endotransfer.predict.prediction import Prediction

WIDEST = 1024  # pixels of a side in a notebook, which keeps every output it shows


def save_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    """`pixels` uint8 [H, W] or [H, W, 3]."""
    if path.suffix.lower() != ".png":
        raise ConfigError(f"predictions are saved as PNG, which keeps every pixel; name the file {path.stem}.png.")
    write_atomically(path, as_png(pixels), DataError)


def as_png(pixels: NDArray[np.uint8], longest: int | None = None) -> bytes:
    """Shrunk where a side is longer than `longest`."""
    image = Image.fromarray(pixels)
    if longest is not None:
        image.thumbnail((longest, longest))
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def as_html(prediction: Prediction) -> str:
    """The overlay as an embedded picture, and the area of each class below it."""
    picture = base64.b64encode(as_png(prediction.overlay(), WIDEST)).decode()
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{pixels}</td><td>{100 * pixels / prediction.mask.size:.1f} %</td></tr>"
        for name, pixels in prediction.areas.items()
    )
    tag, found = prediction.lesion_probability, prediction.unfamiliarity
    told = [] if tag is None else [f"lesion probability {tag:.3f}"]
    told += [] if found is None or found.reason is None else [f"warning: {found.reason}"]
    caption = f"<caption>{', '.join(told)}</caption>" if told else ""
    return (
        f'<img src="data:image/png;base64,{picture}" alt="prediction" style="max-width: 100%">'
        f"<table>{caption}<tr><th>class</th><th>pixels</th><th>share</th></tr>{rows}</table>"
    )
