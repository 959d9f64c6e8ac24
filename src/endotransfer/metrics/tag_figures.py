"""What can be said of a model where nobody drew target masks: how its masks agree with the tags."""

import numpy as np
from numpy.typing import ArrayLike

from endotransfer.batch import LESION, NORMAL
from endotransfer.metrics.figure import Scalar
from endotransfer.metrics.percent import percent
from endotransfer.metrics.rates import lesion_iou, ratio
from endotransfer.metrics.tag_separation import auroc

NOTE = "no target masks were used; this is not an IoU"


def tag_evidence(
    lesion_pixels: ArrayLike,
    pixels: ArrayLike,
    tags: ArrayLike,
    peak_probability: ArrayLike | None = None,
    teacher_student: ArrayLike | None = None,
) -> dict[str, dict[str, Scalar]]:
    """Agreement with the tags, in per cent, under the one key `tag_evidence`; None where it cannot be had.

    Of each image: `lesion_pixels` [N] predicted as lesion of `pixels` [N]; its tag [N]; the highest lesion
    probability [N]; `teacher_student` [N, K, K], the confusion of the teacher's mask with the student's.
    """
    painted, total, tag = (np.asarray(values) for values in (lesion_pixels, pixels, tags))
    normal, lesion = tag == NORMAL, tag == LESION
    peaks, pairs = peak_probability, teacher_student
    return {
        "tag_evidence": {
            "note": NOTE,
            "images": len(tag),
            "normal_images": int(normal.sum()),
            "lesion_images": int(lesion.sum()),
            "auroc_area": percent(auroc(ratio(painted, total), tag)),
            "auroc_peak": None if peaks is None else percent(auroc(peaks, tag)),
            "lesion_pixels_on_normal_images": percent(ratio(painted[normal].sum(), total[normal].sum())),
            "normal_images_with_lesion_pixel": percent(ratio((painted > 0)[normal].sum(), normal.sum())),
            "lesion_images_with_lesion_pixel": percent(ratio((painted > 0)[lesion].sum(), lesion.sum())),
            "teacher_student_iou": None if pairs is None else percent(lesion_iou(np.asarray(pairs).sum(0))),
        }
    }
