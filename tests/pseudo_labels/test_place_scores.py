"""What the place prior adds to local scores, and how a run tells of it."""

import pytest
import torch

from endotransfer.pseudo_labels.place_prior import GRID, PlacePrior, TaughtLayer
from endotransfer.pseudo_labels.place_scores import PlaceScores


def taught(led: bool, auroc: float) -> TaughtLayer:
    places = torch.linspace(-1, 1, GRID).repeat(GRID, 1)
    return TaughtLayer(torch.zeros(2), torch.zeros(1), places, torch.tensor(auroc), led)


def after(wanted: PlacePrior, led: bool, auroc: float) -> PlaceScores:
    scores = PlaceScores(wanted)
    scores.take(taught(led, auroc))
    return scores


def test_scores_gain_the_places_at_their_own_size() -> None:
    scores = torch.rand(3, 4, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(PlaceScores("auto")(scores), scores)  # before anything is taught
    gained = after("auto", False, 0.8)(scores) - scores
    assert gained.shape == scores.shape and (gained[:, :, 1:] > gained[:, :, :-1]).all()


def test_what_was_decided_is_saved_and_finite() -> None:
    fresh, known = PlaceScores("auto"), after("auto", True, float("nan"))
    assert all(value.isfinite().all() for one in (fresh, known) for value in one.state_dict().values())
    fresh.load_state_dict(known.state_dict())
    assert fresh.figures() == known.figures() == {"place_prior_led": True, "source_tag_auroc": None}
    assert fresh.sentences() == known.sentences()


def test_the_source_misleads_where_that_was_found_and_not_where_the_experiment_lets_places_lead() -> None:
    assert after("auto", True, 0.56).misled()
    assert not after("auto", False, 0.83).misled()
    assert not after("lead", True, 0.83).misled()
    assert not PlaceScores("auto").misled()


@pytest.mark.parametrize(
    ("wanted", "led", "auroc", "words"),
    [
        ("auto", True, 0.56, ["target tags alone", "0.56", "place_prior=add"]),
        ("auto", False, 0.83, ["source masks and target tags", "0.83", "place_prior=lead"]),
        ("auto", False, float("nan"), ["only one kind of tag"]),
        ("lead", True, 0.83, ["target tags alone", "as method.place_prior says"]),
    ],
)
def test_one_sentence_says_what_the_layer_learnt_from(
    wanted: PlacePrior, led: bool, auroc: float, words: list[str]
) -> None:
    (sentence,) = after(wanted, led, auroc).sentences()
    assert [word for word in words if word not in sentence] == []


def test_without_the_prior_there_is_nothing_to_say() -> None:
    assert PlaceScores("auto").sentences() == after("none", False, float("nan")).sentences() == []
