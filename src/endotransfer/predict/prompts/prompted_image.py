"""An image that is ready for clicks: what answers them, whatever computes the masks."""

from abc import ABC, abstractmethod
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from endotransfer.predict.graph_session import Values
from endotransfer.predict.prompts.choose_proposal import choose_proposal
from endotransfer.predict.prompts.prompt import Prompt
from endotransfer.predict.prompts.prompt_model import Embedding, PromptModel, at_size

MOST_POINTS = 30  # of one prompt
MOST_KNOWN = 32  # prompts whose answer is kept, so that the next click refines it
Area = NDArray[np.bool_]  # [H, W]


class PromptedImage(ABC):
    """One image, prepared once."""

    @abstractmethod
    def segment(self, prompt: Prompt) -> Area:
        """The mask that a person means by `prompt`, which says where the lesion is."""


class EmbeddedImage(PromptedImage):
    """Answers come from a promptable network; each click refines the mask of those before it."""

    def __init__(self, model: PromptModel, embedding: Embedding, size: tuple[int, int]) -> None:
        self._model, self._embedding, self._size = model, embedding, size
        self._known: OrderedDict[Prompt, Values] = OrderedDict()

    def segment(self, prompt: Prompt) -> Area:
        return at_size(self._logits(prompt), self._size)

    def _logits(self, prompt: Prompt) -> Values:
        """[256, 256]; the answers to the clicks before are computed again where they are no longer known."""
        found = self._known.get(prompt)
        if found is not None:
            return found
        earlier = prompt.before()
        before = None if earlier.empty else self._logits(earlier)
        proposals = self._model.propose(self._embedding, self._size, prompt, before)
        chosen = choose_proposal(proposals, self._size, prompt, before)
        self._known[prompt] = chosen
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return chosen
