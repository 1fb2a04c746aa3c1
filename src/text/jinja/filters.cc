#include "text/jinja/filters.h"

#include "text/jinja/failure.h"

namespace stoker::text::jinja {

Value ApplyFilter(Runtime& runtime, std::string_view name, const Value& input,
                  const Arguments& arguments) {
  runtime.Step();
  for (const FilterTable* table :
       {&TextFilters(), &SequenceFilters(), &SelectionFilters(), &NumberFilters()}) {
    if (const auto found = table->find(name); found != table->end()) {
      return found->second(runtime, input, arguments);
    }
  }
  Fail("no filter named '{}'", name);
}

}  // namespace stoker::text::jinja
