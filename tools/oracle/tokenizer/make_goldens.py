#!/usr/bin/env python3
"""Makes the tokenizers and golden ids of tests/golden/tokenizer.

usage: make_goldens.py [OUT]      (with the packages of requirements.txt)

Trains tiny tokenizers on corpus.txt and writes them with the ids that the reference packages give:
tiktoken for tiktoken.model with Kimi's pattern, Hugging Face's tokenizers for tokenizer.json. The
output depends on nothing but this folder and the packages' versions.
"""

import base64
import json
import pathlib
import random
import sys
import unicodedata

import tiktoken
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_OUT = HERE.parents[2] / "tests" / "golden" / "tokenizer"
VOCABULARY_SIZE = 900

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
KIMI_PATTERN = "|".join([
    r"[\p{Han}]+",
    f"{LEAD}{UPPER}*{LOWER}+{CONTRACTION}?",
    f"{LEAD}{UPPER}+{LOWER}*{CONTRACTION}?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])
# As Llama 3, and with single digits Qwen, have it.
CL100K_PATTERN = "|".join([
    CONTRACTION, rf"{LEAD}\p{{L}}+", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+",
    r"\s+(?!\S)", r"\s+",
])
# As DeepSeek-V3 has it.
DEEPSEEK_PATTERN = "|".join([
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+",
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
    r" ?[\p{P}\p{S}]+[\r\n]*",
    r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])


def assigned_characters():
    """Characters whose properties every Unicode version in use agrees on, or nearly all."""
    return [chr(c) for c in range(0x110000)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def random_texts(rng, count):
    characters = assigned_characters()
    han = [c for c in characters if unicodedata.name(c, "").startswith("CJK UNIFIED")][:3000]
    pools = [
        characters, han, list(" \t\n\r\u00a0\u2003\u3000\u180e\u001c"), list("aAbB'sStTlL"),
        list("0123456789٣४②½"), list("!?.,;:-_(){}[]<>|&^"), list("éßñàÀÉаяЯЖ中国語かなカー々〇、"),
        list("\u0301\u0327\u093f\u0e31\u20dd\u200d\ufe0f🔥👩👍🏽🇩🇪"),
    ]
    texts = []
    for _ in range(count):
        pool = rng.choice(pools[1:]) + rng.choice(pools)[:] if rng.random() < 0.7 else pools[0]
        parts = []
        for _ in range(rng.randint(1, 25)):
            parts.append(rng.choice(pool) * rng.choice([1, 1, 1, 2, 5]))
        texts.append("".join(parts))
    return texts


def written_texts(corpus):
    lines = corpus.split("\n")
    return lines + [
        "", " ", "\n", "\r\n\r\n", "   leading", "trailing   ", "a  b   c    d", "\t\tx",
        "CAN'T WON'T i'LL we'Re it'ſ", "HTTPServer2XMLParser", "don't", "x = 1;\n\n\n  y = 22;\n",
        "Cafe\u0301 nai\u0308ve \u1e9b\u0323 \u212b \uac00\u11a8 \u0958", "a" * 300, " " * 200 + "x",
        "ab" * 200, "😀" * 50, "漢字" * 100, "\ufeffmark", "nul\x00nul", "\u2028\u2029\u0085",
    ]


def write_lines(path, rows):
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def train(pattern, corpus):
    """Vocabulary and merges of a byte-level BPE whose pieces the pattern cuts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY_SIZE, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(corpus.split("\n\n"), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(m) if isinstance(m, list) else tuple(m.split(" "))
                            for m in model["merges"]]


def byte_of_character():
    """GPT-2's alphabet: printable Latin-1 for itself, the other bytes from U+0100 on."""
    table, other = {}, 0x100
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            table[chr(byte)] = byte
        else:
            table[chr(other)] = byte
            other += 1
    return table


def make_kimi(out, corpus, rng):
    out.mkdir(parents=True, exist_ok=True)
    _, merges = train(KIMI_PATTERN, corpus)
    table = byte_of_character()
    tokens = [bytes([b]) for b in range(256)]
    for left, right in merges:
        token = bytes(table[c] for c in left + right)
        if token not in tokens:
            tokens.append(token)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    with open(out / "tiktoken.model", "wb") as model:
        for token, rank in ranks.items():
            model.write(base64.b64encode(token) + b" %d\n" % rank)
    names = ["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>",
             "<|im_middle|>", "[EOT]", "<think>", "</think>"]
    specials = {name: len(ranks) + i for i, name in enumerate(names)}
    config = {
        "added_tokens_decoder": {
            str(i): {"content": name, "special": not name.endswith("think>")}
            for name, i in specials.items()},
        "bos_token": "[BOS]", "eos_token": "[EOS]"}
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")

    reference = tiktoken.Encoding("golden", pat_str=KIMI_PATTERN, mergeable_ranks=ranks,
                                  special_tokens=specials)
    rows = [{"text": text, "ids": reference.encode_ordinary(text)}
            for text in [corpus] + written_texts(corpus) + random_texts(rng, 300)]
    template = "<|im_user|>user<|im_middle|>a  \n<|im_end|>\n\n<|im_assistant|><think></think>"
    rows.append({"text": template, "trusted": True,
                 "ids": reference.encode(template, allowed_special="all")})
    write_lines(out / "encode.jsonl", rows)
    streams = [[rng.randrange(len(ranks)) for _ in range(rng.randint(1, 30))] for _ in range(100)]
    write_lines(out / "decode.jsonl",
                [{"ids": ids, "text": reference.decode(ids, errors="replace")} for ids in streams])


def added(token_id, content, special=True, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": special, **flags}


def byte_level(add_prefix_space=False, use_regex=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True,
            "use_regex": use_regex}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def variants(size):
    """Layouts of tokenizer.json as families of published models have them, by name."""
    begin, end = "<|begin_of_text|>", "<|eot_id|>"
    llama = [added(size, begin), added(size + 1, end), added(size + 2, "<|header|>")]
    whole = ["the furnace", "🔥🚂"]  # tokens that no merge makes: only ignore_merges finds them
    yield "llama", whole, True, "pairs", {
        "added_tokens": [{**t, "id": t["id"] + len(whole)} for t in llama],
        "normalizer": None,
        "pre_tokenizer": sequence(split(CL100K_PATTERN), byte_level()),
        "post_processor": {"type": "Sequence", "processors": [
            byte_level(), {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": begin, "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                         {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {begin: {"id": begin, "ids": [size + len(whole)],
                                           "tokens": [begin]}}}]}}
    yield "gpt2", [], False, "strings", {
        "added_tokens": [added(size, "<|endoftext|>"), added(size + 1, " " * 4, special=False),
                         added(size + 2, " " * 8, special=False)],
        "normalizer": None, "pre_tokenizer": byte_level(add_prefix_space=True, use_regex=True),
        "post_processor": byte_level()}
    yield "qwen", [], False, "strings", {
        "added_tokens": [added(size, "<|im_start|>"), added(size + 1, "<|im_end|>"),
                         added(size + 2, "<tool_call>", special=False)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": sequence(split(CL100K_PATTERN.replace("{1,3}", "")), byte_level()),
        "post_processor": byte_level()}
    yield "deepseek", [], False, "strings", {
        "added_tokens": [added(size, "<｜begin▁of▁sentence｜>"), added(size + 1, "<｜User｜>"),
                         added(size + 2, "<｜end▁of▁sentence｜>", lstrip=True, rstrip=True)],
        "normalizer": {"type": "Sequence", "normalizers": []},
        "pre_tokenizer": sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"),
                                  split(DEEPSEEK_PATTERN), byte_level()),
        "post_processor": None}
    behaviours = {
        "removed": split(r"\s+", "Removed"), "previous": split(r"\s+", "MergedWithPrevious"),
        "next": split(r"\s+", "MergedWithNext"), "contiguous": split(r"\s", "Contiguous"),
        "inverted": split(r"\p{L}+", "Removed", invert=True)}
    for name, step in behaviours.items():
        yield f"split_{name}", [], False, "strings", {
            "added_tokens": [], "normalizer": None,
            "pre_tokenizer": sequence(
                {"type": "Digits", "individual_digits": name != "contiguous"}, step,
                byte_level()),
            "post_processor": None}


def make_tokenizer_json(out, corpus, rng):
    vocab, merges = train(CL100K_PATTERN, corpus)
    characters = {byte: c for c, byte in byte_of_character().items()}
    for name, whole, ignore_merges, spelling, layout in variants(len(vocab)):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        extra = {"".join(characters[b] for b in token.encode()): len(vocab) + i
                 for i, token in enumerate(whole)}
        data = {
            "version": "1.0", "truncation": None, "padding": None, **layout,
            "decoder": byte_level(),
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore_merges,
                      "vocab": {**vocab, **extra},
                      "merges": [list(m) if spelling == "pairs" else " ".join(m)
                                 for m in merges]}}
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n",
                        encoding="utf-8")
        reference = Tokenizer.from_file(str(path))
        is_small = name.startswith("split_")
        texts = written_texts(corpus)[::2 if is_small else 1] + whole
        texts += random_texts(rng, 20 if is_small else 120)
        rows = [{"text": text, "ids": reference.encode(text, add_special_tokens=False).ids}
                for text in texts]
        names = [t["content"] for t in layout["added_tokens"]]
        if names:
            template = f"{names[0]}user\n\n  Hello{names[2]}  \n{names[1]} {names[1]}42 x{names[0]}"
            rows.append({"text": template, "trusted": True,
                         "ids": reference.encode(template, add_special_tokens=False).ids})
        rows.append({"text": "first", "add_bos": True, "ids": reference.encode("first").ids})
        write_lines(folder / "encode.jsonl", rows)


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_OUT
    corpus = (HERE / "corpus.txt").read_text(encoding="utf-8")
    make_kimi(out / "kimi", corpus, random.Random(1))
    make_tokenizer_json(out, corpus, random.Random(2))


if __name__ == "__main__":
    main()
