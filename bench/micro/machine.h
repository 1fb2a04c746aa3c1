#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sys/memory.h"
#include "sys/thread_pool.h"

namespace stoker::bench {

/// Workers on all physical cores of this machine.
sys::ThreadPool& Pool();

/// Read bandwidth of all cores together: the best of several passes over a buffer that no cache
/// holds, measured anew at each call. Bytes a second.
double ReadBandwidth();

/// What one core's vector unit multiplies and adds in registers alone, in its widest form here.
enum class Instruction : std::uint8_t {
  kFmaF32,   ///< vfmadd231ps
  kDotInt8,  ///< vpdpbusd zmm, or vpmaddubsw and vpaddw ymm
  kDotBf16,  ///< vdpbf16ps zmm
};
/// Whether this processor has it in any form; the two below must not be called where it has not.
bool Supported(Instruction instruction);
/// Multiply-adds done by `rounds` rounds, which is also the work that this runs.
std::size_t RunInstruction(Instruction instruction, std::size_t rounds);
/// Multiply-adds a second of one core.
double Rate(Instruction instruction);

/// Memory for weights, on huge pages.
sys::HugeBuffer Allocate(std::size_t bytes);

}  // namespace stoker::bench
