#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::text {

/// A run of UTF-8 text of one origin.
///
/// Special tokens steer the model, so they must come from the template and never from what a user
/// typed. Text cannot say where it came from once it is joined, hence the scheme:
///  - The template renderer keeps the origin of every character. Literals of the template file are
///    trusted; so are values the server itself chose from a closed set (roles it has checked,
///    bos_token, eos_token). Message contents, names, tool definitions, tool results and earlier
///    answers of the model are not. What is computed from both is untrusted, unless the parts can
///    still be told apart (concatenation, join, slices, strip).
///  - The tokenizer recognises a special token only where each of its characters is trusted. All
///    other text, trusted or not, is encoded as one text, so that a boundary between segments
///    never changes the tokens of ordinary text: honest input gives the ids of the model's
///    reference tokenizer.
struct Segment {
  std::string text;
  bool trusted = false;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// What a chat template made of a conversation.
struct RenderedPrompt {
  std::vector<Segment> segments;
  /// Each <|name|> of the template has to be a token, as in all of Kimi's layouts.
  bool needs_markers = false;

  /// Adds text at the end; joins it to the last segment where that has the same origin.
  void Append(std::string_view text, bool trusted) {
    if (text.empty()) return;
    if (!segments.empty() && segments.back().trusted == trusted) {
      segments.back().text += text;
    } else {
      segments.push_back({std::string(text), trusted});
    }
  }

  /// The whole text, origins dropped: to show to people, never to encode with specials on.
  [[nodiscard]] std::string Text() const {
    std::string joined;
    for (const Segment& segment : segments) joined += segment.text;
    return joined;
  }
};

}  // namespace stoker::text
