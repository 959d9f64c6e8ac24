"""What a trained model says of an image, for those who click on it."""

from endotransfer.predict.prediction import Pixels
from endotransfer.predict.predictor import Predictor
from endotransfer.predict.prompts.region_graph import Hint


def model_hint(model: Predictor, pixels: Pixels, *, features: bool = False) -> Hint:
    """The probability that a pixel of an image uint8 [H, W, 3] is of any lesion.

    `features`: and what the pixel classifier sees; beside the probability that costs more clicks than it saves
    (docs/viewer.md).
    """
    score = 1 - model.predict(pixels).probabilities[0]
    return Hint(score, model.features(pixels) if features else None)
