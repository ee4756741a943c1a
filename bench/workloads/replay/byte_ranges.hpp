// A set of bytes of a file, as ranges that do not touch each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace weir::bench::replay {

class ByteRanges {
 public:
  // Adds the bytes [begin, end), of which there is at least one.
  void add(std::int64_t begin, std::int64_t end);
  // Removes the bytes from `end` on.
  void cut(std::int64_t end);
  // Calls visit(begin, end) for each range of bytes in [begin, end) that are not in the set.
  template <typename Visit>
  void for_each_gap(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) --next;
    for (; next != ranges_.end() && next->first < end && begin < end; ++next) {
      if (next->second <= begin) continue;
      if (next->first > begin) visit(begin, next->first);
      begin = next->second;
    }
    if (begin < end) visit(begin, end);
  }

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] std::size_t count() const { return ranges_.size(); }
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& ranges() const { return ranges_; }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin to end
};

}  // namespace weir::bench::replay
