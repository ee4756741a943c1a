#include "adapters/hdf5/selection.hpp"

#include <array>
#include <climits>
#include <vector>

#include "common/checked.hpp"

namespace weir::hdf5 {
namespace {

using Sizes = std::array<hsize_t, H5S_MAX_RANK>;

struct Slab {
  int dimensions = 0;
  Sizes size{};   // of the dataspace
  Sizes first{};  // element that is selected
  Sizes stride{};
  Sizes count{};
  Sizes block{};
};

// HDF5 tells the start of a hyperslab without the offset that H5Soffset_simple() gives it. The
// bounds of the selection have it.
bool find_slab(hid_t space, Slab& slab) {
  Sizes start{};
  Sizes last{};
  slab.dimensions = H5Sget_simple_extent_dims(space, slab.size.data(), nullptr);
  return slab.dimensions > 0 &&
         H5Sget_regular_hyperslab(space, start.data(), slab.stride.data(), slab.count.data(),
                                  slab.block.data()) >= 0 &&
         H5Sget_select_bounds(space, slab.first.data(), last.data()) >= 0;
}

// The dimensions are added from the one that varies fastest. As long as all elements of the inner
// ones are selected, the bytes are one block.
std::optional<Datatype> bytes_of(const Slab& slab, std::int64_t element_bytes) {
  std::int64_t row = element_bytes;    // from one index of the dimension to the next
  std::int64_t block = element_bytes;  // while there are no `rows`
  std::int64_t offset = 0;
  std::optional<Datatype> rows;
  for (auto d = static_cast<std::size_t>(slab.dimensions); d-- > 0;) {
    auto count = static_cast<std::int64_t>(slab.count[d]);
    auto length = static_cast<std::int64_t>(slab.block[d]);
    const auto stride = checked_multiply(static_cast<std::int64_t>(slab.stride[d]), row);
    const auto before = checked_multiply(static_cast<std::int64_t>(slab.first[d]), row);
    if (!stride || !before || count < 1 || length < 1) return std::nullopt;
    offset += *before;
    if (slab.stride[d] == slab.block[d]) {
      length *= count;
      count = 1;
    }
    if (!rows && block == row) {
      block *= length;
    } else {
      if (!rows) rows = Datatype::bytes(block);
      if (rows && length > 1) rows = rows->repeated(length, row);
      if (!rows) return std::nullopt;
    }
    if (count > 1) {
      if (!rows) rows = Datatype::bytes(block);
      rows = rows ? rows->repeated(count, *stride) : std::nullopt;
      if (!rows) return std::nullopt;
    }
    const auto next = checked_multiply(row, static_cast<std::int64_t>(slab.size[d]));
    if (!next) return std::nullopt;
    row = *next;
  }
  if (!rows) rows = Datatype::bytes(block);
  if (!rows) return std::nullopt;
  const MPI_Datatype whole = rows->handle();
  const MPI_Aint at = offset;
  return Datatype::joined(1, &whole, &at);
}

// HDF5 lists the blocks in the order of the elements: rows of several boxes beside each other
// alternate.
std::optional<Datatype> listed_bytes(hid_t space, std::int64_t element_bytes) {
  const hid_t listing = H5Ssel_iter_create(space, static_cast<std::size_t>(element_bytes), 0);
  if (listing < 0) return std::nullopt;
  std::vector<hsize_t> offsets(most_blocks + 1);
  std::vector<std::size_t> lengths(most_blocks + 1);
  std::size_t blocks = 0;
  std::size_t elements = 0;
  bool is_listed = true;
  do {
    std::size_t more = 0;
    is_listed =
        H5Ssel_iter_get_seq_list(listing, offsets.size() - blocks, SIZE_MAX, &more, &elements,
                                 offsets.data() + blocks, lengths.data() + blocks) >= 0;
    blocks += more;
  } while (is_listed && elements > 0 && blocks <= most_blocks);
  H5Ssel_iter_close(listing);
  if (!is_listed || blocks > most_blocks) return std::nullopt;
  std::vector<int> sizes;
  std::vector<MPI_Aint> places;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (lengths[i] > INT_MAX) return std::nullopt;
    sizes.push_back(static_cast<int>(lengths[i]));
    places.push_back(static_cast<MPI_Aint>(offsets[i]));
  }
  return Datatype::blocks(static_cast<int>(blocks), sizes.data(), places.data());
}

}  // namespace

