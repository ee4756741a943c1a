// Which aggregator is responsible for which part of a file, in two-phase I/O.
//
// The file is seen as units of `alignment` bytes, counted from its start: stripes, lock blocks or
// chunks, or a common multiple of them. Units are dealt to aggregators whole, by BLOCK (one
// contiguous domain each) or by CYCLIC (unit u to aggregator u mod k, so that with k a multiple or
// divisor of the number of targets each aggregator has targets of its own). Where the alignment is
// a multiple of the element, no two aggregators write into one stripe or lock block. Otherwise an
// element goes with the unit of its first byte: every element belongs to exactly one aggregator,
// and the rest of one element may reach into the next unit.
#pragma once

#include <cstdint>

#include "array/distribution_format.hpp"
#include "array/index_blocks.hpp"
#include "common/status.hpp"
#include "plan/file_image.hpp"

namespace weir::plan {

enum class DomainDealing { contiguous, striped };

class FileDomains {
 public:
  // Domains for the elements of `covered`, those that a request may touch. Fails on fewer than one
  // aggregator and an alignment below 1.
  static Result<FileDomains> create(const FileImage& image, const ElementRange& covered,
                                    std::int64_t aggregators, std::int64_t alignment,
                                    DomainDealing dealing);

  [[nodiscard]] std::int64_t aggregators() const { return units_.processes(); }
  [[nodiscard]] const FileImage& image() const { return image_; }
  [[nodiscard]] const ElementRange& covered() const { return covered_; }
  [[nodiscard]] std::int64_t alignment() const { return alignment_; }

  // The aggregator that is responsible for an element of `covered`.
  [[nodiscard]] std::int64_t aggregator_of(std::int64_t element) const;
  // The units of an aggregator, counted from the first unit of `covered`.
  [[nodiscard]] array::IndexBlocks units(std::int64_t aggregator) const {
    return units_.part(aggregator);
  }
  // The elements of `covered` in an interval of units; perhaps none, between two elements' starts.
  [[nodiscard]] ElementRange elements(const array::Interval& units) const;

 private:
  FileDomains(const FileImage& image, const ElementRange& covered, std::int64_t alignment,
              const array::DealtDimension& units);

  FileImage image_;
  ElementRange covered_;
  std::int64_t alignment_;
  std::int64_t first_unit_;
  array::DealtDimension units_;
};

// One aggregator's domain in pieces that fit into its buffer, in the order of the file. A piece
// ends at a unit's end where the buffer holds whole units.
class DomainPieces {
 public:
  // Fails when the buffer does not hold one element.
  static Result<DomainPieces> create(const FileDomains& domains, std::int64_t aggregator,
                                     std::int64_t buffer_bytes);
  // False when there is none left.
  bool next(ElementRange& piece);

 private:
  DomainPieces(const FileDomains& domains, std::int64_t aggregator, std::int64_t buffer_bytes)
      : domains_(domains), units_(domains.units(aggregator)), buffer_bytes_(buffer_bytes) {}

  FileDomains domains_;
  array::IndexBlocks units_;
  std::int64_t buffer_bytes_;
  std::int64_t next_block_ = 0;
  ElementRange left_;  // of the current block of units
};

}  // namespace weir::plan
