"""Labels that a teacher gives the target's images on the fly, and how far each image's are to be trusted (DACS)."""

from torch import Tensor

from endotransfer.batch import at_least_float32


def labels_and_quality(logits: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Logits [B, K, H, W] -> the likeliest class of each pixel, [B, H, W], and the quality of each image's labels, [B].

    q = the share of the image's pixels whose largest probability is at least `threshold` (tau in the paper).
    """
    confidence, labels = at_least_float32(logits).softmax(1).max(1)
    return labels, (confidence >= threshold).to(confidence.dtype).mean((1, 2))
