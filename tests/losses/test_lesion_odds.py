"""The lesion score of a pixel against the softmax that it is the log-odds of."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.losses.lesion_odds import lesion_score
from tests.random_scores import SEEDS, random_scores


@given(SEEDS, st.integers(2, 4))
def test_the_score_is_the_log_odds_of_all_lesions_together(seed: int, classes: int) -> None:
    logits = random_scores(seed, 2, classes, 3, 2)
    no_lesion = logits.softmax(1)[:, 0]
    torch.testing.assert_close(lesion_score(logits), ((1 - no_lesion) / no_lesion).log())
    torch.testing.assert_close(lesion_score(logits + 7), lesion_score(logits))
