"""An image as a vector of the model's own features: what it shows, and what the model doubts in it."""

import numpy as np
import torch
from torch.nn.functional import interpolate

from endotransfer.inference import network_input, to_batch
from endotransfer.predict.prediction import Pixels
from endotransfer.predict.predictor import Predictor
from endotransfer.serve.learning.choose_batch import Features


@torch.inference_mode()
def image_features(predictor: Predictor, pixels: Pixels) -> Features:
    """[2 C]: the mean of the features that the pixel classifier sees, and their mean weighted by doubt.

    The doubt of a place is 1 - |2 s - 1|, with s the probability of the best class but 0 against class 0.
    """
    model = predictor.model
    output = model(to_batch([network_input(pixels, model.shape)], predictor.device))
    features = output.features[0].float()  # [C, h, w]
    shares = output.logits.float().softmax(1)
    best = shares[:, 1:].amax(1, keepdim=True)
    doubt = 1 - (2 * best / (best + shares[:, :1]).clamp_min(1e-9) - 1).abs()
    weight = interpolate(doubt, size=features.shape[1:], mode="bilinear", align_corners=False)[0] + 1e-6
    doubted = (features * weight).sum((1, 2)) / weight.sum()
    found: Features = torch.cat([features.mean((1, 2)), doubted]).cpu().numpy().astype(np.float32)
    return found
