#!/usr/bin/env python3
"""Measures Stoker beside llama.cpp in one run: load time, decode by batch size, prefill.

The two take turns, round after round, because a shared machine changes from minute to minute; a
ratio is taken within a round and the median of the rounds is reported. Each runs in a process of
its own, so that two models that fill the memory are never loaded at once. README.md says how to
install what this needs, and which settings of llama.cpp it uses and why.

usage: llama_cpp.py --stoker BINARY --checkpoint DIR [--shape moonlight] [--json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine

_FOLDER = Path(__file__).resolve().parent
_ENGINES = ("llama.cpp", "stoker")
#: glibc's malloc then asks for huge pages, which llama.cpp itself does not.
_HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

#: What is measured of an engine in a round: "load", "decode 8", "prefill 512" and so on.
Samples = dict[str, "Sample"]


@dataclass(frozen=True)
class Sample:
    """One figure of one engine in one round."""

    value: float  # tok/s, or seconds for "load"
    gb_per_s: float | None = None
    share_of_peak: float | None = None


@dataclass(frozen=True)
class Comparison:
    """One line of the table: medians over the rounds, and the ratios within the rounds."""

    name: str
    peer: Sample
    stoker: Sample | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None


@dataclass(frozen=True)
class Plan:
    """What to run, and on what."""

    stoker: Path | None
    checkpoint: Path
    gguf: Path
    batches: str
    context: int
    prefill: int
    threads: int
    lock: Path | None
    pause_pid_file: Path | None


def samples_of(report: dict[str, Any]) -> Samples:
    """The figures of a JSON report, of Stoker's `bench decode|prefill --json` or of the peer's."""
    samples = {}
    if "load_s" in report:
        samples["load"] = Sample(report["load_s"])
    for row in [*report.get("rows", []), *report.get("prefill", [])]:
        name = f"decode {row['batch']}" if "batch" in row else f"prefill {row['tokens']}"
        samples[name] = Sample(row["tok_per_s"], row.get("gb_per_s"), row.get("share_of_peak"))
    return samples


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _median_sample(samples: Sequence[Sample]) -> Sample:
    return Sample(
        statistics.median(sample.value for sample in samples),
        _median([sample.gb_per_s for sample in samples]),
        _median([sample.share_of_peak for sample in samples]),
    )


def compare(rounds: Sequence[dict[str, Samples]]) -> list[Comparison]:
    """Medians and in-round ratios (Stoker's value over the peer's) of each figure both gave."""
    lines = []
    for name in rounds[0]["llama.cpp"]:
        peers = [r["llama.cpp"][name] for r in rounds if name in r["llama.cpp"]]
        pairs = [
            (r["llama.cpp"][name], r["stoker"][name])
            for r in rounds
            if name in r["llama.cpp"] and name in r.get("stoker", {})
        ]
        ratios = [stoker.value / peer.value for peer, stoker in pairs]
        lines.append(
            Comparison(
                name=name,
                peer=_median_sample(peers),
                stoker=_median_sample([stoker for _, stoker in pairs]) if pairs else None,
                ratio=_median(ratios),
                ratio_low=min(ratios, default=None),
                ratio_high=max(ratios, default=None),
            )
        )
    return lines


def format_table(lines: Sequence[Comparison]) -> str:
    """The comparison for people. Ratios of "load" are of seconds: below one, Stoker is faster."""

    def cell(value: float | None, pattern: str) -> str:
        return "-" if value is None else format(value, pattern)

    rows = [
        ("", "llama.cpp", "GB/s", "of peak", "Stoker", "GB/s", "of peak", "ratio", "low..high")
    ]
    for line in lines:
        unit = "s" if line.name == "load" else "tok/s"
        row = [line.name]
        for sample in (line.peer, line.stoker):
            row.append("-" if sample is None else f"{sample.value:.2f} {unit}")
            row.append(cell(sample.gb_per_s if sample else None, ".1f"))
            row.append(cell(sample.share_of_peak if sample else None, ".0%"))
        row.append(cell(line.ratio, ".2f"))
        row.append(f"{cell(line.ratio_low, '.2f')}..{cell(line.ratio_high, '.2f')}")
        rows.append(tuple(row))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))])
        for row in rows
    )


def run_json(command: Sequence[str], extra_env: dict[str, str]) -> dict[str, Any]:
    """Runs a measuring process and reads the JSON object it prints."""
    done = subprocess.run(
        command, env=os.environ | extra_env, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed with {done.returncode}: {' '.join(command)}")
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise SystemExit(f"{' '.join(command)}: prints no JSON: {error}") from error
    return report


def _measure_peer(plan: Plan) -> list[dict[str, Any]]:
    worker = str(_FOLDER / "llama_worker.py")
    command = [sys.executable, "-P", worker, str(plan.gguf), "--threads", str(plan.threads)]
    command += ["--batch", plan.batches, "--context", str(plan.context)]
    command += ["--prefill", str(plan.prefill), "--repeats", "2"]
    return [run_json(command, _HUGE_PAGES)]


def _measure_stoker(plan: Plan) -> list[dict[str, Any]]:
    model, common = str(plan.checkpoint), ["--threads", str(plan.threads), "--json"]
    decode = ["decode", model, "--batch", plan.batches, "--context", str(plan.context)]
    prefill = ["prefill", model, "--tokens", str(plan.prefill)]
    return [
        run_json([str(plan.stoker), "bench", *what, *common], {}) for what in (decode, prefill)
    ]


def _measure(engine: str, plan: Plan) -> list[dict[str, Any]]:
    """One engine's turn: its files are brought into memory first, for both alike."""
    machine.read_into_page_cache(plan.gguf if engine == "llama.cpp" else plan.checkpoint)
    with machine.quiet(plan.lock, plan.pause_pid_file):
        busyness = machine.Busyness()
        reports = _measure_peer(plan) if engine == "llama.cpp" else _measure_stoker(plan)
        reports[0]["other_cpus"] = busyness.other_cpus()
    return reports


