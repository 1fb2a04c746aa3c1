#include "sys/mapping_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace stoker::sys {

// Ranges are reused and never freed: the handler may walk them at any moment.
struct MappingGuard::Range {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // 0: free
  std::atomic<bool> failed{false};
  Range* next = nullptr;
};

struct MappingGuard::Ranges {
  static inline std::atomic<Range*> first{nullptr};
  static inline std::mutex mutex;  // for those who take and give back ranges
  static inline struct sigaction previous = {};
  static inline std::uintptr_t page_bytes = 0;

  static void Install() {
    page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
  }

  static Range* Find(std::uintptr_t address) {
    for (Range* range = first.load(std::memory_order_acquire); range != nullptr;
         range = range->next) {
      if (address < range->end.load(std::memory_order_acquire) &&
          address >= range->begin.load(std::memory_order_acquire)) {
        return range;
      }
    }
    return nullptr;
  }

  // Puts zeros in place of the rest of the mapping. Calls nothing that a signal handler may not.
  static void OnBusError(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const int saved_errno = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    Range* range = Find(address);
    const std::uintptr_t page = address / page_bytes * page_bytes;
    if (range == nullptr ||
        mmap(reinterpret_cast<void*>(page), range->end.load(std::memory_order_relaxed) - page,
             PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
      // Comes again when this returns, whether a fault or sent, and goes where it went before.
      sigaction(SIGBUS, &previous, nullptr);
      raise(SIGBUS);
    } else {
      range->failed.store(true, std::memory_order_release);
    }
    errno = saved_errno;
  }

  static Range* Take(std::uintptr_t begin, std::uintptr_t end) {
    const std::lock_guard lock(mutex);
    if (page_bytes == 0) Install();
    Range* range = first.load(std::memory_order_relaxed);
    while (range != nullptr && range->end.load(std::memory_order_relaxed) != 0) range = range->next;
    if (range == nullptr) {
      range = new Range;
      range->next = first.load(std::memory_order_relaxed);
      first.store(range, std::memory_order_release);
    }
    range->failed.store(false, std::memory_order_relaxed);
    range->begin.store(begin, std::memory_order_relaxed);
    range->end.store(end, std::memory_order_release);
    return range;
  }

  static void GiveBack(Range* range) {
    const std::lock_guard lock(mutex);
    range->end.store(0, std::memory_order_release);
  }
};

MappingGuard::MappingGuard(std::span<const std::byte> mapping) {
  if (mapping.empty()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  range_ = Ranges::Take(begin, begin + mapping.size());
}

MappingGuard::~MappingGuard() {
  if (range_ != nullptr) Ranges::GiveBack(range_);
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept
    : range_(std::exchange(other.range_, nullptr)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept {
  std::swap(range_, other.range_);
  return *this;
}

bool MappingGuard::failed() const {
  return range_ != nullptr && range_->failed.load(std::memory_order_acquire);
}

}  // namespace stoker::sys
