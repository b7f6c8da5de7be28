"""How long `parsity --help` takes beside an interpreter that does nothing. (python benchmarks/startup.py).

Aim: under 0.3 s on an idle core.
"""

import statistics
import subprocess
import sys
import time


def seconds(*command: str) -> float:
    """Wall time of one run."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Alternate both, so that they meet the same machine."""
    rounds = [(seconds("-c", "pass"), seconds("-m", "parsity", "--help")) for _ in range(15)]
    nothing, help_ = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"python -c pass {nothing:.3f} s   parsity --help {help_:.3f} s   ratio {help_ / nothing:.1f}")


if __name__ == "__main__":
    main()
