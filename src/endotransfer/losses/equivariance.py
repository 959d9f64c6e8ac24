"""SEAM's equivariant regularisation (Wang, Zhang, Kan, Shan, Chen, CVPR 2020): a map must not depend on the scale."""

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION
from endotransfer.distributed import global_mean
from endotransfer.models.activation_maps import normalised


def equivariance_loss(whole: Tensor, small: Tensor, tags: Tensor) -> Tensor:
    """L_ER = |A(CAM(I)) - CAM(A(I))|_1: the map of an image, rescaled, against that of the rescaled image.

    Activations [B, h, w] of the image and [B, h', w'] of the rescaled one, each normalised to its own range; the mean
    over the cells of images tagged (tags [B]) lesion.  A class that is not in an image has no map to speak of.
    """
    sized = interpolate(normalised(whole)[:, None], size=small.shape[-2:], mode="bilinear", align_corners=False)
    apart = (sized.squeeze(1) - normalised(small)).abs().mean((1, 2))
    lesion = tags == LESION
    return global_mean(torch.where(lesion, apart, 0).sum(), lesion.sum())
