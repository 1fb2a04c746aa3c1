#include "text/jinja/filters.h"

#include "text/jinja/failure.h"

namespace stoker::text::jinja {
namespace {

Filter FindFilter(std::string_view name) {
  for (const FilterTable* table :
       {&TextFilters(), &SequenceFilters(), &SelectionFilters(), &NumberFilters()}) {
    if (const auto found = table->find(name); found != table->end()) return found->second;
  }
  return nullptr;
}

}  // namespace

bool IsFilter(std::string_view name) {
  return FindFilter(name) != nullptr;
}

Value ApplyFilter(Runtime& runtime, std::string_view name, const Value& input,
                  const Arguments& arguments) {
  runtime.Step();
  const Filter filter = FindFilter(name);
  if (filter == nullptr) Fail("no filter named '{}'", name);
  return filter(runtime, input, arguments);
}

}  // namespace stoker::text::jinja
