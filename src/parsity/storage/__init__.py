"""What every file of results shares: how SQLite is opened and spoken to, digests, provenance, one writer, stopped."""

from parsity.storage.connection import (
    WHAT_TO_DO,
    MisfitError,
    UnwritableError,
    connect,
    guarded,
    one_line,
    read_transaction,
    write_transaction,
)
from parsity.storage.digests import canonical, joint_digest, row_digest
from parsity.storage.layout import Layout
from parsity.storage.locking import driver_of, driving
from parsity.storage.provenance import gather_provenance, processor
from parsity.storage.stopping import told_to_stop

__all__ = [
    "WHAT_TO_DO",
    "Layout",
    "MisfitError",
    "UnwritableError",
    "canonical",
    "connect",
    "driver_of",
    "driving",
    "gather_provenance",
    "guarded",
    "joint_digest",
    "one_line",
    "processor",
    "read_transaction",
    "row_digest",
    "told_to_stop",
    "write_transaction",
]
