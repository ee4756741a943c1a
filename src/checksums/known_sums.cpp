#include "checksums/known_sums.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "checksums/sums_file.hpp"

namespace weir::storage {
namespace {

// All frames are accepted, because frames of later steps concern only bytes that this reader does
// not read.
constexpr std::int64_t any_steps = std::numeric_limits<std::int64_t>::max();

}  // namespace

KnownSums::KnownSums(std::string path, SumBook book)
    : path_(std::move(path)), book_(std::move(book)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
}

std::shared_ptr<const KnownSums> KnownSums::read(const std::string& path, std::int64_t steps) {
  auto known = std::make_shared<KnownSums>(path, SumBook());
  const std::string sums_file = sums_path(path);
  // The state is queried before reading, so that a change in between is noticed later.
  known->read_as_ = state_of_file(sums_file);
  const auto text = read_sums(sums_file);
  if (!text) {
    known->damage_ = text.error().text();
    return known;
  }
  ParsedSums parsed = parse_sums(text.value(), steps);
  if (!parsed.damage.empty()) known->damage_ = fmt::format("{}: {}", sums_file, parsed.damage);
  known->book_ = std::move(parsed.book);
  return known;
}

bool KnownSums::is_damaged(std::int64_t file, const SumBook::Block& block,
                           std::uint32_t sum) const {
  const std::string sums_file = sums_path(path_);
  const std::lock_guard lock(mutex_);
  const auto now = state_of_file(sums_file);
  if (!now || now == read_as_) return true;
  if (now->is_missing()) return false;  // it was removed on purpose
  if (now != newer_as_) {
    const auto text = read_sums(sums_file);
    if (!text) return true;  // no newer checksum shows that the block is valid
    ParsedSums parsed = parse_sums(text.value(), any_steps);
    newer_ = std::move(parsed.book);
    newer_is_whole_ = parsed.damage.empty();
    newer_as_ = now;
  }
  const std::int64_t there = newer_.number_of(book_.name_of(file));
  // If the newer PATH.sums is complete and does not contain the block, its checksum is no longer
  // valid.
  bool damaged = !newer_is_whole_;
  if (there < 0) return damaged;
  newer_.for_each_block(there, block.begin, block.end, [&](const SumBook::Block& one) {
    damaged = one.begin == block.begin && one.end == block.end && one.sum != sum;
    return false;
  });
  return damaged;
}

}  // namespace weir::storage
