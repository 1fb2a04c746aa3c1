#pragma once

#include "kernels/isa.h"
#include "sys/thread_pool.h"

namespace stoker::kernels {

struct OpTable;

/// The op table of an instruction set. Errors: none; `isa` must be supported (STOKER_CHECK).
const OpTable& OpsFor(Isa isa);

/// What every op needs beside its operands: which kernels, and who runs them.
struct Context {
  const OpTable* ops = nullptr;
  sys::ThreadPool* pool = nullptr;
};

/// True where INT4 weights meet activations rounded to 8 bits (every set but kRef).
bool QuantizesActivations(const OpTable& ops);

}  // namespace stoker::kernels
