#include "adapters/hdf5/dataset_call.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "adapters/hdf5/datatype.hpp"
#include "adapters/hdf5/known_datasets.hpp"
#include "adapters/hdf5/native.hpp"
#include "adapters/hdf5/selection.hpp"
#include "adapters/takeover/handles.hpp"
#include "common/checked.hpp"

namespace weir::hdf5 {
namespace {

using mpiio::Reason;

// Says what one dataset of a call moves.
struct Part {
  std::int64_t address;  // of the dataset in the file
  std::byte* memory;
  Datatype in_file;    // behind the address
  Datatype in_memory;  // behind `memory`
};

constexpr const char* collective_option = "mpio_collective_opt";

// The memory of elements that follow each other.
constexpr hid_t no_space = H5I_INVALID_HID;

bool has_transform(hid_t transfer) {
  ssize_t length = 0;
  H5E_BEGIN_TRY { length = H5Pget_data_transform(transfer, nullptr, 0); }
  H5E_END_TRY
  return length > 0;
}

// The dataspaces whose selections count.
struct Spaces {
  hid_t file;
  hid_t memory;
};

// How large a dataspace may become does not matter.
bool has_extent_of(hid_t space, hid_t other) {
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  std::array<hsize_t, H5S_MAX_RANK> others{};
  const int dimensions = H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return dimensions >= 0 && H5Sget_simple_extent_type(space) == H5Sget_simple_extent_type(other) &&
         dimensions == H5Sget_simple_extent_dims(other, others.data(), nullptr) &&
         extents == others;
}

std::optional<Spaces> spaces_of(const DatasetCall& call, std::size_t number,
                                const KnownDataset& dataset) {
  const hid_t memory = call.memory_spaces[number];
  hid_t file = call.file_spaces[number];
  if (file == H5S_BLOCK || file == H5S_PLIST || memory == H5S_PLIST) return std::nullopt;
  if (file == H5S_ALL) {
    file = dataset.space;
  } else if (!has_extent_of(file, dataset.space)) {
    return std::nullopt;
  }
  if (memory == H5S_ALL) return Spaces{file, file};
  return Spaces{file, memory == H5S_BLOCK ? no_space : memory};
}

// Says what a call selects of one of its datasets.
struct Selected {
  const KnownDataset* dataset = nullptr;
  Spaces spaces{no_space, no_space};
  std::int64_t bytes = 0;
};

Reason find_selected(const DatasetCall& call, std::size_t number, Selected& found) {
  const KnownDataset& dataset = known_dataset(call.datasets[number], call.transfer);
  if (dataset.reason != Reason::taken) return dataset.reason;
  if (H5Tequal(call.memory_types[number], dataset.type) <= 0) return Reason::conversion;
  const auto spaces = spaces_of(call, number, dataset);
  if (!spaces || H5Sselect_valid(spaces->file) <= 0) return Reason::selection;
  const std::int64_t elements = H5Sget_select_npoints(spaces->file);
  const auto bytes = checked_multiply(elements, dataset.element_bytes);
  if (elements < 0 || !bytes) return Reason::selection;
  const bool is_dense = spaces->memory == no_space;
  if (!is_dense &&
      (H5Sselect_valid(spaces->memory) <= 0 || H5Sget_select_npoints(spaces->memory) != elements)) {
    return Reason::selection;
  }
  if (elements > 0 && call.memory[number] == nullptr) return Reason::arguments;
  found = {&dataset, *spaces, *bytes};
  return Reason::taken;
}

// The bytes of memory of what is selected, which is not nothing.
std::optional<Datatype> bytes_in_memory(const Selected& selected) {
  return selected.spaces.memory == no_space
             ? Datatype::bytes(selected.bytes)
             : selected_bytes(selected.spaces.memory, selected.dataset->element_bytes);
}

// Adds what the call moves of one of its datasets, which are contiguous.
Reason add_part(const DatasetCall& call, std::size_t number, std::vector<Part>& parts) {
  Selected selected;
  const Reason reason = find_selected(call, number, selected);
  if (reason != Reason::taken) return reason;
  const KnownDataset& dataset = *selected.dataset;
  if (selected.bytes == 0) return Reason::taken;
  auto in_file = selected_bytes(selected.spaces.file, dataset.element_bytes);
  auto in_memory = bytes_in_memory(selected);
  if (!in_file || !in_memory) return Reason::selection;
  parts.push_back({dataset.address, static_cast<std::byte*>(call.memory[number]),
                   std::move(*in_file), std::move(*in_memory)});
  return Reason::taken;
}

// Returns why no call is carried out, whatever it moves.
Reason find_refusal(const OpenFile& file, const DatasetCall& call) {
  int atomic = 0;
  if (MPI_File_get_atomicity(*file.handle, &atomic) != MPI_SUCCESS) return Reason::failed;
  if (atomic != 0) return Reason::atomic;
  return has_transform(call.transfer) ? Reason::conversion : Reason::taken;
}

Reason find_parts(const OpenFile& file, const DatasetCall& call, std::vector<Part>& parts) {
  const Reason refusal = find_refusal(file, call);
  if (refusal != Reason::taken) return refusal;
  for (std::size_t i = 0; i < call.count; ++i) {
    if (open_file_with(call.datasets[i], call.transfer) != &file) return Reason::arguments;
    if (call.file_spaces[i] == H5S_PLIST) distrust(call.datasets[i]);
    const Reason reason = add_part(call, i, parts);
    if (reason != Reason::taken) return reason;
  }
  std::ranges::sort(parts, {}, &Part::address);
  return Reason::taken;
}

// The view of the file and the memory of a transfer.
struct Shown {
  Datatype in_file;
  Datatype in_memory;
  std::byte* memory = nullptr;
};

std::optional<Shown> shown(const std::vector<Part>& parts) {
  std::vector<MPI_Datatype> in_file;
  std::vector<MPI_Datatype> in_memory;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Aint> places;
  for (const Part& part : parts) {
    in_file.push_back(part.in_file.handle());
    in_memory.push_back(part.in_memory.handle());
    addresses.push_back(part.address);
    places.push_back(part.memory - parts.front().memory);
  }
  const int count = static_cast<int>(parts.size());
  auto view = Datatype::joined(count, in_file.data(), addresses.data());
  auto memory = Datatype::joined(count, in_memory.data(), places.data());
  if (!view || !memory || !memory->commit()) return std::nullopt;
  return Shown{std::move(*view), std::move(*memory),
               parts.empty() ? nullptr : parts.front().memory};
}

mpiio::Handle handle_of_byte() {
  const MPI_Datatype byte = MPI_BYTE;
  return takeover::to_handle(byte);
}

// Returns what is moved from or to memory; nothing if `datatype` is null.
mpiio::Transfer transfer_of(const DatasetCall& call, mpiio::Way way, const Datatype* datatype,
                            std::byte* memory) {
  return {
      .writing = call.writing,
      .way = way,
      .from = mpiio::From::offset,
      .offset = 0,
      .memory = memory,
      .count = datatype != nullptr ? 1 : 0,
      .datatype = datatype != nullptr ? takeover::to_handle(datatype->handle()) : handle_of_byte(),
      .last = MPI_STATUS_IGNORE,
  };
}

// Says what a call moves of a chunked dataset.
struct ChunkedPart {
  Blocks blocks;
  std::optional<StridedMemory> strided;
  std::optional<Datatype> in_memory;  // nothing: no bytes, or `strided`
};

Reason find_chunked(const OpenFile& file, const DatasetCall& call, ChunkedPart& part) {
  const Reason refusal = find_refusal(file, call);
  if (refusal != Reason::taken) return refusal;
  if (call.file_spaces[0] == H5S_PLIST) distrust(call.datasets[0]);
  Selected selected;
  const Reason reason = find_selected(call, 0, selected);
  if (reason != Reason::taken) return reason;
  const auto blocks = selected_blocks(selected.spaces.file);
  if (!blocks) return Reason::chunks;
  part.blocks = *blocks;
  if (selected.bytes == 0) return Reason::taken;
  const KnownDataset& dataset = *selected.dataset;
  const int dimensions = static_cast<int>(dataset.chunk.size());
  part.strided =
      selected.spaces.memory == no_space
          ? dense_memory(*blocks, dimensions, dataset.element_bytes)
          : strided_memory(*blocks, dimensions, selected.spaces.memory, dataset.element_bytes);
  if (part.strided) return Reason::taken;
  part.in_memory = bytes_in_memory(selected);
  return part.in_memory && part.in_memory->commit() ? Reason::taken : Reason::selection;
}

// Moves a dataset in chunks. In a collective call all ranks call move_in_chunks(), whatever a rank
// finds.
mpiio::Moved move_chunked(OpenFile& file, const DatasetCall& call, mpiio::Way way) {
  const KnownDataset& dataset = known_dataset(call.datasets[0], call.transfer);
  const bool is_agreed = way == mpiio::Way::collective;
  ChunkedPart part;
  part.blocks.stride.fill(1);
  part.blocks.block.fill(1);
  Reason own = Reason::taken;
  try {
    if (is_agreed || !has_found_chunks(call.datasets[0])) {
      if (!is_agreed && file.reads_metadata_together) return {Reason::not_collective};
      find_chunks(call.datasets[0], call.transfer);
    }
    own = find_chunked(file, call, part);
  } catch (const std::exception&) {  // for lack of memory
    own = Reason::memory;
  }
  const Datatype* const datatype = part.in_memory ? &*part.in_memory : nullptr;
  auto* const memory = static_cast<std::byte*>(call.memory[0]);
  return take_over().move_in_chunks(
      file.taken, dataset.chunks.get(),
      {part.blocks.start.data(), part.blocks.count.data(), part.blocks.stride.data(),
       part.blocks.block.data(), part.strided ? part.strided->strides.data() : nullptr},
      transfer_of(call, way, datatype, part.strided ? memory + part.strided->offset : memory), own);
}

// Moves contiguous datasets. In a collective call all ranks call move_in_view(), whatever a rank
// finds: the others wait for it there.
mpiio::Moved move_contiguous(OpenFile& file, const DatasetCall& call, mpiio::Way way) {
  std::vector<Part> parts;
  std::optional<Shown> all;
  Reason own = Reason::taken;
  try {
    own = find_parts(file, call, parts);
    if (own == Reason::taken && !parts.empty()) {
      all = shown(parts);
      if (!all) own = Reason::selection;
    }
  } catch (const std::exception&) {  // for lack of memory
    own = Reason::memory;
  }
  const mpiio::Handle byte = handle_of_byte();
  const mpiio::SetView view{0, byte, all ? takeover::to_handle(all->in_file.handle()) : byte,
                            "native"};
  return take_over().move_in_view(
      file.taken, view,
      transfer_of(call, way, all ? &all->in_memory : nullptr, all ? all->memory : nullptr), own);
}

// The datasets of a call that are moved together.
struct SomeDatasets {
  std::vector<void*> datasets = {};
  std::vector<hid_t> memory_types = {};
  std::vector<hid_t> memory_spaces = {};
  std::vector<hid_t> file_spaces = {};
  std::vector<void*> memory = {};

