#include <algorithm>
#include <map>

#include "text/jinja/arguments.h"
#include "text/jinja/failure.h"
#include "text/jinja/formatting.h"
#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_functions.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace stoker::text::jinja {
namespace {

Value Make(Runtime& runtime, const Value& self, OriginText text) {
  return runtime.heap().NewMarkupLike(self, std::move(text));
}

template <FunctionName name, Side side>
Value StripMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"chars"});
  return Make(runtime, self,
              Strip(runtime, self.text(), side, bound.Has(0) ? &bound.Text(0) : nullptr));
}

template <FunctionName name, Case to>
Value CaseMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {});
  runtime.StepBytes(8 * self.text().size());
  return Make(runtime, self, ChangeCase(self.text(), to));
}

// Adds pieces of `self` to a list of strings.
class Pieces {
 public:
  Pieces(Runtime& runtime, const Value& self) : runtime_(runtime), self_(self) {}
  void Add(std::size_t begin, std::size_t end) {
    runtime_.heap().Charge(2 * sizeof(Value));
    items_.push_back(Make(runtime_, self_, self_.text().Slice(begin, end)));
  }
  Value Take() { return runtime_.heap().NewList(std::move(items_)); }
  Value TakeReversed() {
    std::reverse(items_.begin(), items_.end());
    return Take();
  }

 private:
  Runtime& runtime_;
  const Value& self_;
  std::vector<Value> items_;
};

Value SplitAtSpace(Runtime& runtime, const Value& self, std::int64_t max_splits) {
  const std::string& text = self.bytes();
  Pieces pieces(runtime, self);
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && IsPythonSpace(CodePointAt(text, at).value)) {
      at += CodePointAt(text, at).bytes;
    }
    if (at == text.size()) return pieces.Take();
    std::size_t end = at;
    if (max_splits-- == 0) {
      pieces.Add(at, text.size());
      return pieces.Take();
    }
    while (end < text.size() && !IsPythonSpace(CodePointAt(text, end).value)) {
      end += CodePointAt(text, end).bytes;
    }
    pieces.Add(at, end);
    at = end;
  }
}

Value RightSplitAtSpace(Runtime& runtime, const Value& self, std::int64_t max_splits) {
  const std::string& text = self.bytes();
  Pieces pieces(runtime, self);
  std::size_t end = text.size();
  while (true) {
    while (end > 0 && IsPythonSpace(CodePointBefore(text, end).value)) {
      end -= CodePointBefore(text, end).bytes;
    }
    if (end == 0) return pieces.TakeReversed();
    std::size_t begin = end;
    if (max_splits-- == 0) {
      pieces.Add(0, end);
      return pieces.TakeReversed();
    }
    while (begin > 0 && !IsPythonSpace(CodePointBefore(text, begin).value)) {
      begin -= CodePointBefore(text, begin).bytes;
    }
    pieces.Add(begin, end);
    end = begin;
  }
}

template <FunctionName name, bool from_right>
Value SplitMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"sep", "maxsplit"});
  std::int64_t max_splits = bound.Int(1, -1);
  if (!bound.Has(0)) {
    runtime.StepBytes(8 * self.text().size());
    return from_right ? RightSplitAtSpace(runtime, self, max_splits)
                      : SplitAtSpace(runtime, self, max_splits);
  }
  const std::string& text = self.bytes();
  const std::string& separator = bound.Text(0).bytes();
  if (separator.empty()) Fail("empty separator");
  StepSearch(runtime, text, separator, from_right);
  Pieces pieces(runtime, self);
  if (from_right) {
    std::size_t end = text.size();
    while (max_splits-- != 0 && end >= separator.size()) {
      const std::size_t found = text.rfind(separator, end - separator.size());
      if (found == std::string::npos) break;
      pieces.Add(found + separator.size(), end);
      end = found;
    }
    pieces.Add(0, end);
    return pieces.TakeReversed();
  }
  std::size_t at = 0;
  while (max_splits-- != 0) {
    const std::size_t found = FindText(text, separator, at);
    if (found == std::string::npos) break;
    pieces.Add(at, found);
    at = found + separator.size();
  }
  pieces.Add(at, text.size());
  return pieces.Take();
}

Value SplitLinesMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  runtime.StepBytes(8 * self.text().size());
  const bool keep_ends = bound.Bool(0, false);
  Pieces lines(runtime, self);
  ForEachLine(self.text(), [&](std::size_t begin, std::size_t end, std::size_t next) {
    lines.Add(begin, keep_ends ? next : end);
  });
  return lines.Take();
}

