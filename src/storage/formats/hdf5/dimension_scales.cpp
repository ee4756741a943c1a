#include "storage/formats/hdf5/dimension_scales.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>

namespace weir::storage {
namespace {

// What the NetCDF-4 library writes as the name of such a scale, followed by the length.
constexpr std::string_view without_data = "This is a netCDF dimension but not a netCDF variable.";

bool is_coordinate(const ArrayDescription& one) {
  return one.dimension_names.size() == 1 && one.dimension_names.front() == one.name;
}

Hdf5Handle make_scale(hid_t file, const std::string& name, std::int64_t extent, bool grows) {
  const auto length = static_cast<hsize_t>(extent);
  const hsize_t most = grows ? H5S_UNLIMITED : length;
  const Hdf5Handle space(H5Screate_simple(1, &length, &most));
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
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

Status make_scales(hid_t file, const FileDescription& description, const std::string& path,
                   Hdf5Writing& writing) {
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
      const bool grows = one.grows && d == 0;
      if (grows) writing.share_next_header();
      if (!make_scale(file, name, one.shape.extent(static_cast<int>(d)), grows).ok()) {
        return hdf5_failure("make dimension \"" + name + '"', path, ErrorCode::io);
      }
    }
  }
  return {};
}

extern "C" herr_t weir_hdf5_first_scale(hid_t /*dataset*/, unsigned /*dimension*/, hid_t scale,
                                        void* name) {
  std::array<char, 1024> text{};
  if (H5Iget_name(scale, text.data(), text.size()) > 0) {
    *static_cast<std::string*>(name) = last_part(text.data());
  }
  return 1;
}

}  // namespace

Status check_hdf5_dimensions(const FileDescription& file) {
  std::set<std::string> dimensions;
  for (const ArrayDescription& one : file.arrays) {
    dimensions.insert(one.dimension_names.begin(), one.dimension_names.end());
  }
  const auto clash = [](const std::string& name) {
    return invalid_argument(
        fmt::format("\"{}\" names a dimension and something else; in HDF5 an array of a "
                    "dimension's name has to be one-dimensional and along that dimension",
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
  if (Status made = make_scales(file, description, path, writing); !made.ok()) return made;
  for (const ArrayDescription& one : description.arrays) {
    if (one.dimension_names.empty() || is_coordinate(one)) continue;
    const Hdf5Handle dataset(H5Dopen2(file, one.name.c_str(), H5P_DEFAULT));
    const std::size_t dimensions = one.dimension_names.size();
    for (std::size_t d = 0; d < dimensions; ++d) {
      const Hdf5Handle scale(H5Dopen2(file, one.dimension_names[d].c_str(), H5P_DEFAULT));
      // In the file a column-major array has its dimensions reversed.
      const std::size_t place = one.order == array::Order::row_major ? d : dimensions - 1 - d;
      if (H5DSattach_scale(dataset.id(), scale.id(), static_cast<unsigned>(place)) < 0) {
        return hdf5_failure("name the dimensions of \"" + one.name + '"', path, ErrorCode::io);
      }
    }
  }
  return {};
}

bool is_hdf5_dimension_only(hid_t dataset) {
  if (H5DSis_scale(dataset) <= 0) return false;
  std::array<char, without_data.size() + 1> name{};
  return H5DSget_scale_name(dataset, name.data(), name.size()) >= 0 &&
         std::string_view(name.data()) == without_data;
}

std::vector<std::string> read_hdf5_dimensions(hid_t dataset, int dimensions) {
  std::vector<std::string> names;
  if (H5DSis_scale(dataset) > 0) {
    if (dimensions != 1) return {};
    std::array<char, 1024> name{};
    if (H5Iget_name(dataset, name.data(), name.size()) <= 0) return {};
    return {last_part(name.data())};
  }
  for (int d = 0; d < dimensions; ++d) {
    std::string name;
    const auto place = static_cast<unsigned>(d);
    if (H5DSget_num_scales(dataset, place) <= 0 ||
        H5DSiterate_scales(dataset, place, nullptr, weir_hdf5_first_scale, &name) < 0 ||
        name.empty()) {
      return {};
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace weir::storage
