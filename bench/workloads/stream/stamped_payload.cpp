#include "workloads/stream/stamped_payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "measurement/payload_words.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::size_t word_bytes = 8;
// The file number of the body's stream. No file of a run has it, because files have their rank's
// number.
constexpr std::uint32_t body_file = 0xffffffffU;
constexpr std::uint32_t remembered_generations = 8;

std::uint64_t word_at(const std::byte* buffer, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, buffer + index * word_bytes, word_bytes);
  return word;
}

}  // namespace

StampedPayload::StampedPayload(std::uint64_t seed, int compressible_percent,
                               std::int64_t transfer_bytes)
    : seed_(seed), body_(static_cast<std::size_t>(transfer_bytes) / word_bytes) {
  fill_payload({.seed = seed,
                .file = body_file,
                .generation = 0,
                .compressible_percent = compressible_percent},
               0, body_);
}

void StampedPayload::fill_body(std::byte* buffer) const {
  std::memcpy(buffer, body_.data(), body_.size() * word_bytes);
}

StampedPayload::Stamps::Stamps(const StampedPayload& payload, std::uint32_t file,
                               std::uint32_t generation)
    : payload_(payload),
      stream_{
          .seed = payload.seed_, .file = file, .generation = generation, .compressible_percent = 0},
      pattern_(stream_) {}

void StampedPayload::Stamps::stamp(std::byte* buffer, std::int64_t offset) const {
  const auto first = static_cast<std::uint64_t>(offset) / word_bytes;
  pattern_.fill_page_starts(first, {buffer, payload_.words() * word_bytes});
}

bool StampedPayload::Stamps::right(const std::byte* buffer, std::int64_t offset) const {
  const auto first = static_cast<std::uint64_t>(offset) / word_bytes;
  return !pattern_.page_starts_differ(first, {buffer, payload_.words() * word_bytes});
}

// Checks section by section, each from one stamp to the next.
std::optional<PayloadMismatch> StampedPayload::Stamps::check(const std::byte* buffer,
                                                             std::int64_t offset,
                                                             std::int64_t file_bytes) const {
  const auto first = static_cast<std::uint64_t>(offset) / word_bytes;
  const std::size_t count = payload_.words();
  std::size_t begin = 0;
  while (begin < count) {
    const std::size_t length = std::min<std::size_t>(payload_page_words, count - begin);
    const bool right =
        word_at(buffer, begin) == pattern_.word_at(first + begin) &&
        std::memcmp(buffer + (begin + 1) * word_bytes, payload_.body_.data() + begin + 1,
                    (length - 1) * word_bytes) == 0;
    if (!right) return explain(buffer, offset, begin, length, file_bytes);
    begin += length;
  }
  return std::nullopt;
}

PayloadMismatch StampedPayload::Stamps::explain(const std::byte* buffer, std::int64_t offset,
                                                std::size_t begin, std::size_t length,
                                                std::int64_t file_bytes) const {
  const std::uint64_t position = static_cast<std::uint64_t>(offset) / word_bytes + begin;
  const std::uint64_t stamp = word_at(buffer, begin);
  const std::uint64_t expected_stamp = pattern_.word_at(position);
  PayloadMismatch mismatch{.kind = PayloadErrorKind::foreign,
                           .first_byte = position * word_bytes,
                           .bytes_wrong = length * word_bytes,
                           .text = "this is not a payload of this run"};
  bool all_zero = true;
  std::size_t wrong_bits = 0;
  std::optional<std::size_t> first_wrong_byte;
  std::size_t last_wrong_byte = 0;
  unsigned bit = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t found = word_at(buffer, begin + i);
    const std::uint64_t expected = i == 0 ? expected_stamp : payload_.body_[begin + i];
    all_zero = all_zero && found == 0;
    const std::uint64_t difference = found ^ expected;
    if (difference == 0) continue;
    wrong_bits += static_cast<std::size_t>(std::popcount(difference));
    bit = static_cast<unsigned>(std::countr_zero(difference));
    // Little-endian, as the trace requires too (events.cpp).
    if (!first_wrong_byte) first_wrong_byte = i * word_bytes + bit / 8;
    last_wrong_byte =
        i * word_bytes + (63U - static_cast<unsigned>(std::countl_zero(difference))) / 8;
  }
  if (all_zero) {
    mismatch.kind = PayloadErrorKind::zeros;
    mismatch.text = "zeros: the data was never written, or it was lost";
    return mismatch;
  }
  if (wrong_bits == 1) {
    mismatch.kind = PayloadErrorKind::flipped_bit;
    mismatch.first_byte += *first_wrong_byte;
    mismatch.bytes_wrong = 1;
    mismatch.text = fmt::format("bit {} is flipped", bit % 8);
    return mismatch;
  }
  if (stamp == expected_stamp) {
    mismatch.first_byte += *first_wrong_byte;
    mismatch.bytes_wrong = last_wrong_byte - *first_wrong_byte + 1;
    mismatch.text = "the page is the right one, but its content is damaged";
    return mismatch;
  }
  const std::uint64_t belongs = pattern_.position_made_for(stamp);
  if (belongs < static_cast<std::uint64_t>(file_bytes) / word_bytes) {
    mismatch.kind = PayloadErrorKind::swapped_block;
    mismatch.text = fmt::format("the data belongs at offset {}", belongs * word_bytes);
    return mismatch;
  }
  for (std::uint32_t age = 1; age <= remembered_generations && age <= stream_.generation; ++age) {
    PayloadStream earlier = stream_;
    earlier.generation = stream_.generation - age;
    if (PayloadPattern(earlier).word_at(position) != stamp) continue;
    mismatch.kind = PayloadErrorKind::stale_data;
    mismatch.text = fmt::format("data of generation {}", earlier.generation);
    return mismatch;
  }
  return mismatch;
}

}  // namespace weir::bench::stream
