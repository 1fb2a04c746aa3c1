#pragma once

// Packing of whole panels, once for every instruction set. Moves bits; nothing is rounded.
namespace stoker::kernels {
namespace {

/// Transposes `words` 32-bit words of 16 rows to [words][16].
void PackWords(const std::byte* const* rows, std::size_t words, std::byte* out) {
  auto* to = reinterpret_cast<float*>(out);
  for (std::size_t word = 0; word < words; word += 16) {
    const std::size_t count = Smaller(16, words - word);
    F block[16];
    for (std::size_t lane = 0; lane < 16; ++lane) {
      block[lane] = LoadUpTo16(reinterpret_cast<const float*>(rows[lane]) + word, count);
    }
    Transpose16(block);
    for (std::size_t i = 0; i < count; ++i) Store(to + (word + i) * 16, block[i]);
  }
}

/// The lower (kShift 0) or upper (16) four nibbles of each word, each in a byte of its own.
template <int kShift>
STOKER_INLINE I SpreadNibbles(I words) {
  I four = AndInt(ShiftRight<kShift>(words), 0x0000ffff);
  four = AndInt(OrInt(four, ShiftLeft<8>(four)), 0x00ff00ff);
  return AndInt(OrInt(four, ShiftLeft<4>(four)), 0x0f0f0f0f);
}

/// Packs `groups` groups of 32 INT4 columns of 16 rows: see PackedMatrix.
void PackInt4(const std::byte* const* rows, std::size_t groups, std::byte* out) {
  auto* to = reinterpret_cast<float*>(out);
  for (std::size_t group = 0; group < groups; group += 4) {
    const std::size_t count = Smaller(4, groups - group);
    F words[16];
    for (std::size_t lane = 0; lane < 16; ++lane) {
      words[lane] = LoadUpTo16(reinterpret_cast<const float*>(rows[lane]) + 4 * group, 4 * count);
    }
    Transpose16(words);
    for (std::size_t g = 0; g < count; ++g) {
      // Words 0 and 1 hold columns 0 … 15, the low nibbles; words 2 and 3 the high ones.
      for (std::size_t half = 0; half < 2; ++half) {
        const I low = BitsOf(words[4 * g + half]);
        const I high = BitsOf(words[4 * g + 2 + half]);
        Store(to, FromBits(OrInt(SpreadNibbles<0>(low), ShiftLeft<4>(SpreadNibbles<0>(high)))));
        Store(to + 16,
              FromBits(OrInt(SpreadNibbles<16>(low), ShiftLeft<4>(SpreadNibbles<16>(high)))));
        to += 32;
      }
    }
  }
}

}  // namespace
}  // namespace stoker::kernels
