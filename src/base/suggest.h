#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

/// The candidate nearest to `word` in edit distance (Damerau-Levenshtein, adjacent swaps count
/// once), or an empty string when none is near enough to be a likely slip of the fingers.
/// Ties go to the earlier candidate.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean X?" for the nearest candidate, or an empty string.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace stoker
