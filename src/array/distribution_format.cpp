#include "array/distribution_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "array/common_blocks.hpp"
#include "array/number_theory.hpp"

namespace weir::array {
namespace {

// Removes `word` from the front of `text`. Returns false if `text` does not start with it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Parses "*", or BLOCK or CYCLIC with their optional arguments in parentheses.
std::optional<DistributionFormat> read_format(std::string_view text) {
  if (text == "*") return DistributionFormat::whole_dimension();
  DistributionFormat format;
  if (take(text, "BLOCK")) {
    format.kind = DistributionFormat::Kind::block;
  } else if (take(text, "CYCLIC")) {
    format.kind = DistributionFormat::Kind::cyclic;
  } else {
    return std::nullopt;
  }
  if (text.empty()) return format;
  if (!take(text, "(")) return std::nullopt;
  const auto block = take_number(text);
  if (!block || *block < 1) return std::nullopt;
  format.block = *block;
  if (format.kind == DistributionFormat::Kind::cyclic && take(text, ",FROM=")) {
    const auto source = take_number(text);
    if (!source || *source < 0) return std::nullopt;
    format.source = *source;
  }
  return text == ")" ? std::optional(format) : std::nullopt;
}

}  // namespace

Result<DistributionFormat> DistributionFormat::parse(std::string_view text) {
  std::string capitals(text);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  if (const auto format = read_format(capitals)) return *format;
  return invalid_argument(
      fmt::format("unknown distribution format '{}': give *, BLOCK, BLOCK(SIZE), CYCLIC, "
                  "CYCLIC(SIZE) or CYCLIC(SIZE,from=PROCESS)",
                  text));
}

std::string DistributionFormat::text() const {
  if (kind == Kind::whole) return "*";
  std::string name = kind == Kind::block ? "BLOCK" : "CYCLIC";
  if (source != 0)
    return fmt::format("{}({},from={})", name, std::max<std::int64_t>(1, block), source);
  return block == 0 ? name : fmt::format("{}({})", name, block);
}

Result<DistributedDimension> DistributedDimension::create(const DistributionFormat& format,
                                                          std::int64_t extent,
                                                          std::int64_t processes) {
  if (processes < 1) {
    return invalid_argument(
        fmt::format("{} over {} processes: give at least 1", format.text(), processes));
  }
  if (format.block < 0) {
    return invalid_argument(fmt::format("{}: a block holds at least 1 index", format.text()));
  }
  if (format.source != 0 && format.kind != DistributionFormat::Kind::cyclic) {
    return invalid_argument(
        fmt::format("{}: only CYCLIC can begin at a process other than 0", format.text()));
  }
  if (format.source < 0 || format.source >= processes) {
    return invalid_argument(fmt::format("{}: the first process is out of range: give 0 to {}",
                                        format.text(), processes - 1));
  }
  DistributedDimension distributed;
  distributed.extent_ = extent;
  distributed.processes_ = processes;
  distributed.source_ = format.source;
  // A larger block holds all indices, so it is cut to the extent. This keeps products of block
  // sizes below 2^63.
  const std::int64_t all = std::max<std::int64_t>(1, extent);
  switch (format.kind) {
    case DistributionFormat::Kind::whole:
      if (processes != 1) {
        return invalid_argument(fmt::format(
            "a dimension that is not distributed (*) cannot be divided over {} processes: give 1",
            processes));
      }
      distributed.block_ = all;
      break;
    case DistributionFormat::Kind::block: {
      const std::int64_t least = std::max<std::int64_t>(1, divide_up(extent, processes));
      if (format.block != 0 && format.block < least) {
        return invalid_argument(fmt::format(
            "{} over {} processes does not cover {} indices: give blocks of at least {}, or CYCLIC",
            format.text(), processes, extent, least));
      }
      distributed.block_ = format.block == 0 ? least : std::min(format.block, all);
      break;
    }
    case DistributionFormat::Kind::cyclic:
      distributed.block_ = format.block == 0 ? 1 : std::min(format.block, all);
      break;
  }
  return distributed;
}

IndexBlocks DistributedDimension::part(std::int64_t coordinate) const {
  const std::int64_t turn = positive_modulo(coordinate - source_, processes_);
  // The process holds the blocks turn, turn + processes, …. Block `last` contains the last index.
  if (extent_ == 0) return {};
  const std::int64_t last = (extent_ - 1) / block_;
  if (turn > last) return {};
  const std::int64_t first_index = turn * block_;
  if (processes_ > last - turn) {
    return IndexBlocks::interval(first_index,
                                 first_index + std::min(block_, extent_ - first_index));
  }
  return IndexBlocks::periodic(first_index, block_, block_ * processes_, extent_);
}

std::int64_t DistributedDimension::owner(std::int64_t index) const {
  return (index / block_ % processes_ + source_) % processes_;
}

DistributedDimension::Holders DistributedDimension::holders(const Interval& interval) const {
  const std::int64_t lower = std::max<std::int64_t>(0, interval.lower);
  const std::int64_t upper = std::min(extent_, interval.upper);
  if (lower >= upper) return {};
  const std::int64_t blocks = (upper - 1) / block_ - lower / block_ + 1;
  return {owner(lower), std::min(blocks, processes_)};
}

std::int64_t DistributedDimension::add_shares(const IndexBlocks& indices, const Interval& among,
                                              std::vector<Share>& found) const {
  std::int64_t looked_at = 0;
  const auto look_at = [&](const Interval& some) {
    const std::int64_t upper = std::min(some.upper, among.upper);
    for (std::int64_t process = std::max(some.lower, among.lower); process < upper; ++process) {
      ++looked_at;
      const std::int64_t size = common_size(part(process), indices);
      if (size > 0) found.push_back({process, size});
    }
  };
  const Holders candidates = holders(Interval{indices.lower(), indices.upper()});
  if (indices.is_interval() || indices.blocks() >= std::min(candidates.count, among.size())) {
    // Holders that go on behind the last process come first.
    const std::int64_t end = candidates.first + candidates.count;
    look_at({0, end - processes_});
    look_at({candidates.first, std::min(end, processes_)});
    return looked_at;
  }
  std::vector<std::int64_t> processes;
  for (std::int64_t number = 0; number < indices.blocks(); ++number) {
    const Holders some = holders(indices.block(number));
    for (std::int64_t k = 0; k < some.count; ++k) {
      processes.push_back((some.first + k) % processes_);
    }
  }
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  for (const std::int64_t process : processes) look_at({process, process + 1});
  return looked_at;
}

}  // namespace weir::array
