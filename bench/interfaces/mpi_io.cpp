#include "interfaces/mpi_io.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace weir::bench {
namespace {

std::vector<int> as_ints(const array::Indices& values) {
  std::vector<int> ints;
  for (const std::int64_t value : values) ints.push_back(static_cast<int>(value));
  return ints;
}

// Makes the MPI type that a program would use for the element type, if MPI has one.
int element_type(const array::ElementType& type, MPI_Datatype* made) {
  switch (type.kind()) {
    case array::ElementKind::float64:
      return MPI_Type_dup(MPI_DOUBLE, made);
    case array::ElementKind::float32:
      return MPI_Type_dup(MPI_FLOAT, made);
    case array::ElementKind::int64:
    case array::ElementKind::uint64:
      return MPI_Type_dup(MPI_LONG_LONG, made);
    case array::ElementKind::int32:
    case array::ElementKind::uint32:
      return MPI_Type_dup(MPI_INT, made);
    default:
      return MPI_Type_contiguous(static_cast<int>(type.bytes()), MPI_UNSIGNED_CHAR, made);
  }
}

// Returns a region as a box if it has one block in every dimension.
std::optional<array::Box> box_of(const array::UniformRegion& region) {
  array::Box box;
  for (const array::UniformBlocks& along : region) {
    if (along.count != 1) return std::nullopt;
    box.lower.push_back(along.start);
    box.extent.push_back(along.length);
  }
  return box;
}

int subarray(const array::Indices& extents, const array::Box& box, MPI_Datatype element,
             MPI_Datatype* type) {
  const std::vector<int> sizes = as_ints(extents);
  const std::vector<int> counts = as_ints(box.extent);
  const std::vector<int> starts = as_ints(box.lower);
  return MPI_Type_create_subarray(extents.size(), sizes.data(), counts.data(), starts.data(),
                                  MPI_ORDER_C, element, type);
}

// Replaces *type by the type that `make` derives from it.
template <typename Make>
int wrap(MPI_Datatype* type, Make make) {
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  const int code = make(*type, &outer);
  MPI_Type_free(type);
  *type = outer;
  return code;
}

// Makes a type of equal blocks at strides in a dense array, from the fastest dimension outwards.
// The type spans the array, as a subarray type does.
int strided(const array::Indices& extents, const array::UniformRegion& region,
            const array::ElementType& element_type, MPI_Datatype element, MPI_Datatype* type) {
  int code = MPI_Type_dup(element, type);
  MPI_Aint row = element_type.bytes();  // distance from one index along the dimension to the next
  MPI_Aint offset = 0;
  for (int d = extents.size() - 1; d >= 0 && code == MPI_SUCCESS; --d) {
    const array::UniformBlocks& along = region[d];
    const int length = static_cast<int>(along.length);
    const int count = static_cast<int>(along.count);
    code = wrap(type, [&](MPI_Datatype inner, MPI_Datatype* outer) {
      return MPI_Type_create_hvector(length, 1, row, inner, outer);
    });
    if (code == MPI_SUCCESS) {
      code = wrap(type, [&](MPI_Datatype inner, MPI_Datatype* outer) {
        return MPI_Type_create_hvector(count, 1, along.stride * row, inner, outer);
      });
    }
    offset += along.start * row;
    row *= extents[d];
  }
  if (code == MPI_SUCCESS) {
    // MPI_Type_create_hindexed_block is avoided because PnetCDF 1.12 cannot decode it.
    const int once = 1;
    code = wrap(type, [&](MPI_Datatype inner, MPI_Datatype* outer) {
      return MPI_Type_create_hindexed(1, &once, &offset, inner, outer);
    });
  }
  if (code != MPI_SUCCESS) return code;
  return wrap(type, [&](MPI_Datatype inner, MPI_Datatype* outer) {
    return MPI_Type_create_resized(inner, 0, row, outer);
  });
}

int region_type(const Part& part, const array::Indices& extents, const array::UniformRegion& region,
                MPI_Datatype element, MPI_Datatype* type) {
  const auto box = box_of(region);
  return box ? subarray(extents, *box, element, type)
             : strided(extents, region, part.type(), element, type);
}

// Makes the type of a rank's whole part as MPI distributes it, from HPF's formats.
int distributed_array(const Part& part, MPI_Datatype element, MPI_Datatype* type) {
  const array::RegularDistribution& distribution = part.distribution();
  const int dimensions = part.shape().dimensions();
  std::vector<int> kinds;
  std::vector<int> blocks;
  for (int d = 0; d < dimensions; ++d) {
    const array::DistributedDimension& along = distribution.along(d);
    const bool whole = along.processes() == 1;
    kinds.push_back(whole ? MPI_DISTRIBUTE_NONE : MPI_DISTRIBUTE_CYCLIC);
    blocks.push_back(whole ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(along.block()));
  }
  const std::vector<int> sizes = as_ints(part.shape().extents());
  const std::vector<int> grid = as_ints(distribution.grid().extents);
  return MPI_Type_create_darray(
      static_cast<int>(distribution.ranks()), static_cast<int>(part.rank()), dimensions,
      sizes.data(), kinds.data(), blocks.data(), grid.data(), MPI_ORDER_C, element, type);
}

// Makes the type of one pattern, from its first byte on.
int pattern_type(const array::BytePattern& pattern, MPI_Datatype* type) {
  int code = MPI_Type_contiguous(static_cast<int>(pattern.block()), MPI_BYTE, type);
  for (int i = pattern.levels().size() - 1; i >= 0 && code == MPI_SUCCESS; --i) {
    const array::PatternLevel& level = pattern.levels()[i];
    code = wrap(type, [&](MPI_Datatype inner, MPI_Datatype* outer) {
      return MPI_Type_create_hvector(static_cast<int>(level.count), 1, level.stride, inner, outer);
    });
  }
  return code;
}

}  // namespace

