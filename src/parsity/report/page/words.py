"""What the words on the page mean."""

from __future__ import annotations

from parsity.report.page.markup import Html, tag

WORDS = {
    "step": "One update of the network's weights, from one batch of images.",
    "batch size, B": "How many images a step looks at. Workers can share a batch: a larger one has work for more.",
    "goal": "The share of validation images that may be wrong. It is reached once the error is no larger.",
    "sparsity": "The share of weights that are removed (pruned) before training starts. At 0 the network is dense.",
    "trial": (
        "One training run, with metaparameters (learning rate, momentum) of its own. A cell is all trials of one batch "
        "size and sparsity."
    ),
    "steps to result, K*": "The fewest steps to the goal among the trials of a cell: what a well-tuned run takes.",
    "critical batch": (
        "Where K* = c1/B + c2 has fallen to twice its floor c2. Far below, twice the batch takes half the steps; far "
        "above, a larger batch saves next to nothing."
    ),
    "95 % interval": (
        "In 95 of 100 studies like this one, such a range holds what searches of this size typically find. A side is "
        "open where what was measured does not bound it."
    ),
    "outpaced": (
        "A trial that was stopped without the goal after so many times K* steps as the study's patience says. How many "
        "it would have needed is not known."
    ),
    "octave": "A factor of two. A fit within 1/3 octave is off by 26 % at most.",
}


def words() -> Html:
    """Folded away, for those who need them."""
    rows = [tag("div", tag("dt", word), tag("dd", meaning)) for word, meaning in WORDS.items()]
    return tag("details", tag("summary", "What these words mean"), tag("dl", rows, class_="facts"), class_="words")
