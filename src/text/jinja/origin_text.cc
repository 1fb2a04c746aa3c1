#include "text/jinja/origin_text.h"

#include <algorithm>

namespace stoker::text::jinja {

std::size_t OriginText::FlipAfter(std::size_t at) const {
  return static_cast<std::size_t>(std::upper_bound(flips_.begin(), flips_.end(), at) -
                                  flips_.begin());
}

bool OriginText::TrustedAt(std::size_t at) const {
  return first_ != (FlipAfter(at) % 2 == 1);
}

bool OriginText::Trusted(std::size_t begin, std::size_t end) const {
  return begin >= end || (TrustedAt(begin) && FlipAfter(begin) == FlipAfter(end - 1));
}

void OriginText::Append(std::string_view text, bool trusted) {
  if (text.empty()) return;
  if (bytes_.empty()) {
    first_ = trusted;
  } else if (const bool last = first_ != (flips_.size() % 2 == 1); last != trusted) {
    flips_.push_back(bytes_.size());
  }
  bytes_ += text;
}

void OriginText::AppendSlice(const OriginText& text, std::size_t begin, std::size_t end) {
  text.ForEachRun(begin, end, [this](std::string_view run, bool trusted) { Append(run, trusted); });
}

OriginText OriginText::Slice(std::size_t begin, std::size_t end) const {
  OriginText slice;
  slice.AppendSlice(*this, begin, end);
  return slice;
}

}  // namespace stoker::text::jinja
