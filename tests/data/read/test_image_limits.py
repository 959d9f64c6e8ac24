"""The limits themselves."""

from endotransfer.data.read.image_limits import oversize, too_many_frames


def test_sizes_up_to_the_limits_pass() -> None:
    assert oversize(4_000, 10_000) is None
    assert oversize(1, 1) is None
    assert too_many_frames(1) is None


def test_sizes_beyond_are_explained() -> None:
    assert "40 million" in (oversize(4_001, 10_000) or "")
    assert "10,000" in (oversize(1, 10_001) or "")
    assert "nothing" in (oversize(0, 5) or "")
    assert "several pictures" in (too_many_frames(2) or "")
