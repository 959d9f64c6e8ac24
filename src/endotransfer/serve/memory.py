"""Memory of large images, given back to the system at once."""

import ctypes


def give_back() -> None:
    """Return what was freed.

    glibc keeps it for the thread's next use: after one image of 40 million pixels that is 120 MB in every worker.
    """
    if _trim is not None:
        _trim(0)


def _find_trim() -> "ctypes._NamedFuncPointer | None":
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return None


_trim = _find_trim()
