import pytest

from endotransfer.pseudo_labels.portion import portion


def test_grows_by_five_points_from_25_to_55_per_cent() -> None:
    expected = [0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.55, 0.55]
    assert [portion(epoch) for epoch in range(9)] == pytest.approx(expected)


def test_follows_its_settings() -> None:
    assert portion(2, start=0.1, step=0.2, stop=0.9) == pytest.approx(0.5)
