"""A critic for each class: as many linear layers, none of which sees another class."""

import torch
from torch import Tensor, nn

from endotransfer.models.critics.class_critics import ClassCritics


def literal_scores(critics: ClassCritics, features: Tensor) -> Tensor:
    """Class by class through the slices of the grouped layers: [B, K, C] -> [B, K]."""
    first, _, second, _, last = critics.layers
    classes, channels = features.shape[1:]
    scores = []
    for k in range(classes):
        part, values = slice(k * channels, (k + 1) * channels), features[:, k]
        for layer in (first, second):
            assert isinstance(layer, nn.Conv1d) and layer.bias is not None
            values = (values @ layer.weight[part, :, 0].T + layer.bias[part]).relu()
        assert isinstance(last, nn.Conv1d) and last.bias is not None
        scores.append(values @ last.weight[k, :, 0] + last.bias[k])
    return torch.stack(scores, dim=1)


def test_each_class_has_layers_of_its_own() -> None:
    torch.manual_seed(0)
    critics, features = ClassCritics(3, 4), torch.randn(5, 3, 4)
    torch.testing.assert_close(critics(features), literal_scores(critics, features))
    other = features.clone()
    other[:, 1] += 1
    changed = critics(other) != critics(features)
    assert changed[:, 1].all() and not changed[:, [0, 2]].any()


def test_it_is_as_wide_as_the_features_and_starts_like_linear_layers() -> None:
    critics = ClassCritics(2, 64)
    linear = 2 * sum(weight.numel() for layer in (nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 1))
                     for weight in layer.parameters())  # fmt: skip
    assert sum(weight.numel() for weight in critics.parameters()) == linear
    first = critics.layers[0]
    assert isinstance(first, nn.Conv1d)
    assert 0.9 / 8 < first.weight.abs().max().item() <= 1 / 8  # uniform within 1 / sqrt(64)
