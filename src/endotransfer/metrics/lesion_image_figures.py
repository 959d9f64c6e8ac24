"""Who localises: the IoU of the lesion over the test images that have one.

Normal images, mostly many, cannot raise or lower it.  Painting all of every image scores the share of these images
that is lesion, some ten to twenty per cent; read it beside `normal_painted`.
"""

from endotransfer.metrics.figure import Figure, register
from endotransfer.metrics.rates import lesion_iou

register(
    Figure(
        name="iou_lesion_within", label="IoU w", title="IoU of lesions within lesion images",
        description="lesions, over the test images that have one", statistic=lesion_iou, images="lesion",
        needs="lesions", shown="main", interval=True, order=33,
    ),
)  # fmt: skip
