"""Names and the nearest right one."""

from typing import Any

import pytest

from endotransfer.errors import ConfigError
from endotransfer.registry import Registry, nearest


@pytest.fixture
def fruit() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    registry.add("pear", 2)
    registry.add("apple", 1)
    return registry


def test_things_come_back_by_name_and_in_order(fruit: Registry[int]) -> None:
    assert fruit.get("pear") == 2
    assert fruit.names() == ["apple", "pear"]
    assert list(fruit.items()) == [("apple", 1), ("pear", 2)]


def test_a_wrong_name_answers_with_the_nearest(fruit: Registry[int]) -> None:
    with pytest.raises(ConfigError, match=r"no fruit called 'aple'; did you mean 'apple'\? Known: apple, pear\."):
        fruit.get("aple")


@pytest.mark.parametrize("name", [["apple"], {"apple": 1}, 3, None])
def test_what_is_no_text_is_no_name(fruit: Registry[int], name: Any) -> None:
    with pytest.raises(ConfigError, match="no fruit called"):
        fruit.get(name)


def test_two_things_cannot_share_a_name(fruit: Registry[int]) -> None:
    assert fruit.add("pear", 2) == 2
    with pytest.raises(ConfigError, match="two fruits are called 'pear'"):
        fruit.add("pear", 3)


def test_nothing_is_near_to_nonsense() -> None:
    assert nearest("qqqq", ["b", "a"]) == "Known: a, b."
