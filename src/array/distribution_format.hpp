// The formats by which the indices of one dimension are distributed to the processes along it.
//
// Sources: HPF 2.0 (High Performance Fortran Forum, 1997), section 3.3, for BLOCK and CYCLIC; the
// ScaLAPACK Users' Guide, section 4.3 and its tool NUMROC, for the process that holds the first
// block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "array/index_blocks.hpp"
#include "common/status.hpp"

namespace weir::array {

// With n indices and p processes, process c holds
// clang-format off
//   *          all indices (p is 1)
//   BLOCK      [c·b, (c+1)·b) with b = ⌈n/p⌉: the last processes may hold fewer indices or none
//   BLOCK(b)   [c·b, (c+1)·b) with the given b, where b·p >= n
//   CYCLIC     c, c + p, c + 2p, …: equal to CYCLIC(1)
//   CYCLIC(k)  blocks of k indices distributed round-robin, the first to process `source`
// clang-format on
struct DistributionFormat {
  enum class Kind : std::uint8_t { whole, block, cyclic };

  Kind kind = Kind::whole;
  std::int64_t block = 0;   // b or k; 0 stands for the default of BLOCK and CYCLIC
  std::int64_t source = 0;  // CYCLIC: the process that holds the first block

  static DistributionFormat whole_dimension() { return {}; }
  static DistributionFormat block_of(std::int64_t block = 0) { return {Kind::block, block, 0}; }
  static DistributionFormat cyclic_of(std::int64_t block = 0, std::int64_t source = 0) {
    return {Kind::cyclic, block, source};
  }
  // Parses "*", "BLOCK", "BLOCK(100)", "CYCLIC", "CYCLIC(32)", "CYCLIC(32,from=1)", regardless of
  // case.
  static Result<DistributionFormat> parse(std::string_view text);
  // Returns the text that parse() reads as this format.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const DistributionFormat&, const DistributionFormat&) = default;
};

// A format with its actual block size, for one dimension with a known extent and a known number of
// processes.
class DistributedDimension {
 public:
  DistributedDimension() = default;
  // Fails on a negative block size, on fewer than one process, on `*` over more than one process,
  // on a BLOCK(b) that does not hold all indices, and on a source that is not a process or is given
  // for a format other than CYCLIC. 0 <= extent <= 2^62.
  static Result<DistributedDimension> create(const DistributionFormat& format, std::int64_t extent,
                                             std::int64_t processes);

  // Returns the indices of process `coordinate`.
  [[nodiscard]] IndexBlocks part(std::int64_t coordinate) const;
  // Returns the process that holds `index`, 0 <= index < extent.
  [[nodiscard]] std::int64_t owner(std::int64_t index) const;
  // Returns how many indices process `coordinate` holds, like ScaLAPACK's NUMROC.
  [[nodiscard]] std::int64_t size(std::int64_t coordinate) const { return part(coordinate).size(); }
  [[nodiscard]] std::int64_t block() const { return block_; }
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  [[nodiscard]] std::int64_t processes() const { return processes_; }

  // The processes that hold an index of `interval`: `count` consecutive processes that begin with
  // `first`, where process 0 follows the last process.
  struct Holders {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] Holders holders(const Interval& interval) const;
  // A process, and how many indices of a set it holds.
  struct Share {
    std::int64_t process = 0;
    std::int64_t indices = 0;

    friend bool operator==(const Share&, const Share&) = default;
  };
  // Adds to `found`, in ascending order, the processes of `among` that hold an index of `indices`.
  // Returns how many processes were looked at: as many as `among` has or `indices` may meet,
  // whichever is less.
  std::int64_t add_shares(const IndexBlocks& indices, const Interval& among,
                          std::vector<Share>& found) const;

  friend bool operator==(const DistributedDimension&, const DistributedDimension&) = default;

 private:
  std::int64_t extent_ = 0;
  std::int64_t processes_ = 1;
  std::int64_t block_ = 1;  // >= 1
  std::int64_t source_ = 0;
};

}  // namespace weir::array
