#include "formats/hdf5/dimension_scales.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace weir::storage {
namespace {

// The NetCDF-4 library writes these words, followed by the length, as the name of such a scale.
constexpr std::string_view without_data = "This is a netCDF dimension but not a netCDF variable.";

bool is_coordinate(const ArrayDescription& one) {
  return one.dimension_names.size() == 1 && one.dimension_names.front() == one.name;
}

Hdf5Handle make_scale(hid_t file, const std::string& name, std::int64_t extent, bool grows) {
  const auto length = static_cast<hsize_t>(extent);
  const hsize_t most = grows ? H5S_UNLIMITED : length;
  const Hdf5Handle space(H5Screate_simple(1, &length, &most));
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.id(), false);
  if (grows) {
    const hsize_t chunk = 1024;
    H5Pset_chunk(creation.id(), 1, &chunk);
  }
  Hdf5Handle scale(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32BE, space.id(), H5P_DEFAULT,
                              creation.id(), H5P_DEFAULT));
  const std::string text = fmt::format("{}{:>10}", without_data, extent);
  if (scale.ok() && H5DSset_scale(scale.id(), text.c_str()) < 0) return {};
  return scale;
}

// Checks a dimension that the file already has.
Status check_scale(hid_t file, const std::string& name, std::int64_t extent,
                   const std::string& path) {
  const Hdf5Handle scale(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  const Hdf5Handle space(scale.ok() ? H5Dget_space(scale.id()) : H5I_INVALID_HID);
  hsize_t length = 0;
  const bool is_scale = scale.ok() && H5DSis_scale(scale.id()) > 0 &&
                        H5Sget_simple_extent_ndims(space.id()) == 1 &&
                        H5Sget_simple_extent_dims(space.id(), &length, nullptr) == 1;
  if (is_scale && length == static_cast<hsize_t>(extent)) return {};
  return invalid_argument(
      fmt::format(
          "dimension \"{}\" of a new array {}: give the dimension another name", name,
          is_scale ? fmt::format("has {} elements, and in the file it has {}", extent, length)
                   : std::string("has the name of an object of the file that is not a dimension")),
      path);
}

// Adds the names of scales that the file already had to `old`.
Status make_scales(hid_t file, const FileDescription& description, const std::string& path,
                   Hdf5Writing& writing, std::set<std::string>& old) {
  std::set<std::string> made;
  for (const ArrayDescription& one : description.arrays) {
    if (!is_coordinate(one)) continue;
    const Hdf5Handle dataset(H5Dopen2(file, one.name.c_str(), H5P_DEFAULT));
    if (!dataset.ok() || H5DSset_scale(dataset.id(), one.name.c_str()) < 0) {
      return hdf5_failure("make dimension \"" + one.name + '"', path, ErrorCode::io);
    }
    made.insert(one.name);
  }
  for (const ArrayDescription& one : description.arrays) {
    for (std::size_t d = 0; d < one.dimension_names.size(); ++d) {
      const std::string& name = one.dimension_names[d];
      if (!made.insert(name).second) continue;
      if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0) {
        Status same = check_scale(file, name, one.shape.extent(static_cast<int>(d)), path);
        if (!same.ok()) return same;
        old.insert(name);
        continue;
      }
      const bool grows = one.grows && d == 0;
      if (grows) writing.share_next_header();
      if (!make_scale(file, name, one.shape.extent(static_cast<int>(d)), grows).ok()) {
        return hdf5_failure("make dimension \"" + name + '"', path, ErrorCode::io);
      }
    }
  }
  return {};
}

// ---- Arrays and their scales ------------------------------------------------------------------
//
// H5DSattach_scale() reads and writes the whole list of a scale's arrays for each array that it
// adds. Here all lists are collected first, and each is written once, in the library's form.

// An element of REFERENCE_LIST.
struct AttachedArray {
  hobj_ref_t array;
  int dimension;
};

Hdf5Handle attached_array_type() {
  Hdf5Handle type(H5Tcreate(H5T_COMPOUND, sizeof(AttachedArray)));
  if (H5Tinsert(type.id(), "dataset", HOFFSET(AttachedArray, array), H5T_STD_REF_OBJ) < 0 ||
      H5Tinsert(type.id(), "dimension", HOFFSET(AttachedArray, dimension), H5T_NATIVE_INT) < 0) {
    return {};
  }
  return type;
}

bool write_list(hid_t dataset, const char* name, hid_t type, std::size_t items, const void* data) {
  const hsize_t count = items;
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr));
  const Hdf5Handle list(H5Acreate2(dataset, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT));
  return list.ok() && H5Awrite(list.id(), type, data) >= 0;
}

// Each dimension has only one scale.
bool write_dimension_list(hid_t dataset, std::vector<hobj_ref_t>& scales) {
  const Hdf5Handle type(H5Tvlen_create(H5T_STD_REF_OBJ));
  std::vector<hvl_t> lists;
  lists.reserve(scales.size());
  for (hobj_ref_t& scale : scales) lists.push_back({1, &scale});
  return write_list(dataset, "DIMENSION_LIST", type.id(), lists.size(), lists.data());
}

class Scales {
 public:
  explicit Scales(hid_t file) : file_(file) {}

