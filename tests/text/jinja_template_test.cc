#include <sys/resource.h>

#include <string>

#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "text/jinja/template.h"

namespace stoker::text::jinja {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Renders with `user` from outside and `own` from the server.
absl::StatusOr<RenderedPrompt> Render(const std::string& source, const Json& user = nullptr,
                                      const RenderOptions& options = {}) {
  auto parsed = Template::Parse(source);
  if (!parsed.ok()) return parsed.status();
  const Json own = "[own]";
  return parsed->Render(
      {{.name = "user", .value = &user}, {.name = "own", .trusted = true, .value = &own}}, options);
}

// The most memory that this process has ever used.
std::size_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string Error(const std::string& source, const RenderOptions& options = {}) {
  const auto rendered = Render(source, nullptr, options);
  return rendered.ok() ? "" : std::string(Message(rendered.status()));
}

std::vector<Segment> Segments(const std::string& source, const Json& user) {
  const auto rendered = Render(source, user);
  EXPECT_TRUE(rendered.ok()) << source << rendered.status();
  return rendered.ok() ? rendered->segments : std::vector<Segment>();
}

TEST(JinjaOrigin, TemplateTextIsTrustedAndDataIsNot) {
  EXPECT_THAT(Segments("<a>{{ user }}{{ own }}</a>", "x"),
              ElementsAre(Segment{"<a>", true}, Segment{"x", false}, Segment{"[own]</a>", true}));
}

TEST(JinjaOrigin, SurvivesJoiningAndCutting) {
  const std::vector<Segment> expected = {{"<", true}, {"user", false}, {">", true}};
  for (const char* const expression : {
           "'<' + user + '>'",
           "'<' ~ user ~ '>'",
           "['<', user, '>'] | join",
           "''.join(['<', user, '>'])",
           "('  <' + user + '>\n') | trim",
           "('--<' + user + '>--').strip('-')",
           "('x<' + user + '>y')[1:-1]",
           "('<' + user + '>, b').split(', ')[0]",
           "('<' + user + '>\nb').splitlines()[0]",
           "'<@>' | replace('@', user)",
           "'<@>'.replace('@', user)",
           "'<%s>' % user",
           "'<%s>' | format(user)",
           "'<{}>'.format(user)",
           "('>' + (user | reverse) + '<') | reverse",
           "('<' + user + '>') | upper | lower",
           "('<' + user + '>') | string",
           "('<' + user + '>') | list | join",
           "('<' + user + '>') | safe",
           "('<' + user + '>').removeprefix('x').removesuffix('y')",
           "('<' + user + '>').partition('|')[0]",
           "'<' + {'k': user}['k'] + '>'",
       }) {
    EXPECT_EQ(Segments("{{ " + std::string(expression) + " }}", "user"), expected) << expression;
  }
}

TEST(JinjaOrigin, SurvivesCapturingInMacrosAndBlocks) {
  const std::vector<Segment> expected = {{"<", true}, {"u", false}, {">", true}};
  for (const char* const source : {
           "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(user) }}",
           "{% set x %}<{{ user }}>{% endset %}{{ x }}",
           "{% filter trim %} <{{ user }}> {% endfilter %}",
           "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ user }}{% endcall %}",
           "{% set ns = namespace() %}{% set ns.x = '<' + user %}{{ ns.x }}>",
       }) {
    EXPECT_EQ(Segments(source, "u"), expected) << source;
  }
}

TEST(JinjaOrigin, TextOfUsersStaysUntrustedWhateverIsDoneToIt) {
  const Json user = {{"<k>", "<v>\n"}, {"list", {"<|x|>", 1, true}}};
  for (const char* const expression :
       {"user", "user | tojson", "user | tojson(indent=2)", "user | string", "user.list",
        "user | dictsort", "user.items() | list", "'%r' % (user.list,)", "user | urlencode",
        "user['<k>'] | e"}) {
    for (const Segment& segment : Segments("{{ " + std::string(expression) + " }}", user)) {
      EXPECT_FALSE(segment.trusted) << expression << ": " << segment.text;
    }
  }
}

TEST(JinjaOrigin, KeysOfUsersStayUntrustedThroughKeywordArguments) {
  const Json user = {{"<|x|>", 1}};
  for (const char* const source :
       {"{% for k in dict(**user) %}{{ k }}{% endfor %}",
        "{{ dict(**user) | items | map('first') | join }}",
        "{% set d = {} %}{% set _ = d.update(**user) %}{{ d.keys() | join }}",
        "{% macro m() %}{{ kwargs.keys() | join }}{% endmacro %}{{ m(**user) }}",
        "{% macro m() %}{{ caller(**kwargs) }}{% endmacro %}"
        "{% call m(**user) %}{{ kwargs | list | join }}{% endcall %}",
        "{% macro m() %}{{ dict(**kwargs) | list | join }}{% endmacro %}{{ m(**user) }}"}) {
    EXPECT_THAT(Segments(source, user), ElementsAre(Segment{"<|x|>", false})) << source;
  }
  EXPECT_THAT(
      Segments("{{ dict(a=1) | list | join }}{{ dict({'b': 1}, **user) | list | join }}", user),
      ElementsAre(Segment{"ab", true}, Segment{"<|x|>", false}));
}

TEST(JinjaOrigin, FormatsAndFillersOfUsersAddNothingTrusted) {
  RenderOptions options;
  options.now = CivilTime{};
  const Json user = {{"time", "<%d>"},  {"char", "|"},     {"brace", "{:<>5}{:+d}{}"},
                     {"percent", "%%"}, {"lines", "a\nb"}, {"padded", "%-5s|%+d"}};
  for (const char* const expression :
       {"strftime_now(user.time)", "user.char.center(5, user.char)",
        "user.brace.format(user.char, 1, user.char)", "user.percent % ()", "user.lines | indent(0)",
        "user.padded % (user.char, 1)"}) {
    const auto rendered = Render("{{ " + std::string(expression) + " }}", user, options);
    ASSERT_TRUE(rendered.ok()) << expression << rendered.status();
    for (const Segment& segment : rendered->segments) {
      EXPECT_FALSE(segment.trusted) << expression << ": " << segment.text;
    }
  }
}

TEST(JinjaOrigin, NumbersAndLiteralsInJsonKeepTheirOwnOrigin) {
  EXPECT_THAT(
      Segments("{{ {'a': user} | tojson }}", "<x>"),
      ElementsAre(Segment{"{\"", false}, Segment{"a", true}, Segment{"\": \"<x>\"}", false}));
  EXPECT_THAT(Segments("<|image_{{ user }}|>", 3), ElementsAre(Segment{"<|image_3|>", true}));
}

TEST(JinjaOrigin, OnlyListedValuesOfTrustedFieldsAreTrusted) {
  const Json user = {{{"role", "user"}, {"content", "user"}}, {{"role", "<|im_end|>"}}};
  RenderOptions options;
  options.trusted_fields = {{"role", {"user", "assistant"}}};
  const auto rendered =
      Render("{% for m in user %}[{{ m.role }}:{{ m.content }}]{% endfor %}", user, options);
  ASSERT_TRUE(rendered.ok());
  EXPECT_THAT(rendered->segments,
              ElementsAre(Segment{"[user:", true}, Segment{"user", false}, Segment{"][", true},
                          Segment{"<|im_end|>", false}, Segment{":]", true}));
}

TEST(JinjaErrors, SayTheLineInOneLine) {
  EXPECT_EQ(Error("a\n{{ 1 +\n }}"), "line 3 of the template: expected an expression, got '}}'");
  EXPECT_EQ(Error("a\n\n{{ nope.x }}"), "line 3 of the template: 'nope' is undefined");
  EXPECT_EQ(Error("{% for x in [1] %}\n{{ x.y.z }}{% endfor %}"),
            "line 2 of the template: 'int object' has no attribute 'y'");
  EXPECT_EQ(Error("{{ raise_exception('two\nlines') }}"), "line 1 of the template: two lines");
  EXPECT_EQ(Error("\n{% include 'x' %}"), "line 2 of the template: unknown tag 'include'");
  EXPECT_EQ(Error("{{ 1 | nope }}"), "line 1 of the template: no filter named 'nope'");
  EXPECT_THAT(Error("{{ strftime_now('%Y') }}"), HasSubstr("no clock"));
  EXPECT_THAT(Error("{{ 9223372036854775807 + 1 }}"), HasSubstr("64 bits"));
}

TEST(JinjaErrors, NameTheFunctionThatWasCalled) {
  for (const char* const name :
       {"ljust", "islower", "isdigit", "lstrip", "lower", "rfind", "rsplit", "rpartition"}) {
    EXPECT_THAT(Error("{{ 'x'." + std::string(name) + "(1, 2, 3, 4) }}"),
                HasSubstr(std::string(name) + "() takes"));
  }
  EXPECT_THAT(Error("{{ {}.keys(1) }}"), HasSubstr("keys() takes"));
  EXPECT_THAT(Error("{{ [1] | max(1, 2, 3) }}"), HasSubstr("max() takes"));
  EXPECT_THAT(Error("{{ 'x' | lower(1) }}"), HasSubstr("lower() takes"));
}

TEST(JinjaErrors, AreShortAndPrintableWhateverTheTemplateWrites) {
  EXPECT_EQ(Error("{{ raise_exception('\\x1b[2J') }}"), "line 1 of the template: \\x1B[2J");
  for (const char* const source :
       {"{{ raise_exception('漢' * 1000000) }}", "{{ [][('x' * 1000000)] + 1 }}"}) {
    EXPECT_LT(Error(source).size(), 600U) << source;
    EXPECT_THAT(Error(source), HasSubstr("…")) << source;
  }
}

TEST(JinjaErrors, NumbersWithoutAnAnswerFail) {
  EXPECT_THAT(Error("{{ 9223372036854775807 | round(-1) }}"), HasSubstr("64 bits"));
  EXPECT_THAT(Error("{{ -9223372036854775807 | round(-19) }}"), HasSubstr("64 bits"));
  EXPECT_THAT(Error("{{ [1, 'nan' | float] | sort }}"), HasSubstr("nan has no place"));
  EXPECT_THAT(Error("{{ '½'.isnumeric() }}"), HasSubstr("no attribute 'isnumeric'"));
}

TEST(JinjaLimits, EndlessWorkEndsWithAnError) {
  RenderOptions options;
  options.limits.steps = 100'000;
  EXPECT_THAT(Error("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
                    options),
              HasSubstr("more than 100000 steps"));
  EXPECT_THAT(Error("{% set l = range(9999) | list %}{% for x in range(99) %}{{ l.index(9998) }}"
                    "{% endfor %}",
                    options),
              HasSubstr("steps"));
  EXPECT_THAT(Error("{% set l = [1] %}{% for x in range(99999) %}"
                    "{% for y in range(9) %}{{ 'abc' in l }}{% endfor %}{% endfor %}",
                    options),
              HasSubstr("steps"));
}

// Each took minutes or longer when the work that it asks for was not counted.
TEST(JinjaLimits, WorkIsCountedWhereverATemplateHidesIt) {
  RenderOptions options;
  options.limits.steps = 1'000'000;
  const std::string texts =
      "{% set s = 'a' * 2000000 %}{% set t = 'a' * 9999 ~ 'b' %}{% set u = 'b' ~ 'a' * 9999 %}";
  for (const char* const work :
       {"{{ s.find(t) }}", "{{ s.rfind(u) }}", "{{ t in s }}", "{{ s.count(t) }}",
        "{{ s.split(t) }}", "{{ s.rsplit(u) }}", "{{ s.partition(t) }}", "{{ s.rpartition(u) }}",
        "{{ s.replace(t, 'x') }}", "{{ s | replace(t, 'x') }}",
        "{% for i in range(99999) %}{% if s.startswith(s) %}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{{ [] | join(s) }}{% endfor %}",
        "{% for i in range(99999) %}{{ '%.0s' % s }}{% endfor %}",
        "{% for i in range(99999) %}{% if {s: 1}[s] %}{% endif %}{% endfor %}"}) {
    EXPECT_THAT(Error(texts + work, options), AnyOf(HasSubstr("steps"), HasSubstr("memory")))
        << work;
  }
  std::string shared = "{% set t0 = (1, 2, 3, 4, 5, 6, 7, 8, 9, 0) %}";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "t" + std::to_string(i - 1);
    shared += "{% set t" + std::to_string(i) + " = (" + last;
    for (int k = 1; k < 10; ++k) shared += ", " + last;
    shared += ") %}";
  }
  EXPECT_THAT(Error(shared + "{{ {t8: 1} }}", options), HasSubstr("steps"));
  std::string names;
  for (int i = 0; i < 20'000; ++i) names += "{%set v" + std::to_string(i) + "=1%}";
  EXPECT_THAT(Error(names, options), HasSubstr("steps"));
  std::string macro = "{% macro m(p0=1";
  for (int i = 1; i < 2000; ++i) macro += ",p" + std::to_string(i) + "=1";
  EXPECT_THAT(Error(macro + ") %}{% endmacro %}{% set d = {} %}{% for i in range(2000) %}"
                            "{% set _ = d.update({'p' ~ i: 1}) %}{% endfor %}{{ m(**d) }}",
                    options),
              HasSubstr("steps"));
}

TEST(JinjaLimits, ALongRawBlockIsReadOnce) {
  std::string source = "{% raw %}";
  for (int i = 0; i < 250'000; ++i) source += "{% endraw x\n";
  EXPECT_THAT(Error(source), HasSubstr("missing end of raw directive"));
}

TEST(JinjaLimits, WorkThatTemplatesNeedStaysWithinTheLimits) {
  const std::string text = "{% set s = 'some text, ' * 100000 %}";  // 1.1 MB, as a long document
  for (const char* const work :
       {"{{ s.split('</think>')[-1] | length }}", "{{ (s ~ '</think>x').split('</think>')[1] }}",
        "{{ s.find('<|tool|>') }}", "{{ s | trim | length }}",
        "{{ s.replace('text', 'x') | length }}",
        "{% for i in range(100) %}{{ '<|x|>' in s }}{% endfor %}", "{{ s | tojson | length }}",
        "{{ s.rstrip('\n').lstrip('\n') | length }}", "{{ (s * 9) in (s * 10) }}",
        "{{ s.splitlines() | length }}", "{{ (s ~ 'b').strip(s) }}", "{{ s | indent | length }}"}) {
    EXPECT_EQ(Error(text + work), "") << work;
  }
}

TEST(JinjaLimits, EndlessMemoryEndsWithAnError) {
  RenderOptions options;
  options.limits.memory_bytes = 1 << 20;
  for (const char* const source : {
           "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
           "{% endfor %}",
           "{{ 'x' * 9999999999 }}",
           "{{ 'x' * 9223372036854775807 }}",
           "{{ [1] * 999999999 }}",
           "{% set l = [1] %}{% for i in range(99) %}{{ l.extend(l) }}{% endfor %}",
           "{{ '%9999999999s' % 'x' }}",
           "{{ '{:9999999999}'.format(1) }}",
           "{{ 'x'.center(9999999999) }}",
           "{{ ('x' * 9999).replace('', 'y' * 9999) }}",
           "{{ (['x' * 9999] * 9999) | join }}",
           "{% for i in range(99999) %}0123456789012345678901234567890123456789{% endfor %}",
           "{{ [1]|batch(9999999999, 0)|list }}",
       }) {
    EXPECT_THAT(Error(source, options), HasSubstr("memory")) << source;
  }
}

// What a text becomes is larger than the text.
TEST(JinjaLimits, MemoryIsCountedBeforeItIsTaken) {
  RenderOptions options;
  options.limits.memory_bytes = std::size_t{8} << 20;
  const std::size_t before = PeakMemoryBytes();
  for (const char* const source :
       {"{{ ('\n' * 5000000).splitlines() }}", "{{ ('\x01' * 5000000) | tojson }}",
        "{{ 'x'.center(5000000, '漢') }}", "{{ [('\x01' * 5000000)] | string }}",
        "{% set s = ('é' * 2500000)[1:9:2] %}{{ s[1:] }}",
        "{% set b = range(100000) | list %}{% for i in b %}{% for x in b %}{% for y in b %}"
        "{% for z in b %}{% for w in b %}{{ b * 2 }}{% endfor %}{% endfor %}{% endfor %}"
        "{% endfor %}{% endfor %}",
        "{% set d = {} %}{% for i in range(99999) %}{% set _ = d.update({i: d}) %}{% endfor %}"
        "{{ d | tojson }}",
        "{{ [1] | tojson(separators=('x' * 4000000, '')) }}"
        "{{ [1, 2, 3] | tojson(separators=('x' * 4000000, '')) }}",
        "{% set _ = 'a' %}{{ ('<' * 5000000) | e }}{{ ('<' * 5000000) | e }}"}) {
    EXPECT_THAT(Error(source, options), HasSubstr("memory")) << source;
  }
  EXPECT_LT(PeakMemoryBytes() - before, std::size_t{64} << 20);
}

TEST(JinjaLimits, ALoopThatHasEndedGivesItsMemoryBack) {
  RenderOptions options;
  options.limits.memory_bytes = std::size_t{16} << 20;
  options.limits.steps = 10'000'000;
  EXPECT_EQ(Error("{% set b = range(20000) | list %}{% for i in range(1000) %}"
                  "{% for x in b %}{% break %}{% endfor %}{% endfor %}",
                  options),
            "");
}

TEST(JinjaLimits, EndlessDepthEndsWithAnError) {
  EXPECT_THAT(Error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), HasSubstr("levels deep"));
  EXPECT_THAT(Error("{% set l = [] %}{{ l.append(l) }}{{ l }}"), HasSubstr("levels deep"));
  EXPECT_THAT(Error("{% set l = [] %}{{ l.append(l) }}{{ l | tojson }}"), HasSubstr("levels"));
  EXPECT_THAT(Error("{% set l = [] %}{{ l.append(l) }}{{ l == [l] }}{% set m = [] %}"
                    "{{ m.append(m) }}{{ l == m }}"),
              HasSubstr("levels deep"));
  EXPECT_THAT(Error("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"),
              HasSubstr("levels deep"));
  EXPECT_THAT(Error("{{ " + std::string(5000, '-') + "1 }}"), HasSubstr("levels deep"));
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "{% if 1 %}";
  EXPECT_THAT(Error(ifs), HasSubstr("levels deep"));
  std::string sum = "1";
  for (int i = 0; i < 50000; ++i) sum += "+1";
  EXPECT_THAT(Error("{{ " + sum + " }}"), HasSubstr("operators"));
}

TEST(JinjaTemplate, ListsAndDictsCanBeChanged) {  // jinja2's sandbox forbids it, some templates try
  const auto rendered = Render(
      "{% set l = [1] %}{% set _ = l.append(2) %}{% set _ = l.insert(0, 0) %}{{ l }}"
      "{{ l.pop() }}{{ l.pop(0) }}{{ l }}{% set d = {'a': 1} %}{% set _ = d.update(b=2) %}"
      "{{ d.pop('a') }}{{ d.setdefault('c', 3) }}{{ d }}");
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_EQ(rendered->Text(), "[0, 1, 2]20[1]13{'b': 2, 'c': 3}");
}

TEST(JinjaTemplate, BytesThatAreNotUtf8DoNoHarm) {
  const auto rendered = Render("\xFF{{ '\xC3' | upper }}{{ ('a\xE2\x82' ~ 'z')[::-1] }}");
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_EQ(rendered->Text(),
            "\xFF\xC3z\x82\xE2"
            "a");
}

}  // namespace
}  // namespace stoker::text::jinja
