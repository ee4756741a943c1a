#include "workloads/madbench/full/fingerprints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace weir::bench::madbench {
namespace {

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
constexpr std::size_t lanes = 4;

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::span<const std::uint64_t> block_of(std::span<const std::uint64_t> words, std::size_t block) {
  const std::size_t first = block * fingerprint_words;
  return words.subspan(first, std::min(fingerprint_words, words.size() - first));
}

std::size_t blocks_in(std::span<const std::uint64_t> words) {
  return (words.size() + fingerprint_words - 1) / fingerprint_words;
}

}  // namespace

// Every step is a bijection of its lane for a fixed word, and of the word for a fixed lane.
std::uint64_t fingerprint(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, lanes> lane{1, 2, 3, 4};
  std::size_t i = 0;
  for (; i + lanes <= words.size(); i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      lane[k] = std::rotl((lane[k] ^ words[i + k]) * odd, 29);
    }
  }
  for (; i < words.size(); ++i) lane[0] = std::rotl((lane[0] ^ words[i]) * odd, 29);
  std::uint64_t all = words.size();
  for (const std::uint64_t value : lane) all = mix(all + odd) ^ value;
  return mix(all);
}

void Fingerprints::note(Function writer, std::int64_t matrix, std::int64_t offset,
                        std::span<const std::uint64_t> words) {
  Noted& noted = noted_[{writer, matrix}];
  noted.offset = offset;
  noted.blocks.resize(blocks_in(words));
  for (std::size_t block = 0; block < noted.blocks.size(); ++block) {
    noted.blocks[block] = fingerprint(block_of(words, block));
  }
}

Fingerprints::Finding Fingerprints::explain(const Place& place,
                                            std::span<const std::uint64_t> block) const {
  if (std::all_of(block.begin(), block.end(), [](std::uint64_t word) { return word == 0; })) {
    return {PayloadErrorKind::zeros, "zeros, as if the data had never been written"};
  }
  const std::uint64_t found = fingerprint(block);
  for (const auto& [other, noted] : noted_) {
    const auto at = std::find(noted.blocks.begin(), noted.blocks.end(), found);
    if (at == noted.blocks.end()) continue;
    const std::int64_t offset =
        noted.offset + (at - noted.blocks.begin()) *
                           static_cast<std::int64_t>(fingerprint_words * sizeof(std::uint64_t));
    if (other.first == place.first) {
      return {PayloadErrorKind::swapped_block,
              fmt::format("the data belongs at offset {}", offset)};
    }
    return {
        PayloadErrorKind::stale_data,
        fmt::format("the data that function {} wrote at offset {}", name_of(other.first), offset)};
  }
  return {PayloadErrorKind::foreign, "numbers that were never written"};
}

std::vector<PayloadMismatch> Fingerprints::compare(Function writer, std::int64_t matrix,
                                                   std::span<const std::uint64_t> words,
                                                   std::size_t most) const {
  std::vector<PayloadMismatch> wrong;
  const Place place{writer, matrix};
  const auto known = noted_.find(place);
  if (known == noted_.end()) return wrong;
  const Noted& noted = known->second;
  std::size_t last_wrong = 0;
  for (std::size_t block = 0; block < noted.blocks.size(); ++block) {
    const auto found = block_of(words, block);
    if (fingerprint(found) == noted.blocks[block]) continue;
    const auto [kind, text] = explain(place, found);
    const bool goes_on = !wrong.empty() && last_wrong + 1 == block && wrong.back().kind == kind &&
                         kind != PayloadErrorKind::swapped_block;
    if (goes_on || wrong.size() == most) {
      wrong.back().bytes_wrong += found.size_bytes();
    } else {
      wrong.push_back({.kind = kind,
                       .first_byte = static_cast<std::uint64_t>(noted.offset) +
                                     block * fingerprint_words * sizeof(std::uint64_t),
                       .bytes_wrong = found.size_bytes(),
                       .text = text});
    }
    last_wrong = block;
  }
  return wrong;
}

}  // namespace weir::bench::madbench
