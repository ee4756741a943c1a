// Sleeping in memory that processes share, until another one changes a word.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::ranks {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

// Returns when the word has another value than `value`, at once if it has already; when it was
// woken; after `nanoseconds`, which are below a second; and now and then for no reason.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds);
// Wakes at most so many of those that sleep at the word.
void futex_wake(std::atomic<std::uint32_t>& word, int most);

}  // namespace weir::ranks
