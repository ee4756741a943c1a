#include "adapters/takeover/datatype_pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "common/checked.hpp"

namespace weir::takeover {
namespace {

using array::BytePattern;
using array::PatternList;
using array::PatternSeries;
using Pattern = std::optional<PatternList>;

constexpr int most_nested = 32;
constexpr int most_numbers = 1 << 20;  // with which a datatype was constructed

// Says how a datatype was constructed.
class Construction {
 public:
  explicit Construction(MPI_Datatype datatype) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
#if MPI_VERSION >= 4
    MPI_Count large[4] = {};
    if (MPI_Type_get_envelope_c(datatype, &large[0], &large[1], &large[2], &large[3], &combiner) !=
        MPI_SUCCESS) {
      return;
    }
    // What was constructed with large counts is decoded by other functions.
    if (large[2] != 0 || std::max({large[0], large[1], large[3]}) > most_numbers) return;
    integers = static_cast<int>(large[0]);
    addresses = static_cast<int>(large[1]);
    types = static_cast<int>(large[3]);
#else
    if (MPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        std::max({integers, addresses, types}) > most_numbers) {
      return;
    }
#endif
    known = true;
    if (is_basic()) return;
    integers_.resize(static_cast<std::size_t>(integers));
    addresses_.resize(static_cast<std::size_t>(addresses));
    types_.resize(static_cast<std::size_t>(types), MPI_DATATYPE_NULL);
    known = MPI_Type_get_contents(datatype, integers, addresses, types, integers_.data(),
                                  addresses_.data(), types_.data()) == MPI_SUCCESS;
    if (!known) types_.clear();
  }
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;
  ~Construction() {
    for (MPI_Datatype& type : types_) {
      if (!Construction(type, OnlyCombiner{}).is_basic()) MPI_Type_free(&type);
    }
  }

  // Neither constructed from others nor to be freed.
  [[nodiscard]] bool is_basic() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }
  [[nodiscard]] std::int64_t integer(int number) const {
    return integers_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] std::span<const int> integers(std::int64_t first, std::int64_t count) const {
    return std::span(integers_).subspan(static_cast<std::size_t>(first),
                                        static_cast<std::size_t>(count));
  }
  [[nodiscard]] std::int64_t address(std::int64_t number) const {
    return addresses_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] MPI_Datatype type(std::int64_t number = 0) const {
    return types_[static_cast<std::size_t>(number)];
  }

  int combiner = MPI_COMBINER_NAMED;
  bool known = false;

 private:
  struct OnlyCombiner {};
  Construction(MPI_Datatype datatype, OnlyCombiner /*only*/) {
    int unused = 0;
    if (datatype == MPI_DATATYPE_NULL) return;
    MPI_Type_get_envelope(datatype, &unused, &unused, &unused, &combiner);
  }

  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

Pattern decoded(MPI_Datatype datatype, int nested);

// A datatype of which others are constructed.
struct Element {
  Pattern pattern;
  std::int64_t extent = 0;