  bool attach(const ArrayDescription& array) {
    hobj_ref_t own{};
    if (!refer(array.name, own)) return false;
    const std::size_t dimensions = array.dimension_names.size();
    std::vector<hobj_ref_t> scales(dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) {
      // In the file a column-major array has its dimensions reversed.
      const std::size_t place = array.order == array::Order::row_major ? d : dimensions - 1 - d;
      const auto [scale, is_new] = known_.try_emplace(array.dimension_names[d]);
      if (is_new && !refer(scale->first, scale->second.reference)) return false;
      scales[place] = scale->second.reference;
      scale->second.arrays.push_back({own, static_cast<int>(place)});
    }
    const Hdf5Handle dataset(H5Dopen2(file_, array.name.c_str(), H5P_DEFAULT));
    return dataset.ok() && write_dimension_list(dataset.id(), scales);
  }

  // Writes the lists of all scales except those of `old`, whose headers belong to a published file
  // and stay as they are.
  bool write_lists(const std::set<std::string>& old) {
    const Hdf5Handle type = attached_array_type();
    return std::all_of(known_.begin(), known_.end(), [&](const auto& one) {
      if (old.contains(one.first)) return true;
      const Hdf5Handle scale(H5Dopen2(file_, one.first.c_str(), H5P_DEFAULT));
      const auto& arrays = one.second.arrays;
      return scale.ok() &&
             write_list(scale.id(), "REFERENCE_LIST", type.id(), arrays.size(), arrays.data());
    });
  }

 private:
  bool refer(const std::string& name, hobj_ref_t& reference) const {
    return H5Rcreate(&reference, file_, name.c_str(), H5R_OBJECT, H5I_INVALID_HID) >= 0;
  }

  struct Scale {
    hobj_ref_t reference{};
    std::vector<AttachedArray> arrays;
  };
  hid_t file_;
  std::map<std::string, Scale> known_;  // by name
};

struct FirstScale {
  Hdf5ScaleNames& names;
  std::string name = {};
};

extern "C" herr_t weir_hdf5_first_scale(hid_t /*dataset*/, unsigned /*dimension*/, hid_t scale,
                                        void* argument) {
  auto& first = *static_cast<FirstScale*>(argument);
  first.name = first.names.name_of(scale);
  return 1;
}

std::string name_of_scale(hid_t scale) {
  const auto bytes = H5Iget_name(scale, nullptr, 0);
  if (bytes <= 0) return {};
  std::string name(static_cast<std::size_t>(bytes), '\0');
  if (H5Iget_name(scale, name.data(), name.size() + 1) != bytes) return {};
  return last_part(name);
}

}  // namespace

Status check_hdf5_dimensions(const FileDescription& file) {
  std::set<std::string> dimensions;
  for (const ArrayDescription& one : file.arrays) {
    dimensions.insert(one.dimension_names.begin(), one.dimension_names.end());
  }
  const auto clash = [](const std::string& name) {
    return invalid_argument(
        fmt::format("\"{}\" is the name of a dimension and of an array; in HDF5 such an array must "
                    "be one-dimensional, along that dimension: rename one of them",
                    name));
  };
  for (const ArrayDescription& one : file.arrays) {
    if (dimensions.contains(one.name) && !is_coordinate(one)) return clash(one.name);
  }
  for (const std::string& group : all_groups(file)) {
    if (dimensions.contains(group)) return clash(group);
  }
  return {};
}

Status write_hdf5_dimensions(hid_t file, const FileDescription& description,
                             const std::string& path, Hdf5Writing& writing) {
  std::set<std::string> old;
  if (Status made = make_scales(file, description, path, writing, old); !made.ok()) return made;
  Scales scales(file);
  for (const ArrayDescription& one : description.arrays) {
    if (one.dimension_names.empty() || is_coordinate(one)) continue;
    if (!scales.attach(one)) {
      return hdf5_failure("name the dimensions of \"" + one.name + '"', path, ErrorCode::io);
    }
  }
  if (!scales.write_lists(old)) return hdf5_failure("name dimensions", path, ErrorCode::io);
  return {};
}

bool is_hdf5_dimension_only(hid_t dataset) {
  if (H5DSis_scale(dataset) <= 0) return false;
  std::array<char, without_data.size() + 1> name{};
  return H5DSget_scale_name(dataset, name.data(), name.size()) >= 0 &&
         std::string_view(name.data()) == without_data;
}

const std::string& Hdf5ScaleNames::name_of(hid_t scale) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t about{};
  H5Oget_info3(scale, &about, H5O_INFO_BASIC);
  const auto& identity = about.token;
#else
  H5O_info_t about{};
  H5Oget_info2(scale, &about, H5O_INFO_BASIC);
  const auto& identity = about.addr;
#endif
  const std::string key(reinterpret_cast<const char*>(&identity), sizeof identity);
  const auto [found, is_new] = known_.try_emplace(key);
  if (is_new) found->second = name_of_scale(scale);
  return found->second;
}

std::vector<std::string> read_hdf5_dimensions(hid_t dataset, int dimensions,
                                              Hdf5ScaleNames& scales) {
  std::vector<std::string> names;
  if (H5DSis_scale(dataset) > 0) {
    if (dimensions != 1) return {};
    std::string name = name_of_scale(dataset);
    if (name.empty()) return {};
    return {std::move(name)};
  }
  for (int d = 0; d < dimensions; ++d) {
    FirstScale first{scales};
    const auto place = static_cast<unsigned>(d);
    if (H5DSget_num_scales(dataset, place) <= 0 ||
        H5DSiterate_scales(dataset, place, nullptr, weir_hdf5_first_scale, &first) < 0 ||
        first.name.empty()) {
      return {};
    }
    names.push_back(std::move(first.name));
  }
  return names;
}

}  // namespace weir::storage
