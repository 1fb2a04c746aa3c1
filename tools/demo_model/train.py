#!/usr/bin/env python3
"""Trains the demo model with two single-threaded workers that share their parameters.

The phases stand in WORK/plan.json: pre-training at a constant rate, the routed experts later rounded
to INT4 in the forward pass (straight through); a decay; a chat fine-tune. The plan is read again at
every step, so that a run can be cut to the time at hand; a run started with the final plan is the
same run. Stop and continue it with SIGSTOP and SIGCONT to the ids in WORK/train.pid; after an end,
start it again and it resumes from the last checkpoint.
"""
import argparse
import dataclasses
import json
import os
import time
from pathlib import Path

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

import chat_data
from data import IGNORED, Batches, Corpus
from model import Config, Model
from tokenizer import Tokenizer

SEED = 20260501
WORKERS = 2
LENGTH = 256
WARMUP_STEPS = 20
PEAK_RATE = {"matrix": 0.012, "vector": 0.006}
WEIGHT_DECAY = 0.02
BIAS_STEP = 0.01  # of the routing bias, towards an even load
CHECKPOINT_STEPS = 25


@dataclasses.dataclass
class Now:
    """What the plan says of one step."""

    rate: float  # factor of the peak rate
    chat_share: float
    rows: int  # sequences a worker draws
    int4: bool


def now_of(plan, step):
    """The plan's entry for a step, or None behind its end."""
    warmup = min(1.0, (step + 1) / WARMUP_STEPS)
    for phase in plan:
        if step < phase["steps"]:
            first, last = phase["rate"]
            rate = first + (last - first) * step / phase["steps"]
            return Now(rate * warmup, phase["chat_share"], phase["rows"], phase["int4"])
        step -= phase["steps"]
    return None


def orthogonalise(update):
    """Newton-Schulz iteration of Muon (Jordan et al. 2024). update: [..., rows, columns]"""
    transposed = update.shape[-2] > update.shape[-1]
    x = update.mT if transposed else update
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(4):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if transposed else x


class Optimizer:
    """Muon for matrices, Adam for the rest, over the parameters that one worker owns."""

    def __init__(self, named):
        self.named = named
        self.state = {}

    @staticmethod
    def is_matrix(name, parameter):
        return parameter.dim() >= 2 and not any(
            part in name for part in ("embed_tokens", "lm_head", "mlp.gate.weight"))

    def step(self, grads, factor, step):
        for name, parameter in self.named:
            grad = grads[name]
            if self.is_matrix(name, parameter):
                momentum = self.state.setdefault(name, torch.zeros_like(parameter))
                momentum.mul_(0.95).add_(grad)
                update = orthogonalise(self._split(name, grad.add(momentum, alpha=0.95)))
                update = update.reshape(parameter.shape) * (
                    0.2 * max(update.shape[-2:]) ** 0.5)
                rate = PEAK_RATE["matrix"] * factor
                parameter.mul_(1 - rate * WEIGHT_DECAY).add_(update, alpha=-rate)
            else:
                first, second = self.state.setdefault(
                    name, (torch.zeros_like(parameter), torch.zeros_like(parameter)))
                first.lerp_(grad, 0.1)
                second.lerp_(grad.square(), 0.05)
                unbiased = (second / (1 - 0.95 ** (step + 1))).sqrt_().add_(1e-10)
                rate = PEAK_RATE["vector"] * factor / (1 - 0.9 ** (step + 1))
                parameter.addcdiv_(first, unbiased, value=-rate)

    @staticmethod
    def _split(name, update):
        """Gate and up are two matrices that lie together."""
        if name.endswith("experts_gate_up"):
            return update.unflatten(1, (2, -1))
        return update


