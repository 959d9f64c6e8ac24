"""Fractions as JSON wants them: per cent, and None for what does not exist."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike


def percent(fraction: ArrayLike | None) -> float | None:
    """0.25 -> 25.0; NaN and None -> None."""
    return None if fraction is None or np.isnan(fraction) else 100.0 * float(np.asarray(fraction))


def percents(fractions: Iterable[float]) -> list[float] | None:
    """An interval: both ends, or None if it does not exist."""
    ends = [percent(fraction) for fraction in fractions]
    known = [end for end in ends if end is not None]
    return known if len(known) == len(ends) else None