  void add(const DatasetCall& call, std::size_t number) {
    datasets.push_back(call.datasets[number]);
    memory_types.push_back(call.memory_types[number]);
    memory_spaces.push_back(call.memory_spaces[number]);
    file_spaces.push_back(call.file_spaces[number]);
    memory.push_back(call.memory[number]);
  }
  [[nodiscard]] DatasetCall of(const DatasetCall& call) const {
    return {call.writing,         datasets.size(),    datasets.data(), memory_types.data(),
            memory_spaces.data(), file_spaces.data(), call.transfer,   memory.data()};
  }
};

// Several datasets of which some are in chunks: the contiguous ones first, and each other one by
// itself, in an order that all ranks have.
struct InTurn {
  std::vector<SomeDatasets> calls = {};
  std::vector<std::int64_t> numbers = {};  // of the datasets
  Reason own = Reason::taken;              // why this rank cannot move them
};

InTurn in_turn(const OpenFile& file, const DatasetCall& call) {
  struct Place {
    bool is_chunked;
    std::int64_t in_file;
    std::size_t number;
  };
  InTurn turns;
  turns.own = find_refusal(file, call);
  std::vector<Place> places;
  for (std::size_t i = 0; i < call.count; ++i) {
    const KnownDataset& dataset = known_dataset(call.datasets[i], call.transfer);
    places.push_back({!dataset.chunk.empty(), dataset.place ? dataset.place->in_file : 0, i});
    if (turns.own != Reason::taken) continue;
    Selected selected;
    turns.own = open_file_with(call.datasets[i], call.transfer) == &file
                    ? find_selected(call, i, selected)
                    : Reason::arguments;
  }
  std::ranges::sort(places, {}, [](const Place& one) {
    return std::tuple(one.is_chunked, one.in_file, one.number);
  });
  for (const Place& one : places) {
    turns.numbers.push_back(one.in_file);
    if (one.is_chunked || turns.calls.empty()) turns.calls.emplace_back();
    turns.calls.back().add(call, one.number);
  }
  return turns;
}

// If one of the datasets cannot be moved after others were, HDF5 moves all once more: the bytes are
// the same.
mpiio::Moved move_in_turn(OpenFile& file, const DatasetCall& call, mpiio::Way way) {
  InTurn turns;
  try {
    turns = in_turn(file, call);
  } catch (const std::exception&) {  // for lack of memory
    turns.own = Reason::memory;
  }
  const Reason reason =
      way == mpiio::Way::collective
          ? take_over().agree(file.taken, turns.own, turns.numbers.data(), turns.numbers.size())
          : turns.own;
  mpiio::Moved moved{reason};
  for (const SomeDatasets& some : turns.calls) {
    if (moved.reason != Reason::taken || moved.result != MPI_SUCCESS) break;
    const KnownDataset& first = known_dataset(some.datasets.front(), call.transfer);
    moved = first.chunk.empty() ? move_contiguous(file, some.of(call), way)
                                : move_chunked(file, some.of(call), way);
  }
  return moved;
}

}  // namespace

// What H5Pset_dxpl_mpio_collective_opt() sets has no function that gets it.
std::optional<mpiio::Way> way_of(hid_t transfer) {
  H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
  H5FD_mpio_collective_opt_t how = H5FD_MPIO_COLLECTIVE_IO;
  if (H5Pget_dxpl_mpio(transfer, &mode) < 0 || H5Pget(transfer, collective_option, &how) < 0) {
    return std::nullopt;
  }
  if (mode == H5FD_MPIO_INDEPENDENT) return mpiio::Way::independent;
  return how == H5FD_MPIO_COLLECTIVE_IO ? std::optional(mpiio::Way::collective) : std::nullopt;
}

std::int64_t bytes_of(const DatasetCall& call) {
  std::int64_t bytes = 0;
  H5E_BEGIN_TRY {
    for (std::size_t i = 0; i < call.count; ++i) {
      hid_t space = call.file_spaces[i];
      const bool is_whole = space == H5S_ALL || space == H5S_BLOCK || space == H5S_PLIST;
      if (is_whole) space = space_of(call.datasets[i], call.transfer);
      const hssize_t elements = H5Sget_select_npoints(space);
      if (is_whole) H5Sclose(space);
      const auto each = static_cast<std::int64_t>(H5Tget_size(call.memory_types[i]));
      if (elements > 0) bytes += checked_multiply(elements, each).value_or(0);
    }
  }
  H5E_END_TRY
  return bytes;
}

mpiio::Moved move_datasets(OpenFile& file, const DatasetCall& call, mpiio::Way way) {
  std::size_t chunked = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    chunked += known_dataset(call.datasets[i], call.transfer).chunk.empty() ? 0 : 1;
  }
  if (chunked == 0) return move_contiguous(file, call, way);
  return call.count == 1 ? move_chunked(file, call, way) : move_in_turn(file, call, way);
}

}  // namespace weir::hdf5
