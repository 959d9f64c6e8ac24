"""Pixels a few rows at a time: what all at once give, whatever the parts."""

import pytest
import torch

from endotransfer.pseudo_labels import in_parts as parts
from endotransfer.pseudo_labels.assign import assign, assign_clear
from endotransfer.pseudo_labels.log_odds import predicted_log_odds


@pytest.mark.parametrize("most", [1, 50, 333, 2**30])
def test_parts_give_what_the_whole_gives(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = 3 * torch.randn(3, 5, 7, 9, generator=torch.Generator().manual_seed(0))
    limits, high = torch.tensor([0.5, -1.0, 0.0, 2.0, 0.1]), torch.full((5,), 0.2)
    monkeypatch.setattr(parts, "MOST_VALUES", 2**30)
    whole = [*predicted_log_odds(logits), assign(logits, limits), assign_clear(logits, high)]
    monkeypatch.setattr(parts, "MOST_VALUES", most)
    found = [*parts.in_parts(predicted_log_odds, logits), assign(logits, limits), assign_clear(logits, high)]
    for part, expected in zip(found, whole, strict=True):  # the last bits follow a row's length: other instructions
        torch.testing.assert_close(part, expected, rtol=1e-6, atol=1e-6)


def test_no_part_is_larger_than_it_may_be_but_for_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(logits: torch.Tensor) -> tuple[torch.Tensor]:
        seen.append(tuple(logits.shape))
        return (logits.sum(1),)

    monkeypatch.setattr(parts, "MOST_VALUES", 4 * 6 * 2)
    parts.in_parts(noted, torch.zeros(2, 4, 5, 6))
    assert seen == 2 * [(1, 4, 2, 6), (1, 4, 2, 6), (1, 4, 1, 6)]


def test_images_come_one_by_one_with_their_places() -> None:
    maps = torch.arange(6.0).view(3, 1, 1, 2)
    found = list(parts.image_by_image(maps))
    assert [place for place, _ in found] == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert torch.equal(torch.cat([part for _, part in found]), maps)
