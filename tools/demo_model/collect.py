#!/usr/bin/env python3
"""Collects the demo model's text from Debian packages, one JSONL file per domain.

Every document goes to the training or the held-out half by the hash of its name, so the split is
the same on every machine. Nothing is installed: packages are downloaded and unpacked in the work
folder. Licences are listed in README.md and, per file, in each package's copyright file.
"""
import argparse
import gzip
import hashlib
import html.parser
import json
import lzma
import re
import subprocess
import tarfile
import zlib
from pathlib import Path

PACKAGES = (
    [f"debian-reference-{lang}" for lang in ("en", "de", "fr", "es", "ja", "zh-cn")]
    + ["debian-faq"]
    + [f"debian-faq-{lang}" for lang in ("de", "fr", "ru", "ja", "zh-cn")]
    + ["debian-handbook", "gnome-user-docs", "installation-guide-amd64", "python3.11-doc"]
    + ["libpython3.11-stdlib", "newlib-source", "r-cran-janeaustenr"]
)

# Domain -> the language codes that each package uses for it.
LANGUAGES = {
    "docs_en": {"reference": "en", "handbook": "en-US", "help": "C", "guide": "en", "faq": "en"},
    "german": {"reference": "de", "handbook": "de-DE", "help": "de", "guide": "de", "faq": "de"},
    "french": {"reference": "fr", "handbook": "fr-FR", "help": "fr", "guide": "fr", "faq": "fr"},
    "spanish": {"reference": "es", "handbook": "es-ES", "help": "es", "guide": "es", "faq": "es"},
    "russian": {"reference": "ru", "handbook": "ru-RU", "help": "ru", "guide": "ru", "faq": "ru"},
    "japanese": {"reference": "ja", "handbook": "ja-JP", "help": "ja", "guide": "ja", "faq": "ja"},
    "chinese": {
        "reference": "zh-cn", "handbook": "zh-CN", "help": "zh_CN", "guide": "zh_CN",
        "faq": "zh-cn",
    },
}
# A page that its translators left in English is not a document of the language: share of letters
# in the script, or the language's commonest words against English's.
SCRIPTS = {
    "russian": r"[\u0400-\u04ff]",
    "japanese": r"[\u3040-\u30ff\u4e00-\u9fff]",
    "chinese": r"[\u4e00-\u9fff]",
}
COMMON_WORDS = {
    "english": r"\b(the|and|of|to|you|is)\b",
    "german": r"\b(der|die|das|und|sie|ist|zu)\b",
    "french": r"\b(le|la|les|et|de|vous|des)\b",
    "spanish": r"\b(el|la|los|y|de|que|en)\b",
}
MAX_BYTES_PER_DOMAIN = 6_000_000
MIN_DOCUMENT_CHARS = 300
HELDOUT_ONE_IN = 24


class TextOfHtml(html.parser.HTMLParser):
    """Keeps running text and code blocks; drops navigation, scripts and style."""

    SKIPPED = {"script", "style", "nav", "head", "title"}
    BLOCKS = {"p", "div", "li", "pre", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "br"}
    VOID = {"br", "img", "hr", "meta", "link", "input", "col"}

    def __init__(self):
        super().__init__()
        self.parts = []
        self.skip_depth = 0
        self.pre_depth = 0

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIPPED or ("class", "navheader") in attrs or ("class", "navfooter") in attrs:
            self.skip_depth += 1
        elif self.skip_depth and tag not in self.VOID:
            self.skip_depth += 1
        if tag == "pre":
            self.pre_depth += 1
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        if self.skip_depth and tag not in self.VOID:
            self.skip_depth -= 1
        if tag == "pre":
            self.pre_depth = max(0, self.pre_depth - 1)
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data):
        if self.skip_depth:
            return
        self.parts.append(data if self.pre_depth else re.sub(r"\s+", " ", data))


