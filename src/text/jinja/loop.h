#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "text/jinja/value.h"

namespace stoker::text::jinja {

/// The variable `loop` of one running for statement, and what hands out its items. The condition of
/// `for x in y if condition` is asked as late as possible, since the body can change its answer.
class Loop : public Object {
 public:
  using Condition = std::function<bool(const Value& item)>;
  /// An empty condition holds for all items. Charges them to `heap` until Close.
  Loop(Heap& heap, std::vector<Value> items, Condition condition);

  /// Moves on to the next item; none: the loop is over.
  std::optional<Value> Next();
  /// Says that the statement has ended: the condition's names are gone, and no item is ahead. The
  /// object itself stays, since the template may have kept it.
  void Close();

  [[nodiscard]] std::string_view TypeName() const override { return "LoopContext"; }
  /// index, index0, revindex, revindex0, first, last, length, previtem, nextitem, depth, depth0,
  /// cycle and changed.
  const Value* Attribute(Runtime& runtime, std::string_view name) override;

 private:
  friend class LoopChanged;
  // Looks `count` items ahead, or as far as there are items; how many are known now.
  std::size_t LookAhead(std::size_t count);

  Heap& heap_;
  std::vector<Value> items_;
  Condition condition_;
  // Items [ahead_, known_) are known to come; from next_ on, the condition has not been asked.
  std::size_t ahead_ = 0;
  std::size_t known_ = 0;
  std::size_t next_ = 0;
  std::int64_t index_ = -1;
  Value current_;
  std::optional<Value> previous_;
  Value attribute_;  // the last one asked for
  std::optional<std::vector<Value>> last_changed_;
};

}  // namespace stoker::text::jinja
