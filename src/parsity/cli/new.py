"""``parsity new``: write a study file from a preset."""

from __future__ import annotations

import json
import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from parsity.errors import UsageError

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parsity new mnist-momentum > study.toml
  parsity new cifar10-sgd --scale paper --set trials=20 --set patience=inf
  parsity new mnist-momentum --set workload.network=mynets:make --set space.momentum=0.9
  parsity new --schema > study.schema.json

An editor that knows TOML checks as you type, with `#:schema study.schema.json` as the file's first line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``parsity new``."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("preset", nargs="?", metavar="PRESET", help="a name that `parsity presets` lists")
    parser.add_argument("--scale", metavar="SCALE", help="desk or paper (default: desk); PRESET/paper says it too")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key; may be repeated"
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of study files instead")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from parsity.study import StudySpec, apply_overrides, heading, json_schema, preset, render

    if arguments.schema:
        if arguments.preset or arguments.set or arguments.scale:
            raise UsageError("--schema: it is the same for every study; give it alone")
        json.dump(json_schema(), sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return 0
    if arguments.preset is None:
        raise UsageError("new: which preset? `parsity presets` lists them; or --schema")
    document = apply_overrides(preset(arguments.preset, arguments.scale).document(), arguments.set)
    spec = StudySpec.from_document(document, arguments.preset)
    sys.stdout.write(render(spec, heading(spec)))
    return 0
