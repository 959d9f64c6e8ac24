"""Damage from a seed: bytes, and the values of JSON."""

import copy
import random
from typing import Any

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, -(2**63), 10**30, 1e308, -0.0, "", "x", "../../etc/passwd", "\u202e", "9" * 300,
    [], {}, [[]], {"a": {}}, ["normal"], [None, 1], {"tensor": "none"}, {"tuple": 3}, "2020-01-01", "nan",
]  # fmt: skip


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """Bits flipped, bytes replaced, pieces cut out, doubled or exchanged, the end cut off, anything appended."""
    raw = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 8])):
        place, other = draw.randrange(len(raw) + 1), draw.randrange(len(raw) + 1)
        low, high = min(place, other), max(place, other)
        match draw.randrange(7):
            case 0 if raw:
                raw[place % len(raw)] ^= 1 << draw.randrange(8)
            case 1 if raw:
                raw[place % len(raw)] = draw.randrange(256)
            case 2:
                del raw[low : min(high, low + 50)]
            case 3:
                raw[low:low] = raw[low : min(high, low + 50)]
            case 4:
                del raw[place:]
            case 5:
                raw += draw.randbytes(draw.randrange(1, 40))
            case _:
                raw[place:place] = draw.randbytes(draw.randrange(1, 9))
    return bytes(raw)


def damaged_json(tree: Any, draw: random.Random) -> Any:
    """A copy with one to three values replaced, removed or doubled."""
    changed = copy.deepcopy(tree)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        places = list(_places(changed))
        if not places:
            return changed
        holder, key = draw.choice(places)
        match draw.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[draw.choice(["x", "", key + "_", "checksum", "tensor"])] = holder[key]
            case 2 if isinstance(holder, list):
                holder.append(holder[key])
            case _:
                holder[key] = copy.deepcopy(draw.choice(VALUES))
    return changed


def _places(tree: Any) -> Any:
    """(container, key) of every value."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield tree, key
            yield from _places(value)
