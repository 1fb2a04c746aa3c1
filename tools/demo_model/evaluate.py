#!/usr/bin/env python3
"""Measures the exported demo model on held-out text and writes the golden file for Stoker's tests.

Per domain: loss of the weights before INT4 and of the checkpoint, both in float32; the share of
routing picks that the busiest experts cover. Golden: transformers' DeepSeek-V3, in float32 on the
checkpoint's dequantised weights, over a few tokens of every domain.
"""
import argparse
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from checkpoint import own_state, transformers_model
from data import chat_tokens
from model import Config, Model
from tokenizer import Tokenizer

LENGTH = 256
GOLDEN_LENGTH = 200
GOLDEN_TOP = 32
TEXT_BYTES = 6000  # of held-out text committed for each domain
# The committed text of each domain: one held-out document whose licence is simple to state.
TEXT_DOCUMENTS = {
    "c": "newlib/newlib/libc/stdio/mktemp.c",
    "chinese": "guide/zh_CN/ch06s03.html",
    "docs_en": "handbook/en-US/sect.supervision.html",
    "french": "handbook/fr-FR/sect.follow-debian-news.html",
    "german": "handbook/de-DE/sect.nfs-file-server.html",
    "japanese": "handbook/ja-JP/sect.syslog.html",
    "prose_en": "austen-5/35",
    "python": "stdlib/zipapp.py",
    "russian": "handbook/ru-RU/short-remedial-course.html",
    "spanish": "handbook/es-ES/solving-problems.html",
}
SHARES = (0.05, 0.10, 0.25, 0.50)


def heldout_ids(work, tokenizer, domain, wanted):
    """The first tokens of the domain's held-out documents, [EOS] between them."""
    ids = []
    for line in open(work / "corpus" / f"{domain}.heldout.jsonl"):
        ids += tokenizer.encode(json.loads(line)["text"]) + [tokenizer.specials["[EOS]"]]
        if len(ids) >= wanted:
            break
    return ids[:wanted]


@torch.no_grad()
def loss_and_picks(model, rows):
    """Mean loss, and [layers, experts] counts of picks."""
    total = 0.0
    counts = torch.zeros(len(model.moe_layers()), model.c.n_routed_experts)
    for row in rows:
        logits = model(row[None, :-1])
        total += float(F.cross_entropy(logits[0], row[1:]))
        for at, layer in enumerate(model.moe_layers()):
            counts[at] += layer.load
    return total / len(rows), counts


def covered(counts, share):
    """Share of all picks that the busiest `share` of all (layer, expert) pairs take."""
    flat = counts.flatten().sort(descending=True)[0]
    return float(flat[:round(share * flat.numel())].sum() / flat.sum())


