#include "adapters/hdf5/known_datasets.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "adapters/hdf5/native.hpp"
#include "adapters/hdf5/open_files.hpp"

namespace weir::hdf5 {

void DeleteChunks::operator()(mpiio::StoredChunks* chunks) const {
  take_over().delete_chunks(chunks);
}

namespace {

using mpiio::Reason;

// Never destroyed: HDF5 closes datasets when the process ends.
std::unordered_map<void*, KnownDataset>& datasets() {
  static auto* const all = std::make_unique<std::unordered_map<void*, KnownDataset>>().release();
  return *all;
}

// Returns whether the bytes of an element are all there is of it: strings and sequences of any
// length and references are handles in memory.
bool is_plain(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_BITFIELD:
    case H5T_OPAQUE:
    case H5T_ENUM:
      return true;
    case H5T_STRING:
      return H5Tis_variable_str(type) == 0;
    case H5T_ARRAY: {
      const hid_t element = H5Tget_super(type);
      const bool plain = element >= 0 && is_plain(element);
      if (element >= 0) H5Tclose(element);
      return plain;
    }
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      bool plain = members > 0;
      for (int i = 0; i < members && plain; ++i) {
        const hid_t member = H5Tget_member_type(type, static_cast<unsigned>(i));
        plain = member >= 0 && is_plain(member);
        if (member >= 0) H5Tclose(member);
      }
      return plain;
    }
    default:
      return false;
  }
}

// Finds how the dataset lies in the file. Chunks with filters have lengths of their own.
Reason find_layout(void* dataset, hid_t dxpl, KnownDataset& found) {
  const hid_t creation = creation_of(dataset, dxpl);
  if (creation < 0) return Reason::layout;
  const H5D_layout_t layout = H5Pget_layout(creation);
  bool is_known = layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0;
  if (layout == H5D_CHUNKED && H5Pget_nfilters(creation) == 0) {
    found.chunk.resize(H5S_MAX_RANK);
    const int dimensions = H5Pget_chunk(creation, H5S_MAX_RANK, found.chunk.data());
    is_known = dimensions > 0;
    found.chunk.resize(static_cast<std::size_t>(is_known ? dimensions : 0));
  }
  H5Pclose(creation);
  return is_known ? Reason::taken : Reason::layout;
}

// The type of a dataset may be one that is stored in the file, which an id keeps open. A copy is
// not.
hid_t own_type_of(void* dataset, hid_t dxpl) {
  const hid_t type = type_of(dataset, dxpl);
  if (type < 0) return type;
  const hid_t copy = H5Tcopy(type);
  H5Tclose(type);
  return copy;
}

void find_address(void* dataset, hid_t dxpl, KnownDataset& found) {
  const auto address = address_of(dataset, dxpl);
  found.may_get_address = !address;
  found.reason = address ? Reason::taken : Reason::layout;
  found.address = static_cast<std::int64_t>(address.value_or(0));
}

KnownDataset looked_at(void* dataset, hid_t dxpl) {
  KnownDataset found;
  found.place = place_of(dataset, dxpl);
  found.reason = find_layout(dataset, dxpl, found);
  if (found.reason != Reason::taken) return found;
  found.type = own_type_of(dataset, dxpl);
  found.space = space_of(dataset, dxpl);
  if (found.type < 0 || found.space < 0 || !is_plain(found.type)) {
    found.reason = Reason::conversion;
    return found;
  }
  found.element_bytes = static_cast<std::int64_t>(H5Tget_size(found.type));
  if (found.chunk.empty()) find_address(dataset, dxpl, found);
  return found;
}

