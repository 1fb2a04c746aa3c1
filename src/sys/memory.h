#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace stoker::sys {

/// Zero-filled anonymous memory, aligned to 2 MiB and backed by huge pages where the kernel allows
/// (madvise). Pages belong to the NUMA node of the thread that first writes them.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  ~HugeBuffer();
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;

  /// Errors: kResourceExhausted when the address space or memory cannot be had.
  static absl::StatusOr<HugeBuffer> Allocate(std::size_t bytes);

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_bytes_ = 0;
};

/// Memory this process could still take without swapping: the least of the kernel's estimate
/// (MemAvailable) and what its control groups, of version 1 or 2, leave. Nothing where the system
/// tells neither. `root` is where /proc and /sys lie: "" but in tests.
std::optional<std::uint64_t> AvailableMemoryBytes(const std::string& root = "");

}  // namespace stoker::sys
