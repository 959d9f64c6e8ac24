"""What was drawn as one, counted and said in words."""

import numpy as np
import pytest

from endotransfer.metrics import Scores
from endotransfer.metrics.group_kinds import GroupKinds, count_kinds, describe_groups
from endotransfer.samples import group_kind, group_of


@pytest.mark.parametrize(
    ("cells", "group", "kind"),
    [
        ({"patient": "7", "sequence": "s", "cluster": "3"}, "a/set/patient 7", "patient"),
        ({"sequence": "s", "cluster": "3"}, "a/set/sequence s", "sequence"),
        ({"cluster": "3"}, "a/set/cluster 3", "cluster"),
        ({}, "a/set/x", "image"),
    ],
)
def test_a_group_is_named_after_its_kind(cells: dict[str, str], group: str, kind: str) -> None:
    assert group_of("a/set/x", lambda column: cells.get(column, "")) == group
    assert group_kind(group, "a/set/x") == kind


def test_other_texts_are_groups_of_unknown_kind() -> None:
    assert group_kind("p7", "set/x") == group_kind("other/patient 7", "set/x") == "group"
    assert group_kind("", "set/x") == "image"


def test_groups_are_counted_by_set_and_kind() -> None:
    pairs = [
        ("a/1", "a/patient 1"),
        ("a/2", "a/patient 1"),
        ("a/3", "a/3"),
        ("b/1", "b/cluster 1"),
        ("b/2", "b/cluster 2"),
    ]
    assert count_kinds(pairs) == {"a": {"patient": 1, "image": 1}, "b": {"cluster": 2}}


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"ours": {"patient": 12}}, "12 patients (ours)"),
        ({"wce": {"cluster": 628}}, "628 near-duplicate clusters (wce); patients are not known"),
        ({"dusk": {"sequence": 1}}, "1 sequence (dusk); patients are not known"),
        (
            {"a": {"patient": 2}, "b": {"image": 3}},
            "2 patients (a), 3 single images (b); patients are not known everywhere",
        ),
        ({"": {"group": 2}}, "2 groups of unknown kind"),
        ({}, ""),
    ],
)
def test_words(kinds: GroupKinds, words: str) -> None:
    assert describe_groups(kinds) == words


def test_results_json_says_what_was_drawn() -> None:
    scores = Scores(["normal", "lesion"])
    for n in range(6):
        mask = np.full((4, 4), n % 2)
        scores.update(mask, mask, key=f"wce/{n}", group=f"wce/cluster {n // 2}")
    found = scores.summary(resamples=5)["intervals"]
    assert (found["groups"], found["group_kinds"]) == (3, {"wce": {"cluster": 3}})
