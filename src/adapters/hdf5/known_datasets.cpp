#include "adapters/hdf5/known_datasets.hpp"

#include <memory>
#include <optional>
#include <unordered_map>

#include "adapters/hdf5/native.hpp"

namespace weir::hdf5 {
namespace {

using mpiio::Reason;

// Never destroyed: HDF5 closes datasets when the process ends.
std::unordered_map<void*, KnownDataset>& datasets() {
  static auto* const all = std::make_unique<std::unordered_map<void*, KnownDataset>>().release();
  return *all;
}

// Whether the bytes of an element are all there is of it: strings and sequences of any length and
// references are handles in memory.
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

bool is_contiguous(void* dataset, hid_t dxpl) {
  const hid_t creation = creation_of(dataset, dxpl);
  if (creation < 0) return false;
  const bool contiguous =
      H5Pget_layout(creation) == H5D_CONTIGUOUS && H5Pget_external_count(creation) == 0;
  H5Pclose(creation);
  return contiguous;
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
  found.file = number_of_file_with(dataset, dxpl);
  if (!is_contiguous(dataset, dxpl)) {
    found.reason = Reason::layout;
    return found;
  }
  found.type = own_type_of(dataset, dxpl);
  found.space = space_of(dataset, dxpl);
  if (found.type < 0 || found.space < 0 || !is_plain(found.type)) {
    found.reason = Reason::conversion;
    return found;
  }
  found.element_bytes = static_cast<std::int64_t>(H5Tget_size(found.type));
  find_address(dataset, dxpl, found);
  return found;
}

}  // namespace

const KnownDataset& known_dataset(void* dataset, hid_t dxpl) {
  const auto known = datasets().find(dataset);
  if (known == datasets().end()) {
    return datasets().emplace(dataset, looked_at(dataset, dxpl)).first->second;
  }
  if (known->second.may_get_address) find_address(dataset, dxpl, known->second);
  return known->second;
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
