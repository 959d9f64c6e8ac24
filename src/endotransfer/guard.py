"""Limits on images from outside, checked from the header before anything is decoded."""

FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")  # decided by content, never by the file's name
MAX_PIXELS = 40_000_000  # 120 MB as RGB
MAX_SIDE = 10_000
MAX_FRAMES = 1


def oversize(height: int, width: int) -> str | None:
    """What is wrong with an image of this size, or None."""
    if height < 1 or width < 1:
        return f"is {width} x {height} pixels, which is nothing"
    if max(height, width) > MAX_SIDE or height * width > MAX_PIXELS:
        limits = f"{MAX_SIDE:,} a side and {MAX_PIXELS // 1_000_000} million"
        return f"is {width} x {height} pixels, more than {limits}"
    return None


def too_many_frames(frames: int) -> str | None:
    """What is wrong with a file that holds this many pictures, or None."""
    return f"holds {frames} pictures instead of one" if frames > MAX_FRAMES else None
