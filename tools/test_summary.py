#!/usr/bin/env python3
"""Adds up what scripts/test ran. usage: test_summary.py RESULTS

Reads RESULTS/stages.tsv (kind, name, ok or failed, seconds) and RESULTS/NAME.xml (JUnit, from
ctest or pytest) for the stages of kind `suite`. Lists what failed and why cases were skipped, and
ends with `N passed, N failed, N skipped`. Exits with 1 when anything failed or nothing ran.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

# ctest also reports a program that could not be started as skipped; only these are a test's wish.
CTEST_SKIPS = ("SKIP_REGULAR_EXPRESSION_MATCHED", "SKIP_RETURN_CODE", "Disabled")


class Tally:
    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: list[str] = []


def add_case(tally: Tally, suite: str, case: ElementTree.Element) -> None:
    name = f"{suite}: {case.get('classname')}.{case.get('name')}"
    if case.get("classname") == case.get("name"):
        name = f"{suite}: {case.get('name')}"
    skip = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        tally.failed.append(name)
    elif skip is None:
        tally.passed += 1
    elif case.get("status") == "notrun" and not skip.get("message", "").startswith(CTEST_SKIPS):
        tally.failed.append(f"{name} (not run: {skip.get('message')})")
    else:
        tally.skipped.append(name)


def add_suite(tally: Tally, name: str, report: pathlib.Path, stage_ok: bool) -> None:
    """Adds a suite's cases; a suite that ended badly without a failed case counts as one failure."""
    failed_before = len(tally.failed)
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        tally.failed.append(f"{name}: no report ({error})")
        return
    for case in cases:
        add_case(tally, name, case)
    if not stage_ok and len(tally.failed) == failed_before:
        tally.failed.append(f"{name}: ended with an error outside its cases")


def add_up(results: pathlib.Path) -> Tally:
    tally = Tally()
    for line in (results / "stages.tsv").read_text().splitlines():
        kind, name, status, _ = line.split("\t")
        if kind == "suite":
            add_suite(tally, name, results / f"{name}.xml", status == "ok")
        elif status != "ok":
            tally.failed.append(name)
        elif kind == "check":
            tally.passed += 1
    return tally


def main() -> int:
    tally = add_up(pathlib.Path(sys.argv[1]))
    for suite, count in collections.Counter(
            name.split(":")[0] for name in tally.skipped).items():
        print(f"skipped {count} of {suite}")
    for name in tally.failed:
        print(f"FAILED {name}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
