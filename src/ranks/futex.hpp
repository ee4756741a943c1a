// Lets a process sleep on a word in memory that processes share, until another process changes it.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::ranks {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

// Returns if the word differs from `value`, at once if it already does; when the process is woken;
// or after `nanoseconds`, which must be less than a second. It may also return spuriously.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds);
// Wakes at most `most` processes that sleep on the word.
void futex_wake(std::atomic<std::uint32_t>& word, int most);

}  // namespace weir::ranks