template <FunctionName name, bool from_right>
Value PartitionMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"sep"}, 1);
  const OriginText& text = self.text();
  const std::string& separator = bound.Text(0).bytes();
  if (separator.empty()) Fail("empty separator");
  StepSearch(runtime, text.bytes(), separator, from_right);
  const std::size_t found =
      from_right ? text.bytes().rfind(separator) : FindText(text.bytes(), separator);
  const bool missing = found == std::string::npos;
  const std::size_t begin = missing ? (from_right ? 0 : text.size()) : found;
  const std::size_t end = missing ? begin : found + separator.size();
  std::vector<Value> parts = {Make(runtime, self, text.Slice(0, begin)),
                              Make(runtime, self, text.Slice(begin, end)),
                              Make(runtime, self, text.Slice(end, text.size()))};
  return runtime.heap().NewList(std::move(parts), List::Kind::kTuple);
}

// The part that optional start and end arguments (of str.find and its like) leave.
Value Window(Runtime& runtime, const Value& self, const Bound& bound, std::size_t first) {
  if (!bound.Has(first) && !bound.Has(first + 1)) return self;
  return Slice(runtime, self, {bound[first], bound[first + 1], Value()});
}

template <FunctionName name, bool at_end>
Value AffixMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"affix", "start", "end"}, 1);
  const Value window = Window(runtime, self, bound, 1);
  const auto matches = [&](const Value& affix) {
    RequireDefined(affix);
    if (!affix.IsString()) {
      Fail("{} first arg must be str or a tuple of str, not {}", name.view(), TypeName(affix));
    }
    runtime.StepBytes(affix.text().size());
    return at_end ? window.bytes().ends_with(affix.bytes())
                  : window.bytes().starts_with(affix.bytes());
  };
  if (bound[0].IsList() && bound[0].list().kind == List::Kind::kTuple) {
    const std::vector<Value>& affixes = bound[0].list().items;
    return Value::Bool(std::any_of(affixes.begin(), affixes.end(), matches));
  }
  return Value::Bool(matches(bound[0]));
}

Value ReplaceMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  return Make(runtime, self,
              Replace(runtime, self.text(), bound.Text(0), bound.Text(1), bound.Int(2, -1)));
}

template <FunctionName name, bool from_right, bool must_exist>
Value FindMethodOf(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"sub", "start", "end"}, 1);
  runtime.StepBytes(8 * self.text().size());  // to count the characters before it
  const Value window = Window(runtime, self, bound, 1);
  const std::string& wanted = bound.Text(0).bytes();
  StepSearch(runtime, window.bytes(), wanted, from_right);
  const std::size_t found =
      from_right ? window.bytes().rfind(wanted) : FindText(window.bytes(), wanted);
  if (found == std::string::npos) {
    if (must_exist) Fail("substring not found");
    return Value::Int(-1);
  }
  std::int64_t before = bound.Int(1, 0);
  const auto length = static_cast<std::int64_t>(CountCodePoints(self.bytes()));
  if (before < 0) before = std::max<std::int64_t>(before + length, 0);
  const std::string_view prefix = std::string_view(window.bytes()).substr(0, found);
  return Value::Int(before + static_cast<std::int64_t>(CountCodePoints(prefix)));
}

Value CountMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const Value window = Window(runtime, self, bound, 1);
  const std::string& wanted = bound.Text(0).bytes();
  StepSearch(runtime, window.bytes(), wanted);
  if (wanted.empty()) {
    runtime.StepBytes(8 * window.text().size());
    return Value::Int(static_cast<std::int64_t>(CountCodePoints(window.bytes())) + 1);
  }
  std::int64_t count = 0;
  for (std::size_t at = FindText(window.bytes(), wanted); at != std::string::npos;
       at = FindText(window.bytes(), wanted, at + wanted.size())) {
    runtime.Step();
    ++count;
  }
  return Value::Int(count);
}

Value JoinMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  OriginText joined;
  bool first = true;
  for (const Value& item : Iterate(runtime, bound[0])) {
    RequireDefined(item);
    if (!item.IsString()) Fail("sequence item: expected str instance, {} found", TypeName(item));
    runtime.heap().Charge(self.text().memory_bytes() + item.text().memory_bytes());
    if (!first) joined.Append(self.text());
    first = false;
    joined.Append(item.text());
  }
  return Make(runtime, self, std::move(joined));
}

