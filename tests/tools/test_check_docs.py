import pytest

import check_docs
import check_words

FILES = {"src/base/a.h": "", "src/base/a.cc": "", "docs/guide.md": "# The guide\n\n## Two words\n"}


@pytest.mark.parametrize("text", [
    "See [the guide](docs/guide.md), [a part](docs/guide.md#two-words), [web](https://x.org/y).",
    "`src/base/a.{h,cc}` and src/base/*.h, then docs/guide.md.",
    "Write src/MODULE/x.cc, tests/NAME_x.cc or tests/<module>/x_test.cc.",
    "```sh\ncat src/none.cc\n```\n\n```text\nsrc/none.cc\n```\n",
    "The code in `http://host/src/none.cc` is elsewhere.",
])
def test_sound_documents_pass(tree, text):
    assert check_docs.check(tree({**FILES, "README.md": text + "\n"})) == []


@pytest.mark.parametrize("text, complaint", [
    ("[x](docs/none.md)", "links to docs/none.md, which does not exist"),
    ("[x](../other.md)", "links to ../other.md"),
    ("[x](docs/guide.md#three)", "has no such heading"),
    ("[x](#nowhere)", "has no such heading"),
    ("`src/base/none.h`", "names src/base/none.h, which does not exist"),
    ("src/base/a.{h,cu}", "names src/base/a.cu, which does not exist"),
    ("docs/README.md", "names docs/README.md, which does not exist"),
    ("src/kernels/*.cc", "names src/kernels/*.cc, which does not exist"),
    ("```\nx\n```", "a code fence is marked ''"),
    ("```bash\nx\n```", "a code fence is marked 'bash'"),
])
def test_each_breach_is_named(tree, text, complaint):
    problems = check_docs.check(tree({**FILES, "README.md": text + "\n"}))
    assert len(problems) == 1
    assert complaint in problems[0]


@pytest.mark.parametrize("line", [
    "open /" + "work/x", "read(\"/" + "root/y\")", "// TO" + "DO: later", "# FIX" + "ME"])
def test_forbidden_words_are_found(tree, line):
    problems = check_words.check(tree({"src/a.cc": f"int a;\n{line}\n", "models/x.py": line}))
    assert len(problems) == 1
    assert problems[0].startswith("src/a.cc:2: ")


def test_ordinary_words_are_left_alone(tree):
    text = "framework/x rework/ a/root/b ${HOME}/work/x todo methods\n"
    assert check_words.check(tree({"src/a.cc": text})) == []
