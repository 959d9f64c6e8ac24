"""The limits themselves."""

from endotransfer.data.read import image_limits as guard


def test_sizes_up_to_the_limits_pass() -> None:
    assert guard.oversize(4_000, 10_000) is None
    assert guard.oversize(1, 1) is None
    assert guard.too_many_frames(1) is None


def test_sizes_beyond_are_explained() -> None:
    assert "40 million" in (guard.oversize(4_001, 10_000) or "")
    assert "10,000" in (guard.oversize(1, 10_001) or "")
    assert "nothing" in (guard.oversize(0, 5) or "")
    assert "2 pictures" in (guard.too_many_frames(2) or "")
