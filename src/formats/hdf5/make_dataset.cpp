#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/datasets.hpp"
#include "formats/hdf5/filters.hpp"

namespace weir::storage {
namespace {

std::vector<hsize_t> sizes_of(const array::Indices& extents, array::Order order) {
  std::vector<hsize_t> sizes;
  sizes.reserve(static_cast<std::size_t>(extents.size()));
  for (int depth = 0; depth < extents.size(); ++depth) {
    sizes.push_back(
        static_cast<hsize_t>(extents[array::dimension_at_depth(order, extents.size(), depth)]));
  }
  return sizes;
}

Hdf5Handle creation_of(const ArrayDescription& array, hid_t type) {
  Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  // Encoded chunks get places when their lengths are known. Until then readers see the fill value.
  const bool encoded = !array.codecs.empty();
  bool fine =
      H5Pset_alloc_time(creation.id(), encoded ? H5D_ALLOC_TIME_INCR : H5D_ALLOC_TIME_EARLY) >= 0 &&
      H5Pset_fill_time(creation.id(), encoded ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER) >= 0 &&
      H5Pset_attr_creation_order(creation.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >=
          0 &&
      H5Pset_attr_phase_change(creation.id(), most_hdf5_attributes_in_header, 0) >= 0 &&
      H5Pset_obj_track_times(creation.id(), false) >= 0;
  if (array.chunk_extents) {
    const auto chunk = sizes_of(*array.chunk_extents, array.order);
    fine = fine && H5Pset_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
  }
  if (encoded) {
    fine =
        fine && set_hdf5_filters(creation.id(), array.codecs, {array.type, *array.chunk_extents});
  }
  if (!array.fill.empty()) {
    fine = fine && H5Pset_fill_value(creation.id(), type, array.fill.data()) >= 0;
  }
  return fine ? std::move(creation) : Hdf5Handle();
}

// Returns the type of the elements. Records whose members the program names become a compound.
Result<Hdf5Handle> type_of(const ArrayDescription& array) {
  const Attribute* const named = find_attribute(array.attributes, array::record_members_attribute);
  if (array.type.kind() != array::ElementKind::record || named == nullptr) {
    return hdf5_type(array.type, ByteOrder::little);
  }
  const auto* const text = std::get_if<std::string>(&named->value);
  if (text == nullptr) {
    return invalid_argument(fmt::format("array \"{}\": {} is not a text", array.name, named->name));
  }
  const auto members = array::parse_record_members(*text, array.type);
  if (!members) {
    return invalid_argument(fmt::format("array \"{}\": {}", array.name, members.error().message));
  }
  return hdf5_compound(members.value(), array.type.bytes());
}

}  // namespace

Status make_hdf5_dataset(hid_t file, const ArrayDescription& array, const std::string& path) {
  const auto failed = [&](std::string_view what) {
    return hdf5_failure(std::string(what) + " \"" + array.name + '"', path, ErrorCode::io);
  };
  const Result<Hdf5Handle> found = type_of(array);
  if (!found) return found.error();
  const Hdf5Handle& type = found.value();
  const auto sizes = sizes_of(array.shape.extents(), array.order);
  auto most = sizes;
  if (array.grows) most.front() = H5S_UNLIMITED;
  const Hdf5Handle space(array.is_scalar ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(static_cast<int>(sizes.size()),
                                                            sizes.data(), most.data()));
  const Hdf5Handle creation = creation_of(array, type.id());
  if (!type.ok() || !space.ok() || !creation.ok()) return failed("describe array");
  const Hdf5Handle dataset(H5Dcreate2(file, array.name.c_str(), type.id(), space.id(), H5P_DEFAULT,
                                      creation.id(), H5P_DEFAULT));
  if (!dataset.ok()) return failed("create array");
  return write_hdf5_attributes(dataset.id(), array.attributes, path);
}

}  // namespace weir::storage
