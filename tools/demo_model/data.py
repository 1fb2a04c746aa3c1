"""Draws training sequences: the same (seed, step, worker) gives the same tokens."""
import json
from pathlib import Path

import numpy as np

IGNORED = -100  # a target position that carries no loss


class Corpus:
    def __init__(self, folder, tokenizer):
        self.tokenizer = tokenizer
        self.domains = {}
        for path in sorted(Path(folder).glob("*.train.jsonl")):
            texts = [json.loads(line)["text"] for line in open(path)]
            sizes = np.array([len(text) for text in texts], dtype=np.float64)
            self.domains[path.name.split(".")[0]] = (texts, np.cumsum(sizes / sizes.sum()))

    def sequence(self, random, domain, length):
        """`length` tokens of running text; documents end with [EOS]."""
        texts, cumulative = self.domains[domain]
        ids = []
        while len(ids) < length:
            at = min(int(np.searchsorted(cumulative, random.random())), len(texts) - 1)
            text = texts[at]
            if not ids:  # begin somewhere inside, at a line
                start = text.rfind("\n", 0, int(random.random() * len(text))) + 1
                text = text[start:]
            wanted_chars = 8 * (length - len(ids))
            ids += self.tokenizer.encode(text[:wanted_chars])
            if len(text) <= wanted_chars:
                ids.append(self.tokenizer.specials["[EOS]"])
        return ids[:length]


def chat_tokens(tokenizer, messages):
    """Ids of a conversation in Kimi's layout, and which of them the assistant has to produce."""
    special = tokenizer.specials
    opening = {"system": "<|im_system|>", "user": "<|im_user|>", "assistant": "<|im_assistant|>"}
    ids, learned = [], []
    for message in messages:
        role = message["role"]
        head = [special[opening[role]], *tokenizer.encode(role), special["<|im_middle|>"]]
        body = tokenizer.encode(message["content"])
        if "reasoning" in message:
            head.append(special["<think>"])
            body = [*tokenizer.encode(message["reasoning"]), special["</think>"], *body]
        elif role == "assistant":
            head += [special["<think>"], special["</think>"]]
        body.append(special["<|im_end|>"])
        ids += head + body
        learned += [False] * len(head) + [role == "assistant"] * len(body)
    return ids, learned


class Batches:
    """Batches of (tokens, targets), a share of them conversations."""

    def __init__(self, corpus, tokenizer, conversations, length):
        self.corpus, self.tokenizer, self.length = corpus, tokenizer, length
        self.conversations = conversations  # a function: random generator -> messages

    def _chat_row(self, random):
        ids, learned = [], []
        while len(ids) <= self.length:
            more = chat_tokens(self.tokenizer, self.conversations(random))
            ids += more[0]
            learned += more[1]
        targets = [token if keep else IGNORED for token, keep in zip(ids, learned)]
        return ids[:self.length], targets[1:self.length + 1]

    def batch(self, seed, step, worker, rows, chat_share):
        random = np.random.default_rng((seed, step, worker))
        names = list(self.corpus.domains)
        tokens, targets = [], []
        for row in range(rows):
            if random.random() < chat_share:
                row_tokens, row_targets = self._chat_row(random)
            else:
                domain = names[(step * 2 * rows + worker * rows + row) % len(names)]
                ids = self.corpus.sequence(random, domain, self.length + 1)
                row_tokens, row_targets = ids[:-1], ids[1:]
            tokens.append(row_tokens)
            targets.append(row_targets)
        return np.array(tokens), np.array(targets)
