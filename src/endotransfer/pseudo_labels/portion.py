"""The share of target pixels that get a pseudo-label grows with the epochs: from 25 % to 55 % in the paper."""


def portion(epoch: int, start: float = 0.25, step: float = 0.05, stop: float = 0.55) -> float:
    """The portion p of Algorithm 1 in an epoch (the first that labels is 0)."""
    return min(start + step * epoch, stop)