// Adds a chunk to those in `context`; one whose bytes have another length is not what it says.
int add_chunk(const hsize_t* corner, unsigned /*filter_mask*/, haddr_t address, hsize_t bytes,
              void* context) {
  const auto& into = *static_cast<const KnownDataset*>(context);
  hsize_t whole = static_cast<hsize_t>(into.element_bytes);
  for (const hsize_t extent : into.chunk) whole *= extent;
  if (bytes != whole || address > INT64_MAX) return -1;
  return take_over().add_chunk(into.chunks.get(), corner, static_cast<std::int64_t>(address)) ? 0
                                                                                              : -1;
}

// Sets known.chunks, to null if Weir cannot have them.
void find_all_chunks(void* dataset, hid_t dxpl, KnownDataset& known) {
  known.chunks.reset();
  std::vector<hsize_t> extents(known.chunk.size());
  const int dimensions = H5Sget_simple_extent_ndims(known.space);
  if (dimensions != static_cast<int>(extents.size())) return;
  H5Sget_simple_extent_dims(known.space, extents.data(), nullptr);
  known.chunks.reset(take_over().new_chunks(
      {dimensions, extents.data(), known.chunk.data(), known.element_bytes}));
  if (known.chunks == nullptr) return;
  bool is_visited = false;
  H5E_BEGIN_TRY { is_visited = visit_chunks(dataset, dxpl, add_chunk, &known); }
  H5E_END_TRY
  const int all = is_visited ? take_over().end_chunks(known.chunks.get()) : -1;
  known.may_get_chunks = all == 0;
  if (all < 0) known.chunks.reset();
}

}  // namespace

const KnownDataset& known_dataset(void* dataset, hid_t dxpl) {
  const auto known = datasets().find(dataset);
  if (known == datasets().end()) {
    return datasets().emplace(dataset, looked_at(dataset, dxpl)).first->second;
  }
  KnownDataset& found = known->second;
  if (found.may_get_address) find_address(dataset, dxpl, found);
  if (found.reason == Reason::taken && found.space < 0) {
    found.space = space_of(dataset, dxpl);
    if (found.space < 0) found.reason = Reason::layout;
  }
  return found;
}

void find_chunks(void* dataset, hid_t dxpl) {
  const auto known = datasets().find(dataset);
  if (known == datasets().end()) return;
  KnownDataset& found = known->second;
  const bool is_sought = found.reason == Reason::taken && !found.chunk.empty();
  if (!is_sought || (found.chunks != nullptr && !found.may_get_chunks)) return;
  find_all_chunks(dataset, dxpl, found);
  if (found.chunks == nullptr) found.reason = Reason::chunks;
}

bool has_found_chunks(void* dataset) {
  const auto known = datasets().find(dataset);
  return known != datasets().end() && known->second.chunks != nullptr;
}

bool is_cut_by(const hsize_t* extents, void* dataset, hid_t dxpl) {
  const std::size_t dimensions = known_dataset(dataset, dxpl).chunk.size();
  if (dimensions == 0) return false;
  const hid_t space = space_of(dataset, dxpl);
  std::array<hsize_t, H5S_MAX_RANK> present{};
  const bool is_told = H5Sget_simple_extent_dims(space, present.data(), nullptr) >= 0;
  H5Sclose(space);
  if (!is_told) return false;
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (extents[d] < present[d]) return true;
  }
  return false;
}

void forget_extents() {
  for (auto& [dataset, known] : datasets()) {
    if (known.chunk.empty()) continue;
    known.chunks.reset();
    if (known.space >= 0) H5Sclose(known.space);
    known.space = H5I_INVALID_HID;
  }
}

void distrust(void* dataset) {
  const auto known = datasets().find(dataset);
  if (known == datasets().end()) return;
  known->second.reason = Reason::selection;
  known->second.may_get_address = false;
}

void forget_dataset(void* dataset) {
  const auto known = datasets().find(dataset);
  if (known == datasets().end()) return;
  if (known->second.type >= 0) H5Tclose(known->second.type);
  if (known->second.space >= 0) H5Sclose(known->second.space);
  datasets().erase(known);
}

}  // namespace weir::hdf5
