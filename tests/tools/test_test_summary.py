import pytest

import test_summary

CTEST = """<?xml version="1.0"?>
<testsuite name="x" tests="4">
  <testcase name="a.Passes" classname="a.Passes" time="0" status="run"/>
  <testcase name="a.Fails" classname="a.Fails" time="0" status="fail"><failure/></testcase>
  <testcase name="a.Skips" classname="a.Skips" time="0" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="a_NOT_BUILT" classname="a_NOT_BUILT" time="0" status="notrun">
    <skipped message="Unable to find executable: a_NOT_BUILT"/></testcase>
</testsuite>
"""
PYTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest" tests="3">
  <testcase classname="tests.a" name="test_passes" time="0"/>
  <testcase classname="tests.a" name="test_breaks" time="0"><error/></testcase>
  <testcase classname="tests.a" name="test_skips" time="0"><skipped message="why"/></testcase>
</testsuite></testsuites>
"""
ONE_PASS = '<testsuite><testcase name="a" classname="a" status="run"/></testsuite>'


def run(tree, capsys, monkeypatch, files):
    folder = tree(files)
    monkeypatch.setattr("sys.argv", ["test_summary.py", str(folder)])
    code = test_summary.main()
    return code, capsys.readouterr().out.splitlines()


def test_cases_and_checks_are_added_up_and_failures_named(tree, capsys, monkeypatch):
    code, lines = run(tree, capsys, monkeypatch, {
        "stages.tsv": "step\tbuild\tok\t1\ncheck\tformat\tok\t1\ncheck\tsize\tfailed\t1\n"
                      "suite\tunit\tfailed\t1\nsuite\tpy\tfailed\t1\n",
        "unit.xml": CTEST, "py.xml": PYTEST})
    assert code == 1
    assert lines == [
        "skipped 1 of unit",
        "skipped 1 of py",
        "FAILED size",
        "FAILED unit: a.Fails",
        "FAILED unit: a_NOT_BUILT (not run: Unable to find executable: a_NOT_BUILT)",
        "FAILED py: tests.a.test_breaks",
        "3 passed, 4 failed, 2 skipped"]


@pytest.mark.parametrize("stages, last_line", [
    ("step\tbuild\tfailed\t1\n", "0 passed, 1 failed, 0 skipped"),
    ("suite\tunit\tfailed\t1\n", "1 passed, 1 failed, 0 skipped"),
    ("suite\tlost\tok\t1\n", "0 passed, 1 failed, 0 skipped"),
    ("step\tbuild\tok\t1\n", "0 passed, 0 failed, 0 skipped"),
])
def test_trouble_outside_the_cases_fails_the_run(tree, capsys, monkeypatch, stages, last_line):
    code, lines = run(tree, capsys, monkeypatch, {"stages.tsv": stages, "unit.xml": ONE_PASS})
    assert code == 1
    assert lines[-1] == last_line


def test_all_well_exits_zero(tree, capsys, monkeypatch):
    code, lines = run(tree, capsys, monkeypatch, {
        "stages.tsv": "suite\tunit\tok\t1\ncheck\tformat\tok\t1\n", "unit.xml": ONE_PASS})
    assert (code, lines) == (0, ["2 passed, 0 failed, 0 skipped"])