template <FunctionName name, bool at_end>
Value RemoveAffixMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"affix"}, 1);
  const std::string& affix = bound.Text(0).bytes();
  const OriginText& text = self.text();
  const bool has = at_end ? text.bytes().ends_with(affix) : text.bytes().starts_with(affix);
  if (!has) return self;
  return Make(
      runtime, self,
      at_end ? text.Slice(0, text.size() - affix.size()) : text.Slice(affix.size(), text.size()));
}

template <FunctionName name, bool (*is)(char32_t)>
Value AllMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {});
  runtime.StepBytes(8 * self.text().size());
  const std::string& text = self.bytes();
  for (std::size_t at = 0; at < text.size(); at += CodePointAt(text, at).bytes) {
    if (!is(CodePointAt(text, at).value)) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

bool IsAlnum(char32_t c) {
  return c != '_' && IsWord(c);
}

// str.isupper and islower: some cased letter, and none of the other case.
template <FunctionName name, bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value IsCaseMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {});
  runtime.StepBytes(8 * self.text().size());
  const std::string& text = self.bytes();
  bool some = false;
  for (std::size_t at = 0; at < text.size(); at += CodePointAt(text, at).bytes) {
    const char32_t c = CodePointAt(text, at).value;
    if (other(c)) return Value::Bool(false);
    some = some || wanted(c);
  }
  return Value::Bool(some);
}

template <FunctionName name, Align align>
Value PadMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound(name.view(), arguments, {"width", "fillchar"}, 1);
  const OriginText fill = bound.Has(1) ? bound.Text(1) : OriginText(" ", true);
  if (CountCodePoints(fill.bytes()) != 1)
    Fail("The fill character must be exactly one character long");
  return Make(runtime, self, Pad(runtime, self.text(), bound.Int(0, 0), align, fill));
}

Value ZeroFillMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const OriginText& text = self.text();
  const std::size_t sign = text.bytes().starts_with('-') || text.bytes().starts_with('+') ? 1 : 0;
  OriginText out = text.Slice(0, sign);
  out.Append(Pad(runtime, text.Slice(sign, text.size()),
                 bound.Int(0, 0) - static_cast<std::int64_t>(sign), Align::kRight,
                 OriginText("0", true)));
  return Make(runtime, self, std::move(out));
}

Value FormatMethodOf(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return FormatBraces(runtime, self, arguments);
}

}  // namespace

Method FindStringMethod(std::string_view name) {
  static const auto& methods = *new std::map<std::string_view, Method>{
      {"capitalize", CaseMethod<"capitalize", Case::kCapitalized>},
      {"center", PadMethod<"center", Align::kCentre>},
      {"count", CountMethod},
      {"endswith", AffixMethod<"endswith", true>},
      {"find", FindMethodOf<"find", false, false>},
      {"format", FormatMethodOf},
      {"index", FindMethodOf<"index", false, true>},
      {"isalnum", AllMethod<"isalnum", IsAlnum>},
      {"isalpha", AllMethod<"isalpha", IsAlpha>},
      {"isdecimal", AllMethod<"isdecimal", IsDecimal>},
      {"isdigit", AllMethod<"isdigit", IsDigit>},
      {"islower", IsCaseMethod<"islower", IsLower, IsUpper>},
      {"isspace", AllMethod<"isspace", IsPythonSpace>},
      {"isupper", IsCaseMethod<"isupper", IsUpper, IsLower>},
      {"join", JoinMethod},
      {"ljust", PadMethod<"ljust", Align::kLeft>},
      {"lower", CaseMethod<"lower", Case::kLower>},
      {"lstrip", StripMethod<"lstrip", Side::kLeft>},
      {"partition", PartitionMethod<"partition", false>},
      {"removeprefix", RemoveAffixMethod<"removeprefix", false>},
      {"removesuffix", RemoveAffixMethod<"removesuffix", true>},
      {"replace", ReplaceMethod},
      {"rfind", FindMethodOf<"rfind", true, false>},
      {"rindex", FindMethodOf<"rindex", true, true>},
      {"rjust", PadMethod<"rjust", Align::kRight>},
      {"rpartition", PartitionMethod<"rpartition", true>},
      {"rsplit", SplitMethod<"rsplit", true>},
      {"rstrip", StripMethod<"rstrip", Side::kRight>},
      {"split", SplitMethod<"split", false>},
      {"splitlines", SplitLinesMethod},
      {"startswith", AffixMethod<"startswith", false>},
      {"strip", StripMethod<"strip", Side::kBoth>},
      {"title", CaseMethod<"title", Case::kTitle>},
      {"upper", CaseMethod<"upper", Case::kUpper>},
      {"zfill", ZeroFillMethod},
  };
  const auto found = methods.find(name);
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace stoker::text::jinja
