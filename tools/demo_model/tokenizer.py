#!/usr/bin/env python3
"""Trains and applies the demo model's tokenizer: byte-level BPE in the tiktoken.model format.

The file is one `base64 rank` line a token, ranks contiguous from 0, the 256 bytes first. Encoding
cuts the text with Kimi's regular expression and, inside each piece, repeatedly merges the adjacent
pair of lowest rank. A block of 256 special ids follows the ranks, at the offsets that Kimi uses.
"""
import argparse
import base64
import collections
import heapq
import json
from pathlib import Path

import regex

SPLIT = regex.compile(
    "(?V1)" + "|".join([
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]))

# Offset from the number of ranks -> name; the remaining ids are reserved.
SPECIALS = {
    0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>",
    6: "<|start_header_id|>", 7: "<|end_header_id|>", 9: "[EOT]", 10: "<|im_system|>",
    11: "<|tool_calls_section_begin|>", 12: "<|tool_calls_section_end|>",
    13: "<|tool_call_begin|>", 14: "<|tool_call_argument_begin|>", 15: "<|tool_call_end|>",
    17: "<|im_middle|>", 22: "<think>", 23: "</think>", 254: "[UNK]", 255: "[PAD]",
}
NOT_SKIPPED = {11, 12, 13, 14, 15, 22, 23}  # "special": false, so decoding keeps them
SPECIAL_BLOCK = 256
BASE_TOKENS = 4864
MAX_TOKEN_BYTES = 24


class Tokenizer:
    def __init__(self, path):
        self.ranks = {}
        for line in Path(path).read_text().splitlines():
            token, rank = line.split()
            self.ranks[base64.b64decode(token)] = int(rank)
        self.tokens = {rank: token for token, rank in self.ranks.items()}
        self.vocab_size = len(self.ranks) + SPECIAL_BLOCK
        self.specials = {name: len(self.ranks) + at for at, name in SPECIALS.items()}
        self._cache = {}

    def _encode_piece(self, piece):
        if piece in self.ranks:
            return [self.ranks[piece]]
        parts = [piece[i:i + 1] for i in range(len(piece))]
        while len(parts) > 1:
            best = min(range(len(parts) - 1),
                       key=lambda i: (self.ranks.get(parts[i] + parts[i + 1], 1 << 30), i))
            merged = parts[best] + parts[best + 1]
            if merged not in self.ranks:
                break
            parts[best:best + 2] = [merged]
        return [self.ranks[part] for part in parts]

    def encode(self, text):
        """Ids of plain text: names of special tokens in it are ordinary characters."""
        ids = []
        for piece in SPLIT.findall(text):
            if piece not in self._cache:
                self._cache[piece] = self._encode_piece(piece.encode())
            ids += self._cache[piece]
        return ids

    def decode(self, ids):
        names = {token_id: name for name, token_id in self.specials.items()}
        raw = b"".join(self.tokens.get(i) or names.get(i, f"<|reserved_token_{i}|>").encode()
                       for i in ids)
        return raw.decode("utf-8", "replace")


def count_pieces(corpus, bytes_per_domain):
    counts = collections.Counter()
    for path in sorted(corpus.glob("*.train.jsonl")):
        taken = 0
        for line in open(path):
            text = json.loads(line)["text"]
            taken += len(text.encode())
            if taken > bytes_per_domain:
                break
            counts.update(SPLIT.findall(text))
    return counts


def train_merges(counts, n_merges):
    """Greedy BPE; ties go to the smaller pair of byte strings, so the result is unique."""
    words = [[piece.encode()[i:i + 1] for i in range(len(piece.encode()))] for piece in counts]
    weights = list(counts.values())
    pair_count = collections.Counter()
    pair_words = collections.defaultdict(set)
    for at, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pair_count[pair] += weights[at]
            pair_words[pair].add(at)
    heap = [(-count, pair) for pair, count in pair_count.items()]
    heapq.heapify(heap)
    tokens = [bytes([value]) for value in range(256)]
    known = set(tokens)
    while len(tokens) < 256 + n_merges:
        count, pair = heapq.heappop(heap)
        if -count != pair_count[pair]:
            continue  # an outdated entry; the current one is in the heap as well
        merged = pair[0] + pair[1]
        if merged in known or len(merged) > MAX_TOKEN_BYTES:
            if len(merged) > MAX_TOKEN_BYTES:
                continue
        else:
            known.add(merged)
            tokens.append(merged)
        changed = set()
        for at in pair_words.pop(pair):
            word, weight = words[at], weights[at]
            for old in zip(word, word[1:]):
                pair_count[old] -= weight
                changed.add(old)
            new, i = [], 0
            while i < len(word):
                if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
                    new.append(merged)
                    i += 2
                else:
                    new.append(word[i])
                    i += 1
            words[at] = new
            for fresh in zip(new, new[1:]):
                pair_count[fresh] += weight
                pair_words[fresh].add(at)
                changed.add(fresh)
        pair_count.pop(pair, None)
        for other in sorted(changed):
            if pair_count.get(other, 0) > 0:
                heapq.heappush(heap, (-pair_count[other], other))
    return tokens


def write_tokenizer(folder, tokens):
    with open(folder / "tiktoken.model", "w") as out:
        for rank, token in enumerate(tokens):
            out.write(f"{base64.b64encode(token).decode()} {rank}\n")
    added = {}
    for at, name in SPECIALS.items():
        added[str(len(tokens) + at)] = {
            "content": name, "lstrip": False, "normalized": False, "rstrip": False,
            "single_word": False, "special": at not in NOT_SKIPPED,
        }
    config = {
        "added_tokens_decoder": added,
        "additional_special_tokens": [
            name for at, name in SPECIALS.items()
            if at not in NOT_SKIPPED and at not in (0, 1, 254, 255)
        ],
        "bos_token": "[BOS]",
        "clean_up_tokenization_spaces": False,
        "eos_token": "[EOS]",
        "extra_special_tokens": {},
        "model_max_length": 2048,
        "pad_token": "[PAD]",
        "tokenizer_class": "TikTokenTokenizer",
        "unk_token": "[UNK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--bytes-per-domain", type=int, default=1_500_000)
    args = parser.parse_args()
    counts = count_pieces(args.work / "corpus", args.bytes_per_domain)
    counts = collections.Counter({piece: n for piece, n in counts.items() if n > 1})
    tokens = train_merges(counts, BASE_TOKENS - 256)
    write_tokenizer(args.work, tokens)
    tokenizer = Tokenizer(args.work / "tiktoken.model")
    for path in sorted((args.work / "corpus").glob("*.heldout.jsonl")):
        text = "".join(json.loads(line)["text"] for line in open(path))
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text, f"{path}: the text does not come back"
        print(f"{path.name}: {len(text.encode()) / len(ids):.2f} bytes a token", flush=True)


if __name__ == "__main__":
    main()
