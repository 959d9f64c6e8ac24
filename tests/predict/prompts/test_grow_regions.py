"""Clicks over super-pixels: the equation against a literal twin, and what a person sees."""

import numpy as np
import pytest

from endotransfer.predict.prompts.grow_regions import CONTRAST, ELSEWHERE, LIKE, NEAR, PRIOR, TRUST, GrownImage, grow
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.region_graph import Hint, RegionGraph, neighbours, region_graph, region_means

HEIGHT, WIDTH, MIDDLE, RADIUS = 120, 160, (60, 90), 30


def disc(middle: tuple[int, int] = MIDDLE) -> np.ndarray:
    rows, columns = np.indices((HEIGHT, WIDTH))
    return (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2 < RADIUS**2


def picture(*lesions: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, 3, (HEIGHT, WIDTH, 3))
    pixels = np.where(np.any(lesions, axis=0)[..., None], (190, 60, 70), (150, 120, 90)) + noise
    return np.clip(pixels, 0, 255).astype(np.uint8)


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return float(2 * (one & other).sum() / (one.sum() + other.sum()))


def small_graph(seed: int, *, scored: bool) -> RegionGraph:
    random = np.random.default_rng(seed)
    regions = random.permutation(12).astype(np.int32).reshape(3, 4).repeat(3, 0).repeat(3, 1)
    pairs, borders = neighbours(regions)
    score = random.random(12) if scored else None
    return RegionGraph(regions, random.normal(0, 4, (12, 3)), random.random((12, 2)), score, pairs, borders)


def literal_growth(graph: RegionGraph, positive: list[int], negative: list[int]) -> np.ndarray:
    """The equation row by row, clicked super-pixels held at exactly 1 and 0."""
    count = len(graph.looks)

    def like(one: int, seeds: list[int]) -> float:
        return max((
            np.exp(-sum((graph.looks[one] - graph.looks[k]) ** 2) / LIKE**2
                   - sum((graph.places[one] - graph.places[k]) ** 2) / (2 * NEAR**2)) for k in seeds
        ), default=0.0)  # fmt: skip

    matrix, right = np.zeros((count, count)), np.zeros(count)
    for (one, other), border in zip(graph.pairs, graph.borders, strict=True):
        weight = border * (np.exp(-CONTRAST * sum((graph.looks[one] - graph.looks[other]) ** 2)) + 1e-4)
        for a, b in ((one, other), (other, one)):
            matrix[a, a] += weight
            matrix[a, b] -= weight
    for k in range(count):
        u, v = like(k, positive), max(ELSEWHERE, like(k, negative))
        if graph.score is not None:
            score = min(max(graph.score[k], 0.02), 0.98)
            u, v = 2 * u * score**TRUST, 2 * v * (1 - score) ** TRUST
        matrix[k, k] += PRIOR * (u + v)
        right[k] = PRIOR * u
    for k in [*positive, *negative]:
        matrix[k], right[k] = np.eye(count)[k], float(k in positive)
    return np.linalg.solve(matrix, right)


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_growth_is_the_equation_solved(seed: int, scored: bool) -> None:
    graph = small_graph(seed, scored=scored)
    for positive, negative in (([3], []), ([0, 7], [2]), ([5], [1, 9, 11])):
        found = grow(graph, np.array(positive, np.int64), np.array(negative, np.int64))
        assert found == pytest.approx(literal_growth(graph, positive, negative), abs=2e-3)


def test_neighbours_and_means_pixel_by_pixel() -> None:
    random = np.random.default_rng(1)
    regions = random.integers(0, 4, (7, 9), np.int32)
    regions[0, :4] = range(4)  # none is empty
    values = random.random((7, 9, 2))
    borders: dict[tuple[int, int], int] = {}
    for y in range(7):
        for x in range(9):
            for down, right in ((0, 1), (1, 0)):
                if y + down < 7 and x + right < 9 and regions[y, x] != regions[y + down, x + right]:
                    a, b = sorted((int(regions[y, x]), int(regions[y + down, x + right])))
                    borders[a, b] = borders.get((a, b), 0) + 1
    pairs, lengths = neighbours(regions)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(borders)
    mean = np.mean([*borders.values()])
    assert lengths.tolist() == pytest.approx([borders[pair] / mean for pair in sorted(borders)])
    assert region_means(values, regions) == pytest.approx(np.array([values[regions == k].mean(0) for k in range(4)]))


def test_one_click_finds_a_clear_lesion_and_the_image_keeps_its_size() -> None:
    found = GrownImage(picture(disc())).segment(Prompt((Point(90, 60),)))
    assert found.shape == (HEIGHT, WIDTH)
    assert found.dtype == np.bool_
    assert dice(found, disc()) > 0.93


def test_a_large_image_is_answered_at_its_own_size() -> None:
    large = picture(disc()).repeat(5, 0).repeat(5, 1)
    found = GrownImage(large).segment(Prompt((Point(450, 300),)))
    assert dice(found, disc().repeat(5, 0).repeat(5, 1)) > 0.93


def test_each_click_is_obeyed() -> None:
    image = GrownImage(picture(disc()))
    clicks = (Point(90, 60), Point(10, 10), Point(90, 40, positive=False))
    found = image.segment(Prompt(clicks))
    assert [bool(found[int(point.y), int(point.x)]) for point in clicks] == [True, True, False]


def test_a_box_bounds_the_mask_and_its_middle_is_the_lesion() -> None:
    one, other = disc((40, 40)), disc((80, 120))
    found = GrownImage(picture(one, other)).segment(Prompt(box=(8, 8, 72, 72)))
    assert dice(found, one) > 0.9
    assert not found[:, 85:].any()


def test_a_model_that_knows_the_lesion_helps_where_colours_do_not() -> None:
    grey = picture(np.zeros_like(disc()))
    click = Prompt((Point(90, 60),))
    hinted = GrownImage(grey, Hint(np.where(disc(), 0.95, 0.02).astype(np.float32))).segment(click)
    assert dice(hinted, disc()) > dice(GrownImage(grey).segment(click), disc()) + 0.1


def test_features_of_a_model_join_the_looks() -> None:
    features = np.random.default_rng(0).normal(size=(10, 6, 8)).astype(np.float32)
    score = np.full((HEIGHT, WIDTH), 0.5, np.float32)
    plain, hinted = region_graph(picture(disc())), region_graph(picture(disc()), Hint(score, features))
    assert plain.looks.shape[1] == 3
    assert hinted.looks.shape[1] == 3 + 1 + 6
    assert hinted.score == pytest.approx(np.full(len(hinted.looks), 0.5))
