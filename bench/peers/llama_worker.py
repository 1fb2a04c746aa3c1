#!/usr/bin/env python3
"""Loads a GGUF with llama.cpp, measures it and prints one JSON object; a child of llama_cpp.py.

One process measures one loaded model, so that its memory is given back when it ends, and so that
allocator settings, which are read when a process starts, can differ from the parent's.

Run it with `python -P`: its folder holds a `llama_cpp.py`, which must not hide the package.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gguf
import llama_cpp as llama

_FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}
_LOAD_MODES = {"read": 0, "mmap": 1, "direct": 4}
_CONTEXT_ALIGNMENT = 256  # llama.cpp pads each sequence's cache to this
_REPEAT_S = 1.0  # about how long one timed repeat of decoding takes
_MOST_STEPS = 16


@dataclass(frozen=True)
class Settings:
    """How llama.cpp is run; the defaults are the best found (README.md has the comparison)."""

    threads: int
    flash_attention: str = "auto"
    load_mode: str = "read"
    repack: bool = True
    unified_cache: bool = False


def _sibling(name: str) -> Any:
    """Imports a module beside this file without putting its folder on the path."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


machine = _sibling("machine")


class WeightBytes:
    """The bytes of weights that a step reads, from the sizes in the file."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self._experts = int(reader.fields["deepseek2.expert_count"].contents())
        self._top_k = int(reader.fields["deepseek2.expert_used_count"].contents())
        sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
        self._routed = sum(size for name, size in sizes.items() if "_exps." in name)
        self._always = sum(sizes.values()) - self._routed - sizes["token_embd.weight"]
        self.vocab = int(reader.fields["deepseek2.vocab_size"].contents())
        self.total = sum(sizes.values())

    def per_step(self, tokens: int) -> float:
        """Expected bytes for `tokens` tokens, each weight counted once.

        Random weights route evenly: an expert is idle with probability (1 - top_k/experts)^tokens.
        """
        idle = (1 - self._top_k / self._experts) ** tokens
        return self._always + (1 - idle) * self._routed


class Engine:
    """A loaded model and the log lines that say where its weights went."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.settings = settings
        self.log: list[str] = []
        self._callback = llama.llama_log_callback(self._on_log)  # kept alive
        llama.llama_log_set(self._callback, ctypes.c_void_p(0))
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = 0
        params.load_mode = _LOAD_MODES[settings.load_mode]
        params.use_extra_bufts = settings.repack
        start = time.perf_counter()
        self.model = llama.llama_model_load_from_file(str(path).encode(), params)
        self.load_s = time.perf_counter() - start
        if not self.model:
            raise SystemExit("".join(self.log[-20:]) + f"\n{path}: llama.cpp cannot load it")

    def _on_log(self, _level: int, text: bytes, _data: object) -> None:
        self.log.append(text.decode("utf-8", "replace"))

    def buffers(self) -> list[str]:
        return [line.split(":", 1)[1].strip() for line in self.log if "model buffer size" in line]

    def new_context(self, sequences: int, tokens_each: int) -> Any:
        """A context with room for `sequences` sequences of `tokens_each` tokens."""
        aligned = -(-tokens_each // _CONTEXT_ALIGNMENT) * _CONTEXT_ALIGNMENT
        params = llama.llama_context_default_params()
        params.n_ctx = aligned * sequences
        params.n_batch = params.n_ubatch = max(512, sequences)
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = self.settings.threads
        params.flash_attn_type = _FLASH_ATTENTION[self.settings.flash_attention]
        params.kv_unified = self.settings.unified_cache
        params.no_perf = True
        context = llama.llama_init_from_model(self.model, params)
        if not context:
            raise SystemExit("".join(self.log[-20:]) + "\nllama.cpp cannot make a context")
        return context


class Batch:
    """Fills and runs one llama_batch with random tokens."""

    def __init__(self, context: Any, capacity: int, vocab: int, seed: int) -> None:
        self._context = context
        self._vocab = vocab
        self._rng = random.Random(seed)
        self._batch = llama.llama_batch_init(capacity, 0, 1)

    def close(self) -> None:
        llama.llama_batch_free(self._batch)

    def run(self, entries: list[tuple[int, int, bool]]) -> None:
        """Decodes a (sequence, position, wants logits) per token and waits for the result."""
        batch = self._batch
        batch.n_tokens = len(entries)
        for i, (sequence, position, wants_logits) in enumerate(entries):
            batch.token[i] = self._rng.randrange(self._vocab)
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wants_logits
        status = llama.llama_decode(self._context, batch)
        llama.llama_synchronize(self._context)
        if status != 0:
            raise SystemExit(f"llama_decode failed with {status}")


@dataclass(frozen=True)
class Timing:
    """One timed repeat: seconds a step, the bandwidth measured around it, other work meanwhile."""

    step_s: float
    read_gb_per_s: float
    other_cpus: float


def _row(tokens: int, bytes_per_step: float, timings: list[Timing]) -> dict[str, float]:
    step_s = statistics.median(timing.step_s for timing in timings)
    shares = [1e-9 * bytes_per_step / t.step_s / t.read_gb_per_s for t in timings]
    return {
        "tok_per_s": tokens / step_s,
        "step_ms": step_s * 1e3,
        "bytes_per_step": bytes_per_step,
        "gb_per_s": 1e-9 * bytes_per_step / step_s,
        "share_of_peak": statistics.median(shares),
        "peak_gb_per_s": statistics.median(timing.read_gb_per_s for timing in timings),
        "other_cpus": statistics.median(timing.other_cpus for timing in timings),
    }


class Bench:
    """Measures an engine; every repeat stands between two measurements of the read bandwidth."""

    def __init__(self, engine: Engine, weights: WeightBytes, reader: Any, repeats: int) -> None:
        self._engine = engine
        self._weights = weights
        self._reader = reader
        self._repeats = repeats
        self.peak_gb_per_s = 0.0

    def _timed(self, steps: int, step: Any) -> Timing:
        before = self._reader.measure_gb_per_s()
        busyness = machine.Busyness()
        start = time.perf_counter()
        for index in range(steps):
            step(index)
        step_s = (time.perf_counter() - start) / steps
        other_cpus = busyness.other_cpus()
        after = self._reader.measure_gb_per_s()
        self.peak_gb_per_s = max(self.peak_gb_per_s, before, after)
        return Timing(step_s, max(before, after), other_cpus)

    def decode(self, batches: list[int], context_tokens: int) -> list[dict[str, float]]:
        """One row per batch size: separate sequences, each `context_tokens` long before timing."""
        most = max(batches)
        context = self._engine.new_context(most, context_tokens + _MOST_STEPS + 1)
        memory = llama.llama_get_memory(context)
        batch = Batch(context, max(most, context_tokens), self._weights.vocab, seed=1)
        batch.run([(0, i, i + 1 == context_tokens) for i in range(context_tokens)])
        for sequence in range(1, most):
            llama.llama_memory_seq_cp(memory, 0, sequence, -1, -1)
        rows = []
        for size in batches:
            timings = []
            for _ in range(self._repeats):
                for sequence in range(size):
                    llama.llama_memory_seq_rm(memory, sequence, context_tokens, -1)
                # One step outside the timing: the first of a size builds its graph.
                start = time.perf_counter()
                batch.run([(s, context_tokens, True) for s in range(size)])
                steps = round(_REPEAT_S / (time.perf_counter() - start))
                steps = min(max(steps, 2), _MOST_STEPS)

                def step(index: int, size: int = size) -> None:
                    batch.run([(s, context_tokens + 1 + index, True) for s in range(size)])

                timings.append(self._timed(steps, step))
            row = _row(size, self._weights.per_step(size), timings)
            rows.append({"batch": size, "context": context_tokens} | row)
        batch.close()
        llama.llama_free(context)
        return rows

    def prefill(self, tokens: int) -> dict[str, float]:
        """One row: a prompt of `tokens` tokens in one batch, logits of the last one only."""
        context = self._engine.new_context(1, tokens)
        memory = llama.llama_get_memory(context)
        batch = Batch(context, tokens, self._weights.vocab, seed=2)

        def step(_index: int) -> None:
            llama.llama_memory_clear(memory, False)
            for begin in range(0, tokens, 512):
                end = min(tokens, begin + 512)
                batch.run([(0, i, i + 1 == tokens) for i in range(begin, end)])

        step(0)
        timings = [self._timed(1, step) for _ in range(self._repeats)]
        batch.close()
        llama.llama_free(context)
        return {"tokens": tokens} | _row(tokens, self._weights.per_step(tokens), timings)


def memory_gb() -> dict[str, float]:
    """Resident memory and the part of it on huge pages."""
    fields = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        key, value, *_ = line.split()
        fields[key.rstrip(":")] = int(value) * 1024 / 1e9
    return {"resident": fields["Rss"], "huge": fields["AnonHugePages"]}


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", default="1,2,4,8,16,32")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--flash-attention", choices=_FLASH_ATTENTION, default="auto")
    parser.add_argument("--load-mode", choices=_LOAD_MODES, default="read")
    parser.add_argument("--no-repack", action="store_true")
    parser.add_argument("--unified-cache", action="store_true")
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    settings = Settings(
        args.threads, args.flash_attention, args.load_mode, not args.no_repack, args.unified_cache
    )
    weights = WeightBytes(args.model)
    busyness = machine.Busyness()
    engine = Engine(args.model, settings)
    load_other_cpus = busyness.other_cpus()
    memory = memory_gb()
    with machine.ReadBandwidth(args.threads) as reader:
        bench = Bench(engine, weights, reader, args.repeats)
        rows = bench.decode([int(b) for b in args.batch.split(",")], args.context)
        prefill = bench.prefill(args.prefill)
    result = {
        "rows": rows,
        "prefill": [prefill],
        "load_s": engine.load_s,
        "load_other_cpus": load_other_cpus,
        "peak_gb_per_s": bench.peak_gb_per_s,
        "memory_gb": memory,
        "weights_gb": weights.total / 1e9,
        "settings": asdict(settings),
        "buffers": engine.buffers(),
        "version": llama.__version__,
    }
    json.dump(result, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
