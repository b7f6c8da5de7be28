"""Fetches the data set that its argument describes: a process for the tests to kill."""

from __future__ import annotations

import json
import logging
import sys

from parsity.data import Entry, File
from parsity.data.catalogue import Package
from parsity.data.fetching import fetch

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
described = json.loads(sys.argv[1])
files = tuple(File(**file) for file in described.pop("files"))
package = described.pop("package")
for name in ("shape", "classes", "folders", "addresses"):
    described[name] = tuple(described[name])
fetch(Entry(**described, files=files, package=Package(**package) if package else None))