std::optional<Blocks> selected_blocks(hid_t space) {
  Blocks blocks;
  blocks.stride.fill(1);
  blocks.block.fill(1);
  const H5S_sel_type kind = H5Sget_select_type(space);
  if (H5Sget_select_npoints(space) == 0) return blocks;
  if (kind == H5S_SEL_ALL) {
    const int dimensions = H5Sget_simple_extent_dims(space, blocks.count.data(), nullptr);
    return dimensions > 0 ? std::optional(blocks) : std::nullopt;
  }
  Slab slab;
  if (kind != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0 ||
      !find_slab(space, slab)) {
    return std::nullopt;
  }
  blocks.start = slab.first;
  for (std::size_t d = 0; d < static_cast<std::size_t>(slab.dimensions); ++d) {
    if (slab.count[d] == 1 || slab.stride[d] == slab.block[d]) {
      blocks.count[d] = slab.count[d] * slab.block[d];
    } else {
      blocks.count[d] = slab.count[d];
      blocks.stride[d] = slab.stride[d];
      blocks.block[d] = slab.block[d];
    }
  }
  return blocks;
}

std::optional<StridedMemory> dense_memory(const Blocks& blocks, int dimensions,
                                          std::int64_t element_bytes) {
  StridedMemory memory;
  std::int64_t row = element_bytes;
  for (auto d = static_cast<std::size_t>(dimensions); d-- > 0;) {
    memory.strides[d] = row;
    const auto next = checked_multiply(row, static_cast<std::int64_t>(blocks.along(d)));
    if (!next) return std::nullopt;
    row = *next;
  }
  return memory;
}

std::optional<StridedMemory> strided_memory(const Blocks& blocks, int dimensions, hid_t space,
                                            std::int64_t element_bytes) {
  const auto there = selected_blocks(space);
  Sizes size{};
  int left = H5Sget_simple_extent_dims(space, size.data(), nullptr);  // dimensions of memory
  if (!there || left < 1) return std::nullopt;
  StridedMemory memory;
  std::int64_t row = element_bytes;  // from one index of the dimension left - 1 to the next
  // Passes dimensions of memory, from the one that varies fastest, until one has `count` elements.
  const auto pass = [&](hsize_t count, std::int64_t& stride) {
    while (left > 0) {
      const auto d = static_cast<std::size_t>(--left);
      const auto before = checked_multiply(static_cast<std::int64_t>(there->start[d]), row);
      const auto offset = before ? checked_add(memory.offset, *before) : std::nullopt;
      const auto along = checked_multiply(static_cast<std::int64_t>(there->stride[d]), row);
      const auto next = checked_multiply(static_cast<std::int64_t>(size[d]), row);
      if (!offset || !along || !next || there->block[d] != 1) return false;
      memory.offset = *offset;
      stride = *along;
      row = *next;
      if (there->count[d] != 1) return there->count[d] == count;
    }
    return count == 1;
  };
  for (auto d = static_cast<std::size_t>(dimensions); d-- > 0;) {
    memory.strides[d] = element_bytes;
    if (blocks.along(d) != 1 && !pass(blocks.along(d), memory.strides[d])) return std::nullopt;
  }
  std::int64_t unused = 0;
  return pass(1, unused) ? std::optional(memory) : std::nullopt;
}

std::optional<Datatype> selected_bytes(hid_t space, std::int64_t element_bytes) {
  const H5S_sel_type kind = H5Sget_select_type(space);
  if (kind == H5S_SEL_ALL) {
    const auto bytes = checked_multiply(H5Sget_simple_extent_npoints(space), element_bytes);
    return bytes ? Datatype::bytes(*bytes) : std::nullopt;
  }
  if (kind == H5S_SEL_HYPERSLABS && H5Sis_regular_hyperslab(space) > 0) {
    Slab slab;
    return find_slab(space, slab) ? bytes_of(slab, element_bytes) : std::nullopt;
  }
  return listed_bytes(space, element_bytes);
}

}  // namespace weir::hdf5
