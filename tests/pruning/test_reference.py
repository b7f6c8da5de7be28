"""SNIP against the masks the authors' program computed."""

from __future__ import annotations

from parsity.pruning import flatten, masks, select, summed_gradient


def _batches(reference):
    return list(zip(reference.images.split(100), reference.labels.split(100), strict=True))


def test_no_mask_entry_disagrees_with_the_authors(reference):
    found = masks(reference.network(), _batches(reference), [0.5, 0.7, 0.9])

    for sparsity, mask in found.items():
        theirs = reference.flat(f"mask/{sparsity}").bool()
        assert mask.kept == int(theirs.sum())
        assert int((mask.flat != theirs).sum()) == 0


def test_absolute_values_before_the_sum_would_disagree(simple_cnn_reference):
    """So the agreement above is no accident: it tells the signed sum from its plausible rival."""
    network = simple_cnn_reference.network()
    batches = _batches(simple_cnn_reference)
    scores = sum((flatten(network) * summed_gradient(network, [batch])).abs() for batch in batches)

    theirs = simple_cnn_reference.flat("mask/0.9").bool()
    assert int((select(scores, 0.9) != theirs).sum()) > 100
