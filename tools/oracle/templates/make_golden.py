"""Writes tests/golden/templates/snippets.json: our snippets, and what jinja2 makes of them."""

import json
import pathlib

import jinja2
import oracle_env
import snippets

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "tests/golden/templates/snippets.json"


def main() -> None:
    templates = ["{{ " + e + " }}" for e in snippets.EXPRESSIONS] + snippets.STATEMENTS
    cases = []
    for template in templates:
        answer = oracle_env.render(template, snippets.CONTEXT)
        if " at 0x" in answer.get("output", "") or "SecurityError" in answer.get("error", ""):
            continue  # prints an address, or uses what only the sandbox forbids
        cases.append({"template": template, **answer})
    now = oracle_env.NOW
    golden = {"jinja2": jinja2.__version__, "context": snippets.CONTEXT,
              "now": [now.year, now.month, now.day, now.hour, now.minute, now.second]}
    lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in cases)
    head = json.dumps(golden, ensure_ascii=False)[:-1]
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(f'{head}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
