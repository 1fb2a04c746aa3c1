import pytest

import check_layers

TABLE = "# comment\n0 base:\n1 sys: base\n1 tensor: base\n2 text: base sys\n"
HEADER = "#pragma once\n"
SOUND = {
    "src/layers.txt": TABLE,
    "src/base/a.h": HEADER,
    "src/base/a.cc": '#include "base/a.h"\n\n#include "absl/status/status.h"\n',
    "src/sys/b.h": HEADER + '#include "base/a.h"\n',
    "src/text/c.h": HEADER + '#include "sys/b.h"\n#include <vector>\n',
    "src/tensor/d.h": HEADER,
    "src/tensor/d-inl.h": "int part;\n",
    "src/tensor/d.cc": '#include "tensor/d.h"\n#include "tensor/d-inl.h"\n',
}


def test_sound_tree_passes(tree):
    assert check_layers.check(tree(SOUND)) == []


@pytest.mark.parametrize("file, text, complaint", [
    ("src/base/a.h", HEADER + '#include "tensor/d.h"\n', "does not let base use tensor"),
    ("src/sys/b.h", HEADER + '#include "tensor/d.h"\n', "does not let sys use tensor"),
    ("src/text/c.h", HEADER + '#  include "tensor/d.h"\n', "does not let text use tensor"),
    ("src/base/a.h", HEADER + "#include <sys/stat.h>\n#include <tensor/d.h>\n",
     'write "tensor/d.h"'),
    ("src/text/c.h", HEADER + "#  include <sys/b.h>\n", 'write "sys/b.h"'),
    ("src/base/a.h", "int a;\n", "no #pragma once"),
    ("src/base/a.cc", '#include <vector>\n#include "absl/x.h"\n#include "base/a.h"\n',
     'include "base/a.h" before any other file'),
    ("src/sys/b.h", HEADER + '#include "base/gone.h"\n', "does not exist"),
    ("src/sys/b.h", HEADER + '#include "b2.h"\n', "write the path from src/"),
    ("src/sys/b.h", HEADER + '#include "../base/a.h"\n', "write the path from src/"),
    ("src/tensor/d.h", HEADER + '#include "tensor/d-inl.h"\n', "only a source file may include"),
    ("src/extra/e.h", HEADER, "its module is not in src/layers.txt"),
    ("src/layers.txt", TABLE + "2 kv: engine\n", "which no line above declares"),
    ("src/layers.txt", TABLE + "1 kv: sys\n", "only lower layers may be used"),
    ("src/layers.txt", TABLE + "x kv sys\n", "not 'LAYER MODULE: MODULES'"),
])
def test_each_breach_is_named(tree, file, text, complaint):
    problems = check_layers.check(tree({**SOUND, file: text}))
    assert len(problems) == 1
    assert complaint in problems[0]


def test_undeclared_module_is_refused_where_it_is_included(tree):
    problems = check_layers.check(tree({
        **SOUND,
        "src/extra/e.h": HEADER,
        "src/sys/b.h": HEADER + '#include "extra/e.h"\n'}))
    assert any("module extra is not in src/layers.txt" in problem for problem in problems)


def test_include_cycle_inside_a_module_is_shown(tree):
    problems = check_layers.check(tree({
        **SOUND,
        "src/base/x.h": HEADER + '#include "base/y.h"\n',
        "src/base/y.h": HEADER + '#include "base/a.h"\n#include "base/z.h"\n',
        "src/base/z.h": HEADER + '#include "base/x.h"\n'}))
    assert problems == ["include cycle: base/x.h -> base/y.h -> base/z.h -> base/x.h"]
