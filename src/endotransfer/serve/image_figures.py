"""What the viewer knows of an image once the models have seen it; sent to the page as JSON."""

from typing import TypedDict


class ModelFigures(TypedDict, total=False):
    """One model on one image; the IoUs only where the image has a ground truth."""

    area: float  # share of pixels that are not class 0
    shares: list[float]  # by class
    doubt: float  # along the edges of the mask
    lesion_probability: float | None
    unfamiliarity: float | None  # above 1: unlike the images that the model was trained for; None: it cannot tell
    unfamiliar: str | None  # why it is
    iou: list[float | None]  # by class
    iou_lesion: float | None


class ImageFigures(TypedDict, total=False):
    """Sizes are [H, W].  The last four are what the list of images can be sorted by."""

    size: list[int]  # of the file
    shown: list[int]  # of the copy that is shown, predicted and drawn on
    models: list[ModelFigures]
    area: float
    doubt: float
    disagreement: float | None
    differing: float | None  # share of the image: ranks images that disagree alike
