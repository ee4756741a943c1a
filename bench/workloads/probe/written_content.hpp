// Tracks which generation of the payload each part of a test file holds, given that every write
// begins at the file's start. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::bench::probe {

class WrittenContent {
 public:
  // Records that [0, end) was written with `generation`.
  void wrote(std::int64_t end, std::uint32_t generation);

  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t generation = 0;
  };
  // Returns the parts of [begin, end) in ascending order. Bytes that were never written are in no
  // part.
  [[nodiscard]] std::vector<Part> parts(std::int64_t begin, std::int64_t end) const;

 private:
  struct Written {
    std::int64_t end = 0;
    std::uint32_t generation = 0;
  };
  std::vector<Written> written_;  // ends ascend; each begins where the previous one ends
};

}  // namespace weir::bench::probe