  [[nodiscard]] Pattern repeated(std::int64_t count) const {
    return pattern ? pattern->repeated(count, extent) : pattern;
  }
};

Element element(MPI_Datatype datatype, int nested) {
  const auto size = size_of(datatype);
  if (!size) return {};
  return {decoded(datatype, nested), size->extent};
}

Pattern moved(const Pattern& pattern, std::optional<std::int64_t> by) {
  if (!pattern || !by) return std::nullopt;
  return pattern->empty() ? pattern : pattern->shifted(*by);
}

Pattern repeated(const Pattern& pattern, std::int64_t count, std::optional<std::int64_t> stride) {
  if (!pattern || !stride) return std::nullopt;
  return pattern->repeated(count, *stride);
}

Pattern basic(MPI_Datatype datatype) {
  const auto size = size_of(datatype);
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Type_get_true_extent_x(datatype, &lower, &extent);
  if (!size || size->bytes != extent) return std::nullopt;
  return PatternList(BytePattern(lower, size->bytes));
}

// Blocks of a datatype: `length` and `place` give the elements of a block and where it is, in
// bytes.
template <typename Length, typename Place>
Pattern blocks(const Element& one, std::int64_t count, const Length& length, const Place& place) {
  PatternSeries series;
  for (std::int64_t i = 0; i < count; ++i) series.add(moved(one.repeated(length(i)), place(i)));
  return series.all();
}

Pattern indexed(const Construction& made, int nested) {
  const Element one = element(made.type(), nested);
  const std::int64_t count = made.integer(0);
  const auto elements = [&](std::int64_t number) { return checked_multiply(number, one.extent); };
  const auto integer = [&](std::int64_t number) { return made.integer(static_cast<int>(number)); };
  switch (made.combiner) {
    case MPI_COMBINER_INDEXED:
      return blocks(
          one, count, [&](std::int64_t i) { return integer(1 + i); },
          [&](std::int64_t i) { return elements(integer(1 + count + i)); });
    case MPI_COMBINER_HINDEXED:
      return blocks(
          one, count, [&](std::int64_t i) { return integer(1 + i); },
          [&](std::int64_t i) { return std::optional(made.address(i)); });
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks(
          one, count, [&](std::int64_t) { return integer(1); },
          [&](std::int64_t i) { return elements(integer(2 + i)); });
    default:  // MPI_COMBINER_HINDEXED_BLOCK
      return blocks(
          one, count, [&](std::int64_t) { return integer(1); },
          [&](std::int64_t i) { return std::optional(made.address(i)); });
  }
}

Pattern structure(const Construction& made, int nested) {
  PatternSeries series;
  for (std::int64_t i = 0; i < made.integer(0); ++i) {
    const Element one = element(made.type(i), nested);
    series.add(moved(one.repeated(made.integer(static_cast<int>(1 + i))), made.address(i)));
  }
  return series.all();
}

// The dimensions of an array from the one that varies fastest.
std::vector<int> from_fastest(std::int64_t dimensions, std::int64_t order) {
  std::vector<int> found;
  found.reserve(static_cast<std::size_t>(dimensions));
  for (int d = 0; d < dimensions; ++d) {
    found.push_back(order == MPI_ORDER_FORTRAN ? d : static_cast<int>(dimensions) - 1 - d);
  }
  return found;
}

Pattern subarray(const Construction& made, int nested) {
  const std::int64_t dimensions = made.integer(0);
  const auto sizes = made.integers(1, dimensions);
  const auto parts = made.integers(1 + dimensions, dimensions);
  const auto starts = made.integers(1 + 2 * dimensions, dimensions);
  const Element one = element(made.type(), nested);
  Pattern all = one.pattern;
  std::optional<std::int64_t> stride = one.extent;
  for (const int d : from_fastest(dimensions, made.integer(static_cast<int>(1 + 3 * dimensions)))) {
    const auto at = static_cast<std::size_t>(d);
    all = repeated(all, parts[at], stride);
    all = moved(all, stride ? checked_multiply(starts[at], *stride) : std::nullopt);
    stride = stride ? checked_multiply(sizes[at], *stride) : std::nullopt;
  }
  return all;
}

struct Dimension {
  std::int64_t size = 0;
  std::int64_t distribution = MPI_DISTRIBUTE_NONE;
  std::int64_t argument = MPI_DISTRIBUTE_DFLT_DARG;
  std::int64_t processes = 1;
  std::int64_t own = 0;  // coordinate of this process
};

// The indices of one process along one dimension, which are `stride` bytes apart.
Pattern distributed(const Pattern& one, const Dimension& along, std::int64_t stride) {
  if (along.distribution == MPI_DISTRIBUTE_NONE) return repeated(one, along.size, stride);
  const bool is_cyclic = along.distribution == MPI_DISTRIBUTE_CYCLIC;
  std::int64_t block = along.argument;
  if (block == MPI_DISTRIBUTE_DFLT_DARG) {
    block = is_cyclic ? 1 : (along.size + along.processes - 1) / along.processes;
  }
  const std::int64_t turn = is_cyclic ? checked_multiply(block, along.processes).value_or(0) : 0;
  PatternSeries blocks;
  for (std::int64_t first = along.own * block; first < along.size; first += turn) {
    const std::int64_t length = std::min(block, along.size - first);
    blocks.add(moved(repeated(one, length, stride), checked_multiply(first, stride)));
    if (turn <= 0) break;
  }
  return blocks.all();
}

Pattern distributed_array(const Construction& made, int nested) {
  const std::int64_t dimensions = made.integer(2);
  const auto sizes = made.integers(3, dimensions);
  const auto distributions = made.integers(3 + dimensions, dimensions);
  const auto arguments = made.integers(3 + 2 * dimensions, dimensions);
  const auto processes = made.integers(3 + 3 * dimensions, dimensions);
  // Processes are numbered in row-major order, whatever the order of the array is.
  std::vector<std::int64_t> own(static_cast<std::size_t>(dimensions));
  std::int64_t rank = made.integer(1);
  for (auto d = static_cast<std::size_t>(dimensions); d-- > 0;) {
    own[d] = rank % processes[d];
    rank /= processes[d];
  }
  const Element one = element(made.type(), nested);
  Pattern all = one.pattern;
  std::optional<std::int64_t> stride = one.extent;
  for (const int d : from_fastest(dimensions, made.integer(static_cast<int>(3 + 4 * dimensions)))) {
    const auto at = static_cast<std::size_t>(d);
    if (!stride) return std::nullopt;
    all = distributed(all, {sizes[at], distributions[at], arguments[at], processes[at], own[at]},
                      *stride);
    stride = checked_multiply(sizes[at], *stride);
  }
  return all;
}

Pattern vector(const Construction& made, int nested) {
  const Element one = element(made.type(), nested);
  const auto stride = made.combiner == MPI_COMBINER_VECTOR
                          ? checked_multiply(made.integer(2), one.extent)
                          : std::optional(made.address(0));
  return repeated(one.repeated(made.integer(1)), made.integer(0), stride);
}

Pattern decoded(MPI_Datatype datatype, int nested) {
  if (nested > most_nested) return std::nullopt;
  const Construction made(datatype);
  if (!made.known) return std::nullopt;
  if (made.is_basic()) return basic(datatype);
  switch (made.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return decoded(made.type(), nested + 1);
    case MPI_COMBINER_CONTIGUOUS:
      return element(made.type(), nested + 1).repeated(made.integer(0));
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      return vector(made, nested + 1);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed(made, nested + 1);
    case MPI_COMBINER_STRUCT:
      return structure(made, nested + 1);
    case MPI_COMBINER_SUBARRAY:
      return subarray(made, nested + 1);
    case MPI_COMBINER_DARRAY:
      return distributed_array(made, nested + 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<array::PatternList> patterns_of(MPI_Datatype datatype) {
  return decoded(datatype, 0);
}

std::optional<TypeSize> size_of(MPI_Datatype datatype) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count bytes = 0;
  if (datatype == MPI_DATATYPE_NULL ||
      MPI_Type_get_extent_x(datatype, &lower, &extent) != MPI_SUCCESS ||
      MPI_Type_size_x(datatype, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED ||
      extent == MPI_UNDEFINED) {
    return std::nullopt;
  }
  return TypeSize{extent, bytes};
}

std::optional<std::int64_t> predefined_bytes(MPI_Datatype datatype) {
  struct Known {
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    std::int64_t bytes = 0;
  };
  static thread_local Known last;
  if (datatype == MPI_DATATYPE_NULL) return std::nullopt;
  if (datatype == last.datatype) return last.bytes;
  int unused = 0;
  int combiner = MPI_COMBINER_DUP;
  const int told = MPI_Type_get_envelope(datatype, &unused, &unused, &unused, &combiner);
  if (told != MPI_SUCCESS || combiner != MPI_COMBINER_NAMED) return std::nullopt;
  const auto size = size_of(datatype);
  MPI_Count lower = 0;
  MPI_Count spanned = 0;
  MPI_Type_get_true_extent_x(datatype, &lower, &spanned);
  if (!size || size->bytes != spanned || size->bytes != size->extent || lower != 0) {
    return std::nullopt;
  }
  last = {datatype, size->bytes};
  return last.bytes;
}

}  // namespace weir::takeover
