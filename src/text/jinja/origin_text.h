#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::text::jinja {

/// A string that knows of each byte whether the template (trusted) or its data (untrusted) wrote
/// it; see text/segment.h for why. Most strings have one origin, which costs no allocation.
class OriginText {
 public:
  OriginText() = default;
  OriginText(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_(trusted) {}

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// What the text takes beside the object itself.
  [[nodiscard]] std::size_t memory_bytes() const {
    return bytes_.size() + flips_.size() * sizeof(flips_[0]);
  }
  /// Whether the byte at `at`, which must exist, is the template's.
  [[nodiscard]] bool TrustedAt(std::size_t at) const;

  /// Whether all bytes in [begin, end) are the template's.
  [[nodiscard]] bool Trusted(std::size_t begin, std::size_t end) const;

  void Append(std::string_view text, bool trusted);
  void Append(const OriginText& text) { AppendSlice(text, 0, text.size()); }
  /// Appends bytes [begin, end) of `text`, which must not be this object.
  void AppendSlice(const OriginText& text, std::size_t begin, std::size_t end);
  [[nodiscard]] OriginText Slice(std::size_t begin, std::size_t end) const;

  /// Calls `visit(std::string_view run, bool trusted)` for each maximal run of one origin within
  /// bytes [begin, end), in order.
  template <typename Visit>
  void ForEachRun(std::size_t begin, std::size_t end, const Visit& visit) const {
    const std::string_view all = bytes_;
    std::size_t next_flip = FlipAfter(begin);
    while (begin < end) {
      const bool trusted = first_ != (next_flip % 2 == 1);
      const std::size_t flip = next_flip < flips_.size() ? flips_[next_flip] : all.size();
      const std::size_t stop = flip < end ? flip : end;
      visit(all.substr(begin, stop - begin), trusted);
      begin = stop;
      ++next_flip;
    }
  }

 private:
  // The index of the first flip that lies beyond byte `at`.
  [[nodiscard]] std::size_t FlipAfter(std::size_t at) const;

  std::string bytes_;
  bool first_ = true;               // the origin of byte 0
  std::vector<std::size_t> flips_;  // where the origin changes, ascending, never 0 nor the end
};

}  // namespace stoker::text::jinja
