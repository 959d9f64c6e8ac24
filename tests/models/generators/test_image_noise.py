"""Noise by image and step."""

import torch

from endotransfer.models.generators.image_noise import like, uniform_noise


def test_each_map_depends_on_its_key_and_the_step_alone() -> None:
    together = uniform_noise(["a", "b", "c"], 7, (4, 5))
    assert together.shape == (3, 1, 4, 5)
    assert torch.equal(uniform_noise(["c", "a"], 7, (4, 5)), together[[2, 0]])
    assert not torch.equal(uniform_noise(["a"], 8, (4, 5)), together[:1])
    assert not torch.equal(together[0], together[1])


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    torch.manual_seed(1)
    state, first = torch.get_rng_state(), uniform_noise(["a"], 0, (3, 3))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert torch.equal(uniform_noise(["a"], 0, (3, 3)), first)


def test_values_are_uniform_between_minus_one_and_one() -> None:
    values = uniform_noise([str(key) for key in range(20)], 0, (50, 50)).flatten()
    assert -1 <= values.min() < -0.999 and 0.999 < values.max() <= 1
    shares = torch.histc(values, 10, -1, 1) / len(values)
    assert (shares - 0.1).abs().max() < 0.01


def test_a_map_takes_on_device_and_type() -> None:
    maps = uniform_noise(["a"], 0, (2, 2))
    copied = like(maps, torch.zeros(1, dtype=torch.float64))
    assert copied.dtype == torch.float64 and torch.equal(copied.float(), maps)