def tidy(text):
    text = text.replace("\r", "").replace("\t", "    ").replace("\u00a0", " ").replace("\u200b", "")
    text = re.sub(r"[ ]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def text_of_html(raw):
    parser = TextOfHtml()
    parser.feed(raw)
    parser.close()
    return tidy("".join(parser.parts))


def text_of_mallard(raw):
    """GNOME's help pages: XML whose paragraphs are <p>, titles <title>."""
    raw = re.sub(r"(?s)<info>.*?</info>", "", raw)
    raw = re.sub(r"(?s)<!--.*?-->", "", raw)
    raw = re.sub(r"\s+", " ", raw)
    raw = re.sub(r"</?(title|p|item|section|note|code|screen|td|tr)\b[^>]*>", "\n", raw)
    text = re.sub(r"<[^>]*>", "", raw)
    text = "\n".join(line.strip() for line in html.unescape(text).splitlines())
    return tidy(text)


def read_maybe_gzip(path):
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def r_strings(raw):
    """The character strings of an R lazy-load database chunk, in order.

    A CHARSXP is a 4-byte flag word whose low byte is 9, a 4-byte big-endian length, the bytes.
    """
    at, found = 0, []
    while at + 8 <= len(raw):
        flags = raw[at:at + 4]
        if flags[0] == 0 and flags[3] == 9 and flags[2] in (0, 0x04, 0x08, 0x20, 0x40):
            length = int.from_bytes(raw[at + 4:at + 8], "big")
            if length <= 200 and at + 8 + length <= len(raw):
                found.append(raw[at + 8:at + 8 + length].decode("latin-1"))
                at += 8 + length
                continue
        at += 1
    return found


def austen_documents(root):
    """Chapters of the novels. The database is a run of chunks: length, zlib stream."""
    raw = (root / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    at, novel = 0, 0
    while at + 5 < len(raw):
        start = at + (5 if raw[at + 4:at + 5] in (b"2", b"3", b"Z") else 4)
        chunk = zlib.decompressobj()
        try:
            data = chunk.decompress(raw[start:])
        except zlib.error:
            data = lzma.decompress(raw[start:])
        at = len(raw) - len(chunk.unused_data)
        lines = r_strings(data)
        if len(lines) < 1000:
            continue
        novel += 1
        text = tidy("\n".join(lines))
        for number, chapter in enumerate(re.split(r"(?im)^(?=chapter\s+[\divxlc]+)", text)):
            # Verse and headings keep their lines; paragraphs are unwrapped.
            chapter = re.sub(r"(?<=\S)\n(?=\S)", " ", chapter)
            yield f"austen-{novel}/{number:02d}", chapter


def language_documents(root, codes):
    share = root / "usr/share"
    for path in sorted((share / "debian-reference").glob(f"*.{codes['reference']}.html")):
        yield f"reference/{path.name}", text_of_html(path.read_text("utf-8", "replace"))
    for path in sorted((share / "doc/debian-handbook/html" / codes["handbook"]).glob("*.html")):
        yield f"handbook/{codes['handbook']}/{path.name}", text_of_html(
            path.read_text("utf-8", "replace"))
    for path in sorted((share / "help" / codes["help"]).rglob("*.page")):
        yield f"help/{codes['help']}/{path.name}", text_of_mallard(
            path.read_text("utf-8", "replace"))
    for path in sorted((share / "doc/installation-guide-amd64" / codes["guide"]).glob("*.html")):
        yield f"guide/{codes['guide']}/{path.name}", text_of_html(
            path.read_text("utf-8", "replace"))
    for path in sorted((share / "doc/debian/FAQ").rglob(f"*.{codes['faq']}.html")):
        yield f"faq/{path.name}", text_of_html(path.read_text("utf-8", "replace"))


def python_manual_documents(root):
    base = root / "usr/share/doc/python3.11/html/_sources"
    for path in sorted(base.rglob("*.rst.txt")):
        if "whatsnew/changelog" not in str(path):
            yield f"pydoc/{path.relative_to(base)}", tidy(path.read_text("utf-8", "replace"))


def python_code_documents(root):
    base = root / "usr/lib/python3.11"
    for path in sorted(base.rglob("*.py")):
        parts = path.relative_to(base).parts
        # A link may lead into a package that is not among ours.
        if path.is_file() and not {"test", "tests", "encodings", "pydoc_data", "lib2to3"} & set(parts):
            yield f"stdlib/{'/'.join(parts)}", tidy(path.read_text("utf-8", "replace"))


def c_code_documents(root):
    archive = next((root / "usr/src/newlib").glob("newlib-*.tar.xz"))
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith((".c", ".h")) and "/libc/" in member.name:
                text = tar.extractfile(member).read().decode("utf-8", "replace")
                yield f"newlib/{member.name.split('/', 1)[1]}", tidy(text)


def is_in_language(domain, text):
    if domain in SCRIPTS:
        return 2 * len(re.findall(SCRIPTS[domain], text)) >= len(re.findall(r"[^\W\d_]", text))
    if domain in COMMON_WORDS:
        counts = {language: len(re.findall(words, text, re.IGNORECASE))
                  for language, words in COMMON_WORDS.items()}
        return counts[domain] > 4 * counts["english"]
    return True


def domains(root):
    yield "docs_en", list(language_documents(root, LANGUAGES["docs_en"])) + list(
        python_manual_documents(root))
    yield "prose_en", list(austen_documents(root))
    yield "python", list(python_code_documents(root))
    yield "c", list(c_code_documents(root))
    for name, codes in LANGUAGES.items():
        if name != "docs_en":
            yield name, [(document, text) for document, text in language_documents(root, codes)
                         if is_in_language(name, text)]


def name_hash(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def unpack(work):
    debs = work / "debs"
    root = work / "root"
    debs.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=debs, check=True)
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    return root


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--unpacked", action="store_true", help="the packages are in WORK/root")
    args = parser.parse_args()
    root = args.work / "root" if args.unpacked else unpack(args.work)
    out = args.work / "corpus"
    out.mkdir(exist_ok=True)
    for domain, documents in domains(root):
        # An order by hash mixes the sources, so the cap below drops a fair sample of each.
        documents = sorted(documents, key=lambda document: name_hash(document[0]))
        seen, kept_bytes = set(), 0
        with open(out / f"{domain}.train.jsonl", "w") as train, \
                open(out / f"{domain}.heldout.jsonl", "w") as heldout:
            for name, text in documents:
                digest = hashlib.sha256(text.encode()).digest()
                if len(text) < MIN_DOCUMENT_CHARS or "\ufffd" in text or digest in seen:
                    continue
                if kept_bytes > MAX_BYTES_PER_DOMAIN:
                    break
                seen.add(digest)
                kept_bytes += len(text.encode())
                half = heldout if name_hash("split/" + name) % HELDOUT_ONE_IN == 0 else train
                half.write(json.dumps({"name": name, "text": text}, ensure_ascii=False) + "\n")
        print(f"{domain}: {len(seen)} documents, {kept_bytes} bytes", flush=True)


if __name__ == "__main__":
    main()
