#include "checksums/sum_book.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::storage {

bool SumBook::enter(NamedRun run) {
  const auto [known, fresh] = numbers_.try_emplace(run.file, files());
  if (fresh) files_.push_back({run.file, {}});
  auto& runs = files_[static_cast<std::size_t>(known->second)].runs;
  const auto next = runs.lower_bound(run.offset);
  if (next != runs.end() && next->first < run.offset + run.bytes) return false;
  if (next != runs.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes > run.offset) return false;
  }
  runs.emplace_hint(next, run.offset, Run{run.bytes, std::move(run.sums)});
  return true;
}

// Cuts the runs that overlap the range at block boundaries.
void SumBook::forget(std::string_view file, std::int64_t begin, std::int64_t end) {
  const std::int64_t number = number_of(file);
  if (number < 0) return;
  auto& runs = files_[static_cast<std::size_t>(number)].runs;
  auto at = runs.upper_bound(begin);
  if (at != runs.begin()) --at;
  while (at != runs.end() && at->first < end) {
    const std::int64_t offset = at->first;
    const std::int64_t run_end = offset + at->second.bytes;
    if (run_end <= begin) {
      ++at;
      continue;
    }
    const Run run = std::move(at->second);
    at = runs.erase(at);
    // The start of the run's first block that overlaps the range, and of the first block after it.
    const std::int64_t first = std::max(offset, begin / block_bytes_ * block_bytes_);
    const std::int64_t after = (end + block_bytes_ - 1) / block_bytes_ * block_bytes_;
    if (first > offset) {
      const std::int64_t kept = blocks_in(offset, first - offset, block_bytes_);
      runs[offset] = {first - offset, {run.sums.begin(), run.sums.begin() + kept}};
    }
    if (after < run_end) {
      const std::int64_t kept = blocks_in(after, run_end - after, block_bytes_);
      runs[after] = {run_end - after, {run.sums.end() - kept, run.sums.end()}};
      break;
    }
  }
}

std::int64_t SumBook::number_of(std::string_view file) const {
  const auto found = numbers_.find(std::string(file));
  return found == numbers_.end() ? -1 : found->second;
}

void SumBook::for_each_block(std::int64_t file, std::int64_t begin, std::int64_t end,
                             const std::function<bool(const Block&)>& visit) const {
  const auto& runs = files_[static_cast<std::size_t>(file)].runs;
  auto at = runs.upper_bound(begin);
  if (at != runs.begin()) --at;
  for (; at != runs.end() && at->first < end; ++at) {
    const std::int64_t run_end = at->first + at->second.bytes;
    if (run_end <= begin) continue;
    std::int64_t from = std::max(at->first, begin / block_bytes_ * block_bytes_);
    for (; from < std::min(end, run_end);) {
      const std::int64_t to = std::min(run_end, (from / block_bytes_ + 1) * block_bytes_);
      const auto sum = static_cast<std::size_t>(from / block_bytes_ - at->first / block_bytes_);
      if (!visit({from, to, at->second.sums[sum]})) return;
      from = to;
    }
  }
}

std::vector<NamedRun> SumBook::runs() const {
  std::vector<NamedRun> all;
  for (const File& file : files_) {
    for (const auto& [offset, run] : file.runs) {
      all.push_back({file.name, offset, run.bytes, run.sums});
    }
  }
  return all;
}

}  // namespace weir::storage