int blocks_type(std::span<const array::BytePattern> patterns, MPI_Datatype* type) {
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> offsets;
  int code = MPI_SUCCESS;
  for (const array::BytePattern& pattern : patterns) {
    MPI_Datatype one = MPI_DATATYPE_NULL;
    code = pattern_type(pattern, &one);
    if (code != MPI_SUCCESS) break;
    types.push_back(one);
    offsets.push_back(pattern.offset());
  }
  if (code == MPI_SUCCESS && types.size() == 1) {
    *type = types.front();
    types.clear();
  } else if (code == MPI_SUCCESS) {
    const std::vector<int> once(types.size(), 1);
    code = MPI_Type_create_struct(static_cast<int>(types.size()), once.data(), offsets.data(),
                                  types.data(), type);
  }
  for (MPI_Datatype& one : types) MPI_Type_free(&one);
  return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

Result<MpiHints> hints_of(const SessionSettings& settings) {
  auto hints = MpiHints::read(settings.hints_file, settings.striping);
  if (!hints) return hints.error();
  hints.value().set("cb_nodes", settings.aggregators);
  hints.value().set("cb_buffer_size", settings.buffer_bytes);
  return hints;
}

void note_hints(const SessionSettings& settings, bool writing, MPI_Info given, MPI_File file) {
  if (settings.opened_hints == nullptr || !settings.opened_hints->lacks(writing)) return;
  MPI_Info effective = MPI_INFO_NULL;
  if (MPI_File_get_info(file, &effective) != MPI_SUCCESS) return;
  settings.opened_hints->note(writing, given, effective);
  if (effective != MPI_INFO_NULL) MPI_Info_free(&effective);
}

Result<TransferTypes> TransferTypes::create(const Part& part) {
  TransferTypes types;
  int code = element_type(part.type(), &types.element_);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(&types.element_);
  if (code == MPI_SUCCESS && part.empty()) {
    code = MPI_Type_dup(types.element_, &types.file_);
    if (code == MPI_SUCCESS) code = MPI_Type_dup(types.element_, &types.memory_);
  } else if (code == MPI_SUCCESS) {
    code = part.held().is_box() ? region_type(part, part.shape().extents(), part.asked().front(),
                                              types.element_, &types.file_)
                                : distributed_array(part, types.element_, &types.file_);
    if (code == MPI_SUCCESS) {
      // Contiguous memory gets the contiguous type: some implementations are slower with any other
      // type.
      code = part.is_all_asked()
                 ? MPI_Type_contiguous(static_cast<int>(part.asked_bytes() / part.type().bytes()),
                                       types.element_, &types.memory_)
                 : region_type(part, part.local_extents(), part.asked_in_memory().front(),
                               types.element_, &types.memory_);
    }
  }
  if (Status status = types.commit(code); !status) return status.error();
  return types;
}

Result<TransferTypes> TransferTypes::create(const ArrayBox& array) {
  TransferTypes types;
  int code = element_type(array.type, &types.element_);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(&types.element_);
  if (code == MPI_SUCCESS && array.box.empty()) {
    code = MPI_Type_dup(types.element_, &types.file_);
    if (code == MPI_SUCCESS) code = MPI_Type_dup(types.element_, &types.memory_);
  } else if (code == MPI_SUCCESS) {
    code = subarray(array.extents, array.box, types.element_, &types.file_);
    if (code == MPI_SUCCESS) {
      code = MPI_Type_contiguous(static_cast<int>(array.box.elements()), types.element_,
                                 &types.memory_);
    }
  }
  if (Status status = types.commit(code); !status) return status.error();
  return types;
}

Status TransferTypes::commit(int code) {
  if (code == MPI_SUCCESS) code = MPI_Type_commit(&file_);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(&memory_);
  if (code == MPI_SUCCESS) return {};
  Error error;
  error.operation = "MPI_Type_create";
  error.message =
      fmt::format("MPI could not create a datatype for the rank's part (code {})", code);
  return error;
}

TransferTypes::TransferTypes(TransferTypes&& other) noexcept
    : element_(std::exchange(other.element_, MPI_DATATYPE_NULL)),
      file_(std::exchange(other.file_, MPI_DATATYPE_NULL)),
      memory_(std::exchange(other.memory_, MPI_DATATYPE_NULL)) {}

TransferTypes& TransferTypes::operator=(TransferTypes&& other) noexcept {
  if (this == &other) return *this;
  free();
  element_ = std::exchange(other.element_, MPI_DATATYPE_NULL);
  file_ = std::exchange(other.file_, MPI_DATATYPE_NULL);
  memory_ = std::exchange(other.memory_, MPI_DATATYPE_NULL);
  return *this;
}

TransferTypes::~TransferTypes() { free(); }

void TransferTypes::free() {
  for (MPI_Datatype* type : {&element_, &file_, &memory_}) {
    if (*type != MPI_DATATYPE_NULL) MPI_Type_free(type);
  }
}

}  // namespace weir::bench
