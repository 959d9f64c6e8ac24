"""Predictions as a pandas DataFrame: a row an image, for `predictor.predict_folder(...)`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.errors import ConfigError
from endotransfer.predict.prediction import Prediction
from endotransfer.predict.regions import find_lesions

if TYPE_CHECKING:
    from pandas import DataFrame

Cell = str | int | float | None


def predictions_frame(predictions: Iterable[tuple[Path | str, Prediction]]) -> "DataFrame":
    """One row for each (file, prediction); the columns are those of `prediction_row`."""
    try:
        import pandas
    except ImportError:
        raise ConfigError("pandas, which makes the table, is not installed; install endotransfer[pandas].") from None
    return pandas.DataFrame([prediction_row(file, prediction) for file, prediction in predictions])


def prediction_row(file: Path | str, prediction: Prediction) -> dict[str, Cell]:
    """File, size, figures of the whole image, then pixels (`area_`) and share (`share_`) of each class."""
    height, width = prediction.mask.shape
    row: dict[str, Cell] = {
        "file": str(file),
        "width": width,
        "height": height,
        "lesion_probability": prediction.lesion_probability,
        "confidence": prediction.confidence,
        "lesions": len(find_lesions(prediction.mask, prediction.certainty)),
    }
    found = prediction.unfamiliarity
    row |= {"unfamiliarity": None, "unfamiliar": None}
    row |= {} if found is None else {"unfamiliarity": found.score, "unfamiliar": found.reason}
    row |= {f"area_{name}": pixels for name, pixels in prediction.areas.items()}
    return row | {f"share_{name}": pixels / prediction.mask.size for name, pixels in prediction.areas.items()}
