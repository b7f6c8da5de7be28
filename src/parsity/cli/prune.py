"""``parsity prune``: prune a workload's network at initialisation and say what is left of each layer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsity.cli.tables import print_json, print_table, print_title, short
from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from parsity.pruning import Mask

BAR = 10  # characters; a line must fit into 80


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity prune``."""
    parser.add_argument("workload", metavar="WORKLOAD", help="whose network, and whose images where scores need them")
    parser.add_argument(
        "--sparsity", default="0.9", metavar="S[,S...]", help="the fraction to prune, 0 <= S < 1 (default: 0.9)"
    )
    parser.add_argument(
        "--criterion",
        metavar="NAME",
        help="snip, magnitude, random, grasp, synflow, or an import path (default: the workload's)",
    )
    parser.add_argument(
        "--eligible",
        choices=["all", "weights"],
        help="what takes part: weights and biases, or weights alone (default: the workload's)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the study's seed (default: 0)")
    parser.add_argument(
        "--trial", type=int, default=1, metavar="N", help="whose initial weights, counted from 1 (default: 1)"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="a folder that has the data set's files")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the mask; of several, each under its sparsity")
    parser.add_argument("--draw", type=Path, metavar="FILE.png|svg", help="draw the density of every tensor")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(arguments: argparse.Namespace) -> int:
    """Score, select, and report."""
    sparsities = _sparsities(arguments.sparsity)
    if arguments.trial < 1:
        raise UsageError(f"--trial {arguments.trial}: trials are counted from 1")
    from parsity.pruning import cut_off_layers, find_criterion, masks
    from parsity.training import derived_seed, scoring_batches, workload

    if arguments.draw:
        from parsity.pruning.drawing import check_figure_path

        check_figure_path(arguments.draw)
    chosen = workload(arguments.workload)
    name = arguments.criterion or chosen.criterion
    criterion = find_criterion(name)
    network = chosen.make_network(derived_seed(arguments.seed, "weights", arguments.trial))
    batches = scoring_batches(chosen.load_data(arguments.data_dir))
    found = masks(
        network,
        batches,
        sparsities,
        criterion=criterion,
        eligible=arguments.eligible or chosen.eligible,
        seed=derived_seed(arguments.seed, "pruning", arguments.trial),
    )
    image = next(iter(batches))[0][0]
    cut_off = {sparsity: cut_off_layers(network, mask, image) for sparsity, mask in found.items()}
    title = f"{arguments.workload}, {name}, seed {arguments.seed}, trial {arguments.trial}"
    saved = _save(found, arguments.save)
    if arguments.json:
        _print_json(arguments, name, found, cut_off, saved)
    else:
        _print_tables(title, found, cut_off)
    if arguments.draw:
        from parsity.pruning.drawing import draw_densities

        draw_densities(found, title=title, cut_off=cut_off, to=arguments.draw)
        _say(f"drawn: {arguments.draw}")
    return 0


def _sparsities(text: str) -> list[float]:
    """Read "0.5,0.7,0.9", in that order and each once."""
    try:
        sparsities = list(dict.fromkeys(float(word) for word in text.split(",")))
    except ValueError:
        raise UsageError(f"--sparsity {text!r}: give one number, or several between commas, like 0.5,0.9") from None
    for sparsity in sparsities:
        if not 0 <= sparsity < 1:
            raise UsageError(f"--sparsity {sparsity:g}: it must be at least 0 and below 1")
    return sparsities


def _save(found: Mapping[float, Mask], path: Path | None) -> dict[float, Path]:
    """Save one mask under the name given, several with their sparsity put into it."""
    if path is None:
        return {}
    paths = {
        sparsity: path if len(found) == 1 else path.with_name(f"{path.stem}-{short(sparsity)}{path.suffix}")
        for sparsity in found
    }
    for sparsity, mask in found.items():
        mask.save(paths[sparsity])
        _say(f"saved: {paths[sparsity]}")
    return paths


def _print_json(
    arguments: argparse.Namespace,
    criterion: str,
    found: Mapping[float, Mask],
    cut_off: Mapping[float, Collection[str]],
    saved: Mapping[float, Path],
) -> None:
    document = {
        "workload": arguments.workload,
        "criterion": criterion,
        "seed": arguments.seed,
        "trial": arguments.trial,
        "masks": [
            {
                "sparsity": sparsity,
                "parameters": mask.parameters,
                "kept": mask.kept,
                "density": mask.density,
                "digest": mask.digest,
                "file": str(saved[sparsity]) if sparsity in saved else None,
                "cut_off_layers": list(cut_off[sparsity]),
                "tensors": [_described(mask, index, cut_off[sparsity]) for index in range(len(mask.names))],
            }
            for sparsity, mask in found.items()
        ],
    }
    print_json(document)


def _described(mask: Mask, index: int, cut_off: Collection[str]) -> dict[str, Any]:
    from parsity.pruning import layer_of

    row = mask.report()[index]
    return {
        "name": row.name,
        "shape": list(row.shape),
        "parameters": row.parameters,
        "kept": row.kept,
        "density": row.density,
        "cut_off": layer_of(row.name) in cut_off,
    }


def _print_tables(title: str, found: Mapping[float, Mask], cut_off: Mapping[float, Collection[str]]) -> None:
    from rich.text import Text

    from parsity.pruning import layer_of

    terminal = sys.stdout.isatty()
    stroke = "━" if (sys.stdout.encoding or "").lower().startswith("utf") else "="
    for number, (sparsity, mask) in enumerate(found.items()):
        if number:
            sys.stdout.write("\n")
        heading = (
            f"{title}, sparsity {short(sparsity)}: {mask.kept:,} of {mask.parameters:,} kept, mask {mask.digest[:12]}"
        )
        print_title(heading)
        rows: list[list[str | Text]] = []
        for row in mask.report():
            bar = stroke * round(BAR * row.density) if terminal else ""
            broken = Text("cut off", style="bold red") if layer_of(row.name) in cut_off[sparsity] else ""
            counts = f"{row.parameters:,}", f"{row.kept:,}", f"{row.density:.4f}"
            rows.append([row.name, _times(row.shape), *counts, bar, broken])
        total = "all", "", f"{mask.parameters:,}", f"{mask.kept:,}", f"{mask.density:.4f}", "", ""
        rows.append([Text(cell, style="bold") for cell in total])
        numbers = ("parameters", "kept", "density")
        print_table(("tensor", "shape", *numbers, "", ""), rows, numbers=numbers)


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