class Shared:
    """What the workers share: parameters, a gradient buffer each, loads, a barrier."""

    def __init__(self):
        torch.manual_seed(SEED)
        self.model = Model(Config())
        self.model.share_memory()
        self.grads = [
            {name: torch.zeros_like(p).share_memory_() for name, p in self.model.named_parameters()}
            for _ in range(WORKERS)
        ]
        layers = len(self.model.moe_layers())
        experts = self.model.c.n_routed_experts
        self.loads = torch.zeros(WORKERS, layers, experts).share_memory_()
        self.losses = torch.zeros(WORKERS, 2).share_memory_()
        self.barrier = mp.get_context("fork").Barrier(WORKERS)

    def owned(self, worker):
        """Parameters that a worker updates: large and small ones dealt out in turn."""
        named = sorted(self.model.named_parameters(), key=lambda item: -item[1].numel())
        return [item for at, item in enumerate(named) if (at + at // 2) % WORKERS == worker]


def local_step(shared, batches, step, worker, now):
    """Leaves this worker's gradients, expert loads and losses in the shared buffers."""
    model = shared.model
    tokens, targets = batches.batch(SEED, step, worker, now.rows, now.chat_share)
    logits = model(torch.from_numpy(tokens))
    targets = torch.from_numpy(targets)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED,
                             reduction="none").view(targets.shape)
    count = (targets != IGNORED).sum()
    loss = losses.sum() / count
    loss.backward()
    is_chat = (targets == IGNORED).any(1)
    means = losses.detach().sum(1) / (targets != IGNORED).sum(1).clamp_min(1)
    shared.losses[worker, 0] = means[~is_chat].mean() if (~is_chat).any() else float("nan")
    shared.losses[worker, 1] = means[is_chat].mean() if is_chat.any() else float("nan")
    for at, layer in enumerate(model.moe_layers()):
        shared.loads[worker, at] = layer.load.float()


@torch.no_grad()
def update(shared, optimizer, step, factor):
    grads = {}
    for name, _ in optimizer.named:
        grads[name] = sum(shared.grads[w][name] for w in range(WORKERS)) / WORKERS
    optimizer.step(grads, factor, step)


@torch.no_grad()
def balance(shared, factor):
    """DeepSeek-V3's bias update: towards experts with less than their share of the picks."""
    for at, layer in enumerate(shared.model.moe_layers()):
        load = shared.loads[:, at].sum(0)
        layer.e_score_correction_bias += BIAS_STEP * factor * torch.sign(load.mean() - load)


def run_worker(worker, shared, work):
    torch.set_num_threads(1)
    model = shared.model
    for name, parameter in model.named_parameters():
        parameter.grad = shared.grads[worker][name]
    tokenizer = Tokenizer(work / "tiktoken.model")
    batches = Batches(Corpus(work / "corpus", tokenizer), tokenizer, chat_data.conversation, LENGTH)
    optimizer = Optimizer(shared.owned(worker))
    state_path = work / f"worker{worker}.pt"
    step = 0
    if state_path.exists():
        saved = torch.load(state_path)
        optimizer.state, step = saved["state"], saved["step"]
        if worker == 0:
            model.load_state_dict(torch.load(work / "model.pt")["model"])
    shared.barrier.wait()
    started, cpu_started = time.time(), time.process_time()
    while (now := now_of(json.loads((work / "plan.json").read_text()), step)) is not None:
        model.set_int4(now.int4)
        for grad in shared.grads[worker].values():
            grad.zero_()
        local_step(shared, batches, step, worker, now)
        shared.barrier.wait()
        update(shared, optimizer, step, now.rate)
        if worker == 0:
            balance(shared, now.rate)
            text, chat = shared.losses.nanmean(0).tolist()
            print(f"step {step} loss {text:.3f} chat {chat:.3f} rate {now.rate:.3f} "
                  f"worst load {float(shared.loads.sum(0).max() / shared.loads.sum(0).mean()):.1f} "
                  f"{time.time() - started:.0f} s, cpu {time.process_time() - cpu_started:.0f} s",
                  flush=True)
        step += 1
        shared.barrier.wait()
        if step % CHECKPOINT_STEPS == 0:
            save(worker, model, optimizer, step, work, state_path)
    save(worker, model, optimizer, step, work, state_path)


def save(worker, model, optimizer, step, work, state_path):
    def replace(path, value):
        torch.save(value, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)

    replace(state_path, {"state": optimizer.state, "step": step})
    if worker == 0:
        replace(work / "model.pt", {"model": model.state_dict(), "step": step})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    shared = Shared()
    context = mp.get_context("fork")
    others = [context.Process(target=run_worker, args=(w, shared, args.work))
              for w in range(1, WORKERS)]
    for process in others:
        process.start()
    pids = [os.getpid()] + [process.pid for process in others]
    (args.work / "train.pid").write_text(" ".join(map(str, pids)) + "\n")
    run_worker(0, shared, args.work)
    for process in others:
        process.join()


if __name__ == "__main__":
    main()