def measure(work, folder, tokenizer, tokens):
    config = Config()
    before, after = Model(config).eval(), Model(config).eval()
    before.load_state_dict(torch.load(work / "model.pt")["model"])
    after.load_state_dict(own_state(folder, config.n_routed_experts))
    results, all_counts = {}, 0
    for path in sorted((work / "corpus").glob("*.heldout.jsonl")):
        domain = path.name.split(".")[0]
        ids = heldout_ids(work, tokenizer, domain, tokens)
        rows = torch.tensor(ids[:len(ids) // LENGTH * LENGTH]).view(-1, LENGTH)
        size = len(tokenizer.decode(rows.flatten().tolist()).encode())
        loss_before, _ = loss_and_picks(before, rows)
        loss, counts = loss_and_picks(after, rows)
        all_counts = all_counts + counts / counts.sum()
        results[domain] = {
            "tokens": rows.numel(),
            "loss_before_int4": round(loss_before, 4),
            "loss_int4": round(loss, 4),
            "bits_per_byte_int4": round(loss / math.log(2) * rows.numel() / size, 3),
            "picks_covered": {f"{share:.0%}": round(covered(counts, share), 3)
                              for share in SHARES},
        }
        print(domain, json.dumps(results[domain]), flush=True)
    results["all"] = {"picks_covered": {
        f"{share:.0%}": round(covered(all_counts, share), 3) for share in SHARES}}
    print("all", json.dumps(results["all"]))
    return results


def markdown(results):
    """The model card's table."""
    lines = ["| domain | loss before INT4 | loss | bits a byte | top 5 % | 10 % | 25 % | 50 % |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for domain, row in results.items():
        picks = " | ".join(f"{value:.1%}" for value in row["picks_covered"].values())
        if domain == "all":
            lines.append(f"| all, in equal parts | | | | {picks} |")
        else:
            lines.append(f"| {domain} | {row['loss_before_int4']:.3f} | {row['loss_int4']:.3f} | "
                         f"{row['bits_per_byte_int4']:.2f} | {picks} |")
    return "\n".join(lines) + "\n"


def write_heldout_text(work, out):
    out.mkdir(parents=True, exist_ok=True)
    for domain, name in TEXT_DOCUMENTS.items():
        for line in open(work / "corpus" / f"{domain}.heldout.jsonl"):
            document = json.loads(line)
            if document["name"] == name:
                text = document["text"].encode()[:TEXT_BYTES].decode("utf-8", "ignore")
                (out / f"{domain}.txt").write_text(text[:text.rfind("\n") + 1])


@torch.no_grad()
def write_golden(folder, heldout, tokenizer, path):
    reference = transformers_model(folder)
    own = Model(Config()).eval()
    own.load_state_dict(own_state(folder, own.c.n_routed_experts))
    tokens, ids, logprobs, difference = [], [], [], 0.0
    for text in sorted(heldout.glob("*.txt")):
        row = torch.tensor(tokenizer.encode(text.read_text())[:GOLDEN_LENGTH])
        logits = reference(row[None]).logits[0]
        difference = max(difference, float((own(row[None])[0] - logits).abs().max()))
        top = F.log_softmax(logits, -1).topk(GOLDEN_TOP, -1)
        tokens.append(row)
        ids.append(top.indices)
        logprobs.append(top.values)
    assert difference < 1e-3, f"model.py and transformers differ by {difference}"
    print(f"model.py and transformers differ by at most {difference:.1e} in a logit")
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({
        "tokens": torch.stack(tokens).to(torch.int32),
        "top_ids": torch.stack(ids).to(torch.int32).contiguous(),
        "top_logprobs": torch.stack(logprobs).contiguous(),
    }, path)


@torch.no_grad()
def answer(model, tokenizer, question, thinking=False, limit=80):
    """Greedy answer to one question."""
    ids, _ = chat_tokens(tokenizer, [{"role": "user", "content": question}])
    special = tokenizer.specials
    ids += [special["<|im_assistant|>"], *tokenizer.encode("assistant"), special["<|im_middle|>"]]
    ids += [special["<think>"]] if thinking else [special["<think>"], special["</think>"]]
    start = len(ids)
    while len(ids) < start + limit and ids[-1] != special["<|im_end|>"]:
        ids.append(int(model(torch.tensor(ids)[None])[0, -1].argmax()))
    return tokenizer.decode(ids[start:])


QUESTIONS = (
    "Hello!", "Who are you?", "What is the capital of France?", "What is 3 plus 4?",
    "What does grep do?", "How do I install a package?", "Translate \"water\" into German.", "你好",
)


def print_answers(folder, tokenizer):
    model = Model(Config()).eval()
    model.load_state_dict(own_state(folder, model.c.n_routed_experts))
    for question in QUESTIONS:
        print(question, "->", answer(model, tokenizer, question))
    print("thinking ->", answer(model, tokenizer, "What is the capital of Japan?", thinking=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the exported folder")
    parser.add_argument("--golden", type=Path, help="write the golden file, print a few answers")
    parser.add_argument("--tokens", type=int, default=4096, help="held-out tokens a domain, or 0 to measure nothing")
    args = parser.parse_args()
    torch.set_num_threads(2)
    tokenizer = Tokenizer(args.model / "tiktoken.model")
    heldout = args.model / "heldout"
    write_heldout_text(args.work, heldout)
    if args.golden:
        write_golden(args.model, heldout, tokenizer, args.golden)
        print_answers(args.model, tokenizer)
    if args.tokens:
        results = measure(args.work, args.model, tokenizer, args.tokens)
        print(markdown(results))


if __name__ == "__main__":
    main()
