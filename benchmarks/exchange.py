"""Seconds to average gradients, packed against dense, over a slow link (python benchmarks/exchange.py, as root).

Two network namespaces stand for two hosts; a pair of virtual Ethernet devices joins them, shaped by `tc` (a token
bucket) to each rate in turn. A rank in each sums gradients of the network through Parsity's own group, at 90 % sparsity
packed and dense in turn, round after round. Bytes are counted at the device, by the kernel. Where namespaces or shaping
are not allowed, the times are computed from the bytes handed over, and said to be.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSTS = ("parsity-a", "parsity-b")
NETWORKS = {"simple-cnn": 62_346, "resnet-8": 75_050}
DEFAULT_RATES = ["10mbit", "100mbit", "1gbit"]
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def run(*words: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(words, check=True, capture_output=True, text=True)


def close_hosts() -> None:
    """Remove the namespaces, and with them their devices."""
    for host in HOSTS:
        subprocess.run(["ip", "netns", "delete", host], check=False, capture_output=True)


def open_hosts(rate: str) -> None:
    """Two hosts with a link of that rate between them."""
    for host in HOSTS:
        run("ip", "netns", "add", host)
        run("ip", "-n", host, "link", "set", "lo", "up")
    run("ip", "link", "add", "left", "netns", HOSTS[0], "type", "veth", "peer", "name", "right", "netns", HOSTS[1])
    for number, (host, device) in enumerate(zip(HOSTS, ("left", "right"), strict=True), start=1):
        run("ip", "-n", host, "address", "add", f"10.77.0.{number}/24", "dev", device)
        run("ip", "-n", host, "link", "set", device, "up")
        shape = [
            "tc",
            "qdisc",
            "add",
            "dev",
            device,
            "root",
            "tbf",
            "rate",
            rate,
            "burst",
            "32kbit",
            "latency",
            "400ms",
        ]
        run("ip", "netns", "exec", host, *shape)


def as_rank(rank: int, parameters: int, sparsity: float, rounds: int, out: str) -> None:
    """What runs in each namespace."""
    device = ("left", "right")[rank]
    os.environ["GLOO_SOCKET_IFNAME"] = device
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # these hosts have no names, which torch would remark upon
    import torch

    from parsity.parallel import joined

    sent = Path(f"/sys/class/net/{device}/statistics/tx_bytes")
    kept = round(parameters * (1 - sparsity))
    parcels = {"dense": torch.ones(parameters + 1), "packed": torch.ones(kept + 1)}
    seconds: dict[str, list[float]] = {name: [] for name in parcels}
    counted: dict[str, list[int]] = {name: [] for name in parcels}
    torch.set_num_threads(1)
    with joined(rank, 2, place="tcp://10.77.0.1:29400", timeout=60) as group:
        for number in range(rounds + 1):
            for name, parcel in parcels.items():
                group.gathered(None)
                before, started = int(sent.read_text()), time.perf_counter()
                group.sum_(parcel)
                if number:
                    seconds[name].append(time.perf_counter() - started)
                    counted[name].append(int(sent.read_text()) - before)
    if rank == 0:
        Path(out).write_text(json.dumps({"seconds": seconds, "bytes": counted}))


def measured(rate: str, parameters: int, sparsity: float, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Both ways, over a link of that rate."""
    close_hosts()
    try:
        open_hosts(rate)
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "found.json")
            facts = [
                "--parameters",
                str(parameters),
                "--sparsity",
                str(sparsity),
                "--rounds",
                str(rounds),
                "--out",
                out,
            ]
            here = [sys.executable, __file__, *facts]
            crew = [
                subprocess.Popen(["ip", "netns", "exec", host, *here, "--rank", str(rank)])
                for rank, host in enumerate(HOSTS)
            ]
            codes = [process.wait(timeout=600) for process in crew]
            if any(codes):
                raise RuntimeError(f"the ranks ended with {codes}")
            found: dict[str, dict[str, list[float]]] = json.loads(Path(out).read_text())
            return found
    finally:
        close_hosts()


def bits_per_second(rate: str) -> float:
    """What ``100mbit`` means."""
    unit = next(unit for unit in UNITS if rate.endswith(unit))
    return float(rate.removesuffix(unit)) * UNITS[unit]


def main() -> None:
    """Print a line per network and rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rates", nargs="+", default=DEFAULT_RATES, help=f"as tc has it (default: {DEFAULT_RATES})")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--rounds", type=int, default=30)
    for hidden in ("--rank", "--parameters"):
        parser.add_argument(hidden, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.rank is not None:
        as_rank(a.rank, a.parameters, a.sparsity, a.rounds, a.out)
        return
    for network in a.networks:
        parameters = NETWORKS[network]
        kept = round(parameters * (1 - a.sparsity))
        for rate in a.rates:
            ideal = {
                name: 32 * (n + 1) / bits_per_second(rate) for name, n in (("dense", parameters), ("packed", kept))
            }
            title = f"{network:10} {rate:>8}"
            try:
                found = measured(rate, parameters, a.sparsity, a.rounds)
            except (OSError, subprocess.CalledProcessError) as error:
                reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
                print(
                    f"{title}  computed from bytes ({reason}): dense {ideal['dense'] * 1e3:.2f} ms, "
                    f"packed {ideal['packed'] * 1e3:.2f} ms"
                )
                continue
            seconds = {name: statistics.median(each) for name, each in found["seconds"].items()}
            low, *_, high = sorted(
                d / p for d, p in zip(found["seconds"]["dense"], found["seconds"]["packed"], strict=True)
            )
            wire = {name: statistics.median(each) for name, each in found["bytes"].items()}
            print(
                f"{title}  dense {seconds['dense'] * 1e3:8.2f} ms (bytes alone {ideal['dense'] * 1e3:.2f})  "
                f"packed {seconds['packed'] * 1e3:7.2f} ms ({ideal['packed'] * 1e3:.2f})  "
                f"ratio {seconds['dense'] / seconds['packed']:5.2f} ({low:.2f} to {high:.2f}, n = {a.rounds})  "
                f"wire {wire['dense']:,.0f} and {wire['packed']:,.0f} bytes: {wire['packed'] / wire['dense']:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
