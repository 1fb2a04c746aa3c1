import textwrap

import pytest

import check_size


def functions(text: str) -> list[tuple[int, int, str]]:
    return [tuple(found) for found in check_size.cpp_functions(textwrap.dedent(text))]


def test_functions_are_found_with_their_first_line_and_length():
    assert functions("""\
        namespace stoker {

        int One() { return 1; }

        class alignas(64) Counter final : public Base {
         public:
          Counter() : value_{0}, rest_(1) { Reset(); }
          int value() const {
            if (value_ > 3) {
              return 3;
            }
            return value_;
          }

         private:
          int value_ = 0;
        };

        template <class T>
        auto Sum(std::vector<T> values = {},
                 T start = {}) -> T {
          for (T value : values) start += value;
          return start;
        }
        }  // namespace stoker
        """) == [
            (3, 1, "int One()"),
            (7, 1, "Counter() : value_{0}, rest_(1)"),
            (8, 6, "int value() const"),
            (19, 6, "template <class T> auto Sum(std::vector<T> values = {}, T st"),
        ]


def test_braces_outside_code_are_ignored():
    assert functions(r'''
        #define OPEN(x) \
          do { x; } \
          while (false)
        // {
        /* { */
        const char* kText = "{\"{";
        const char* kRaw = R"x({ ")" { )x";
        char kBrace = '{';
        int kMany = 1'000'000;
        const int kTable[] = {1, 2, 3};
        ''') == []


def test_a_lambda_that_stands_alone_counts_as_a_function():
    body = "  x += 1;\n" * 90
    problems = check_size.check_text("a.cc", f"const auto kF = [](int x) {{\n{body}}};\n")
    assert len(problems) == 1
    assert "92 lines" in problems[0]


@pytest.mark.parametrize("body_lines, ok", [(77, True), (78, False)])
def test_functions_stay_under_80_lines(body_lines, ok):
    text = "void F() {\n" + "  x();\n" * body_lines + "}\n"
    assert (check_size.check_text("a.cc", text) == []) == ok


@pytest.mark.parametrize("lines, ok", [(599, True), (600, False)])
def test_files_stay_under_600_lines(lines, ok):
    assert (check_size.check_text("a.h", "\n" * lines) == []) == ok


def test_python_functions_are_measured_too():
    text = "class A:\n    def f(self):\n" + "        x = 1\n" * 80
    assert check_size.check_text("a.py", text) == [
        "a.py:2: f: 81 lines; functions stay under 80"]


@pytest.mark.parametrize("text", [
    "void F() {\n", "}\n", "#if A\nint F() {\n#else\nint G() {\n#endif\n}\n"])
def test_unbalanced_braces_are_refused_not_guessed(text):
    problems = check_size.check_text("a.cc", text)
    assert len(problems) == 1
    assert "cannot be read" in problems[0]
