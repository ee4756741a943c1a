#include "interfaces/element_payload.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace weir::bench {
namespace {

constexpr std::int64_t payload_word_bytes = 8;
constexpr std::int64_t piece_words = 512;

bool is_whole_words(std::int64_t first_byte, const std::byte* memory, std::int64_t count) {
  return first_byte % payload_word_bytes == 0 && count % payload_word_bytes == 0 &&
         reinterpret_cast<std::uintptr_t>(memory) % payload_word_bytes == 0;
}

}  // namespace

ElementPayload::ElementPayload(const PayloadStream& stream, const array::ElementType& type,
                               std::int64_t stream_bytes)
    : stream_(stream),
      pattern_(stream),
      is_boolean_(type.kind() == array::ElementKind::boolean),
      stream_bytes_(stream_bytes) {}

void ElementPayload::make(std::int64_t first_byte, std::byte* bytes, std::int64_t count) const {
  if (!is_boolean_ && is_whole_words(first_byte, bytes, count)) {
    pattern_.fill(static_cast<std::uint64_t>(first_byte / payload_word_bytes),
                  {reinterpret_cast<std::uint64_t*>(bytes),
                   static_cast<std::size_t>(count / payload_word_bytes)});
    return;
  }
  std::array<std::uint64_t, piece_words> words{};
  while (count > 0) {
    const std::int64_t within = first_byte % payload_word_bytes;
    const std::int64_t now = std::min(count, piece_words * payload_word_bytes - within);
    pattern_.fill(static_cast<std::uint64_t>(first_byte / payload_word_bytes),
                  std::span(words).first(static_cast<std::size_t>(
                      (within + now + payload_word_bytes - 1) / payload_word_bytes)));
    std::memcpy(bytes, reinterpret_cast<const std::byte*>(words.data()) + within,
                static_cast<std::size_t>(now));
    if (is_boolean_) std::for_each(bytes, bytes + now, [](std::byte& b) { b &= std::byte{1}; });
    first_byte += now;
    bytes += now;
    count -= now;
  }
}

void ElementPayload::fill(const std::vector<array::StridedCopy>& copies, std::byte* memory) const {
  for_each_run(copies, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    make(to, memory + from, bytes);
    return true;
  });
}

std::optional<PayloadMismatch> ElementPayload::check(
    const std::vector<array::StridedCopy>& copies, const std::byte* memory,
    const std::vector<PayloadStream>& earlier) const {
  std::optional<PayloadMismatch> mismatch;
  std::array<std::byte, piece_words * payload_word_bytes> expected{};
  for_each_run(copies, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    const std::byte* found = memory + from;
    if (!is_boolean_ && is_whole_words(to, found, bytes) &&
        !pattern_.differs(static_cast<std::uint64_t>(to / payload_word_bytes),
                          {reinterpret_cast<const std::uint64_t*>(found),
                           static_cast<std::size_t>(bytes / payload_word_bytes)})) {
      return true;
    }
    for (std::int64_t done = 0; done < bytes; done += piece_words * payload_word_bytes) {
      const std::int64_t now = std::min(bytes - done, piece_words * payload_word_bytes);
      make(to + done, expected.data(), now);
      if (std::memcmp(expected.data(), found + done, static_cast<std::size_t>(now)) == 0) continue;
      const auto* wrong =
          std::mismatch(expected.begin(), expected.begin() + now, found + done).first;
      mismatch = explain(to, found, bytes, done + (wrong - expected.data()), earlier);
      return false;
    }
    return true;
  });
  return mismatch;
}

// Explains the run of `count` bytes at `first_byte`, in which the byte at `wrong` is the first
// wrong byte.
PayloadMismatch ElementPayload::explain(std::int64_t first_byte, const std::byte* found,
                                        std::int64_t count, std::int64_t wrong,
                                        const std::vector<PayloadStream>& earlier) const {
  // Whole words of the run identify the place for which they were made, if the wrong byte lies in
  // one.
  const std::int64_t begin =
      (first_byte + payload_word_bytes - 1) / payload_word_bytes * payload_word_bytes - first_byte;
  const std::int64_t whole = begin < count ? (count - begin) / payload_word_bytes : 0;
  if (!is_boolean_ && wrong >= begin && wrong < begin + whole * payload_word_bytes) {
    const std::int64_t from = (wrong - begin) / payload_word_bytes;
    std::vector<std::uint64_t> words(static_cast<std::size_t>(std::min(whole - from, piece_words)));
    std::memcpy(words.data(), found + begin + from * payload_word_bytes,
                words.size() * payload_word_bytes);
    const auto mismatches = check_payload(
        stream_, static_cast<std::uint64_t>((first_byte + begin) / payload_word_bytes + from),
        words, earlier,
        static_cast<std::uint64_t>((stream_bytes_ + payload_word_bytes - 1) / payload_word_bytes),
        1);
    if (!mismatches.empty()) return mismatches.front();
  }
  PayloadMismatch mismatch;
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  const bool zeros = std::all_of(found + wrong, found + count, is_zero);
  mismatch.kind = zeros ? PayloadErrorKind::zeros : PayloadErrorKind::foreign;
  mismatch.first_byte = static_cast<std::uint64_t>(first_byte + wrong);
  mismatch.bytes_wrong = static_cast<std::uint64_t>(count - wrong);
  mismatch.text = zeros ? "zeros" : "these bytes were never written there";
  return mismatch;
}

}  // namespace weir::bench