def run_rounds(plan: Plan, rounds: int) -> list[dict[str, list[dict[str, Any]]]]:
    """All reports, by round and engine. The order turns round each time, against drift."""
    engines = _ENGINES if plan.stoker else _ENGINES[:1]
    results = []
    for index in range(rounds):
        order = engines if index % 2 == 0 else engines[::-1]
        reports = {}
        for engine in order:
            if sys.stderr.isatty():
                print(f"round {index + 1} of {rounds}: {engine}", file=sys.stderr)
            reports[engine] = _measure(engine, plan)
        results.append(reports)
    return results


def _merge(reports: Sequence[dict[str, Any]]) -> Samples:
    """One engine's samples of a round; of several load times the first counts."""
    merged: Samples = {}
    for report in reports:
        merged = samples_of(report) | merged
    return merged


def _prepare_files(args: argparse.Namespace) -> Path:
    """Writes the checkpoint and the GGUF where they are missing; returns the GGUF's path."""
    if not (args.checkpoint / "config.json").is_file():
        if not args.stoker:
            raise SystemExit(f"{args.checkpoint}: no config.json, and no --stoker to make one")
        make = [str(args.stoker), "make-checkpoint", "--shape", args.shape]
        subprocess.run([*make, "--seed", "1", str(args.checkpoint)], check=True)
    gguf: Path = args.gguf or args.checkpoint.with_name(args.checkpoint.name + ".gguf")
    if not gguf.is_file():
        partial = gguf.with_name(gguf.name + ".part")
        make = [sys.executable, "-P", str(_FOLDER / "make_gguf.py"), str(args.checkpoint)]
        subprocess.run([*make, str(partial)], check=True, stdout=sys.stderr)
        partial.rename(gguf)
    return gguf


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--stoker", type=Path, help="the binary; without it only the peer is run")
    parser.add_argument("--checkpoint", type=Path, required=True, help="made if it is missing")
    parser.add_argument("--shape", default="moonlight", help="of a checkpoint to make")
    parser.add_argument("--gguf", type=Path, help="default: CHECKPOINT.gguf; made if missing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", default="1,2,4,8,16,32")
    parser.add_argument("--context", type=int, default=128, help="tokens each sequence holds")
    parser.add_argument("--prefill", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--lock", type=Path, help="file to lock while measuring")
    parser.add_argument("--pause-pid-file", type=Path, help="process to stop while measuring")
    parser.add_argument("--json", action="store_true", help="print everything measured as JSON")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    return args


def main() -> int:
    args = parse_args()
    plan = Plan(
        stoker=args.stoker.resolve() if args.stoker else None,
        checkpoint=args.checkpoint,
        gguf=_prepare_files(args),
        batches=args.batch,
        context=args.context,
        prefill=args.prefill,
        threads=args.threads,
        lock=args.lock,
        pause_pid_file=args.pause_pid_file,
    )
    rounds = run_rounds(plan, args.rounds)
    lines = compare([{engine: _merge(r[engine]) for engine in r} for r in rounds])
    if args.json:
        print(json.dumps({"summary": [asdict(line) for line in lines], "rounds": rounds}))
    else:
        print(format_table(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
