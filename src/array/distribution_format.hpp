// How the indices of one dimension are distributed to the processes along it.
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
//   *          all (p is 1)
//   BLOCK      [c·b, (c+1)·b) with b = ⌈n/p⌉: the last processes may hold less, or nothing
//   BLOCK(b)   the same with the given b, where b·p >= n
//   CYCLIC     c, c + p, c + 2p, …: CYCLIC(1)
//   CYCLIC(k)  blocks of k indices distributed round-robin, the first to process `source`
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
  // Reads "*", "BLOCK", "BLOCK(100)", "CYCLIC", "CYCLIC(32)", "CYCLIC(32,from=1)", in capitals or
  // not.
  static Result<DistributionFormat> parse(std::string_view text);
  // What parse() reads.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const DistributionFormat&, const DistributionFormat&) = default;
};

// A format with its block size settled, for one dimension of known extent and processes.
class DistributedDimension {
 public:
  DistributedDimension() = default;
  // Fails on a negative block size, fewer than one process, `*` over more than one, BLOCK(b) that
  // does not hold all indices, and a source that is no process or not CYCLIC's.
  // 0 <= extent <= 2^62.
  static Result<DistributedDimension> create(const DistributionFormat& format, std::int64_t extent,
                                             std::int64_t processes);

  // The indices of process `coordinate`.
  [[nodiscard]] IndexBlocks part(std::int64_t coordinate) const;
  // The process that holds `index`, 0 <= index < extent.
  [[nodiscard]] std::int64_t owner(std::int64_t index) const;
  // How many indices `coordinate` holds: ScaLAPACK's NUMROC.
  [[nodiscard]] std::int64_t size(std::int64_t coordinate) const { return part(coordinate).size(); }
  [[nodiscard]] std::int64_t block() const { return block_; }
  [[nodiscard]] std::int64_t extent() const { return extent_; }
  [[nodiscard]] std::int64_t processes() const { return processes_; }

  // The processes that hold an index of `interval`: `count` of them, from `first` on, in turn, the
  // process after the last one being 0.
  struct Holders {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] Holders holders(const Interval& interval) const;
  // The processes that hold an index of `indices`, each once. Work in proportion to the blocks of
  // `indices` or to the processes, whichever are fewer.
  [[nodiscard]] std::vector<std::int64_t> holders(const IndexBlocks& indices) const;

  friend bool operator==(const DistributedDimension&, const DistributedDimension&) = default;

 private:
  std::int64_t extent_ = 0;
  std::int64_t processes_ = 1;
  std::int64_t block_ = 1;  // >= 1
  std::int64_t source_ = 0;
};

}  // namespace weir::array
