#pragma once

/// Functions between STOKER_BEGIN_TARGET and STOKER_END_TARGET may use the named instructions;
/// everything outside, headers included before in particular, stays fit for any processor. So no
/// inline function that the linker could share with other files is compiled for one instruction
/// set only. Every kernel also lives in an unnamed namespace for the same reason.
#define STOKER_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define STOKER_BEGIN_TARGET(flags) \
  STOKER_PRAGMA(clang attribute push(__attribute__((target(flags))), apply_to = function))
#define STOKER_END_TARGET STOKER_PRAGMA(clang attribute pop)
#define STOKER_UNROLL STOKER_PRAGMA(unroll)
#else
#define STOKER_BEGIN_TARGET(flags) \
  STOKER_PRAGMA(GCC push_options)  \
  STOKER_PRAGMA(GCC target(flags))
#define STOKER_END_TARGET STOKER_PRAGMA(GCC pop_options)
#define STOKER_UNROLL STOKER_PRAGMA(GCC unroll 16)
#endif

#define STOKER_INLINE inline __attribute__((always_inline))
