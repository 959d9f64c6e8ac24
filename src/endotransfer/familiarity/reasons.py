"""Why an image is unlike the training images, in words: the first that fits, from what is plain to see on."""

from collections.abc import Callable, Mapping

FAR = 3.0  # standard deviations of the training images; a single sign must be far off to be named
UNLIKE = "unlike the training images"  # nothing in particular: colours, textures, what the network sees
Deviations = Mapping[str, float]  # of each sign, in standard deviations

REASONS: dict[str, Callable[[Deviations, Mapping[str, float]], bool]] = {
    # What can be seen (second) and how unusual it is here (first).
    "almost black": lambda off, seen: seen["bright"] < 0.1 and off["bright"] < -FAR,
    "almost white": lambda off, seen: seen["dark"] > 0.9 and off["dark"] > FAR,
    "one colour": lambda off, seen: seen["contrast"] < -11 and off["contrast"] < -FAR,
    "underexposed": lambda off, seen: off["bright"] < -FAR and seen["bright"] < 0.3,
    "overexposed": lambda off, seen: off["middle"] > FAR and off["bright"] > FAR and seen["bright"] > 0.8,
    "noise": lambda off, seen: off["grain"] > FAR and off["fine"] > FAR,
    "blurred": lambda off, seen: off["fine"] < -FAR and off["coarse"] < -FAR,
    "without colour": lambda off, seen: off["red_spread"] < -2 * FAR and off["yellow_spread"] < -2 * FAR,
}


def reason_for(off: Deviations, seen: Mapping[str, float]) -> str:
    """`seen`: the signs themselves; `off`: how far each is from those of the training images."""
    return next((reason for reason, holds in REASONS.items() if holds(off, seen)), UNLIKE)
