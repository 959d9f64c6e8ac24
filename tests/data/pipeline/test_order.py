"""The order of samples: a permutation each pass, from nothing but seed, stream and pass."""

import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endotransfer.data.pipeline.order import (
    ClassOrder,
    Order,
    RareClassOrder,
    augmentation_seed,
    permutation,
    stable_hash,
)
from endotransfer.errors import DataError


@settings(deadline=None)
@given(seed=st.integers(0, 2**40), length=st.integers(1, 40), epoch=st.integers(0, 5))
def test_every_pass_visits_every_sample_once(seed: int, length: int, epoch: int) -> None:
    order = Order(seed, "target", length)
    entries = [order.entry(position) for position in range(epoch * length, (epoch + 1) * length)]
    assert {entry[0] for entry in entries} == {epoch}
    assert sorted(entry[1] for entry in entries) == list(range(length))


def test_seed_stream_and_pass_each_change_the_order() -> None:
    orders = [(0, "masked", 0), (1, "masked", 0), (0, "target", 0), (0, "masked", 1)]
    assert len({tuple(permutation(*order, 50)) for order in orders}) == len(orders)


def test_all_orders_are_about_equally_likely() -> None:
    seen = [tuple(permutation(seed, "target", 0, 3)) for seed in range(3000)]
    counts = [seen.count(order) for order in set(seen)]
    assert len(counts) == 6
    assert min(counts) > 400  # 500 expected, standard deviation 20


def test_order_and_seeds_never_change_between_versions() -> None:
    assert permutation(7, "target", 3, 8).tolist() == [1, 7, 4, 6, 3, 2, 5, 0]
    assert augmentation_seed(7, "target", 3, "a/b") == 5394767551177313037


def test_seeds_are_the_same_in_another_process() -> None:
    code = "from endotransfer.data.pipeline.order import *; print(augmentation_seed(1, 'target', 2, 'folder/é'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(printed) == augmentation_seed(1, "target", 2, "folder/é")


def test_augmentation_seed_depends_on_all_its_parts() -> None:
    parts = [(0, "s", 0, "k"), (1, "s", 0, "k"), (0, "t", 0, "k"), (0, "s", 1, "k"), (0, "s", 0, "l")]
    assert len({augmentation_seed(*part) for part in parts}) == len(parts)


def test_hash_tells_where_one_part_ends_and_what_it_is() -> None:
    assert len({stable_hash("ab", "c"), stable_hash("a", "bc"), stable_hash("1"), stable_hash(1)}) == 4
    assert 0 <= stable_hash("x") < 2**63  # what torch and numpy accept as a seed


def test_a_cached_order_cannot_be_spoilt() -> None:
    with pytest.raises(ValueError, match="read-only"):
        permutation(0, "target", 0, 5)[0] = 3


def test_an_empty_stream_is_named() -> None:
    with pytest.raises(DataError, match="no image for 'tag-only'"):
        Order(0, "tag-only", 0)


PRESENT = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]], bool)  # class 2 is nowhere


def test_by_class_every_class_comes_up_equally_often() -> None:
    order = ClassOrder(0, "masked", PRESENT)
    chosen = [order.entry(position) for position in range(400)]
    rare = [index for epoch, index in chosen if epoch % 2 == 1]
    assert len(rare) == 200  # one of every two positions was chosen for class 1
    assert {index for _, index in chosen} == set(range(5))
    assert set(rare) == {2, 4} and rare.count(2) == rare.count(4)


def test_by_class_no_image_is_shown_twice_in_one_pass() -> None:
    order = ClassOrder(3, "masked", PRESENT)
    chosen = [order.entry(position) for position in range(60)]
    assert len(set(chosen)) == 60
    assert [ClassOrder(3, "masked", PRESENT).entry(position) for position in range(60)] == chosen
    assert [ClassOrder(4, "masked", PRESENT).entry(position) for position in range(60)] != chosen


def test_by_class_without_any_class_is_an_error() -> None:
    with pytest.raises(DataError, match="shows any class"):
        ClassOrder(0, "masked", np.zeros((3, 2), bool))


# Pixels of three classes: the second is rare and in two images, the third in none.
PIXELS = np.array([[90, 0, 0], [90, 0, 0], [80, 10, 0], [90, 0, 0], [70, 20, 0]])


def literal_chances(temperature: float) -> list[float]:
    """softmax((1 - share of all pixels) / temperature), of the classes that there are."""
    shares = [420 / 450, 30 / 450]
    weights = [math.exp((1 - share) / temperature) for share in shares]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 10.0])
def test_rare_classes_are_drawn_by_the_literal_chances(temperature: float) -> None:
    order = RareClassOrder(0, "masked", PIXELS, temperature)
    chances = literal_chances(temperature)
    assert order.chances.tolist() == pytest.approx(chances)
    seen = Counter(order.entry(position)[1] for position in range(4000))
    # Drawn for the common class any image may come, for the rare one two of them.
    expected = [chances[0] / 5 + (chances[1] / 2 if image in (2, 4) else 0) for image in range(5)]
    assert [seen[image] / 4000 for image in range(5)] == pytest.approx(expected, abs=0.03)


def test_at_daformers_temperature_only_images_of_the_rare_class_are_shown() -> None:
    order = RareClassOrder(0, "masked", PIXELS, 0.01)
    assert {order.entry(position)[1] for position in range(200)} == {2, 4}


def test_a_rare_class_order_is_a_function_of_seed_stream_and_position() -> None:
    one, same, other = (RareClassOrder(seed, "masked", PIXELS, 1.0) for seed in (3, 3, 4))
    entries = [one.entry(position) for position in range(60)]
    assert len(set(entries)) == 60  # an image that comes again is augmented anew
    assert [same.entry(position) for position in reversed(range(60))] == entries[::-1]
    assert [other.entry(position)[1] for position in range(60)] != [index for _, index in entries]
    with pytest.raises(DataError, match="shows any class"):
        RareClassOrder(0, "masked", np.zeros((3, 2), np.int64), 1.0)
