#include "storage/formats/hdf5/hdf5_format.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "storage/formats/hdf5/attributes.hpp"
#include "storage/formats/hdf5/datasets.hpp"
#include "storage/formats/hdf5/dimension_scales.hpp"
#include "storage/formats/incomplete.hpp"
#include "storage/formats/trial_process.hpp"

namespace weir::storage {
namespace {

// A hostile file may hold any number of objects; reading stops here, with an error.
constexpr std::size_t most_objects = 131072;

Hdf5Handle open_for_reading(const std::string& path) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  return Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
}

// ---- Laying out -------------------------------------------------------------------------------

// In order of creation, so that tools list arrays in the order of the description.
Hdf5Handle creation_in_order(hid_t what) {
  Hdf5Handle creation(H5Pcreate(what));
  H5Pset_link_creation_order(creation.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  return creation;
}

Status make_groups(hid_t file, const FileDescription& description, const std::string& path) {
  const Hdf5Handle creation = creation_in_order(H5P_GROUP_CREATE);
  for (const std::string& name : all_groups(description)) {
    const Hdf5Handle group(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT));
    if (!group.ok()) return hdf5_failure("create group \"" + name + '"', path, ErrorCode::io);
  }
  for (const GroupDescription& one : description.groups) {
    const std::string name = "/" + one.name;
    const Hdf5Handle group(H5Oopen(file, name.c_str(), H5P_DEFAULT));
    if (Status written = write_hdf5_attributes(group.id(), one.attributes, path); !written.ok()) {
      return written;
    }
  }
  return {};
}

// HDF5 has no contiguous dataset that grows: a step is a chunk.
FileDescription with_chunks_for_steps(FileDescription file) {
  for (ArrayDescription& one : file.arrays) {
    if (!one.grows || one.chunk_extents) continue;
    one.chunk_extents = one.shape.extents();
    for (std::int64_t& extent : *one.chunk_extents) extent = std::max<std::int64_t>(1, extent);
    (*one.chunk_extents)[0] = 1;
  }
  return file;
}

Status make_file(const FileDescription& description, const std::string& path) {
  const Hdf5Handle access = hdf5_access(description.alignment);
  const Hdf5Handle creation = creation_in_order(H5P_FILE_CREATE);
  Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()));
  if (!file.ok()) return hdf5_failure("create the file", path, ErrorCode::io);
  if (Status made = make_groups(file.id(), description, path); !made.ok()) return made;
  for (const ArrayDescription& one : description.arrays) {
    if (Status made = make_hdf5_dataset(file.id(), one, path); !made.ok()) return made;
  }
  if (Status made = write_hdf5_dimensions(file.id(), description, path); !made.ok()) return made;
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::io);
  return {};
}

// ---- Opening ----------------------------------------------------------------------------------

struct Walk {
  std::vector<std::string> groups;
  std::vector<std::string> datasets;
  bool too_many = false;
};

#if H5_VERSION_GE(1, 12, 0)
using ObjectInformation = H5O_info2_t;
#else
using ObjectInformation = H5O_info_t;
#endif

extern "C" herr_t weir_hdf5_visit(hid_t /*root*/, const char* name,
                                  const ObjectInformation* information, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  if (walk.groups.size() + walk.datasets.size() >= most_objects) {
    walk.too_many = true;
    return 1;
  }
  const std::string found = std::string_view(name) == "." ? "" : name;
  if (information->type == H5O_TYPE_DATASET) walk.datasets.push_back(found);
  if (information->type == H5O_TYPE_GROUP) walk.groups.push_back(found);
  return 0;
}

// Visits each object once, by hard links alone: no cycles, and no other files.
Status walk_objects(hid_t file, const std::string& path, Walk& walk) {
#if H5_VERSION_GE(1, 12, 0)
  const herr_t visited =
      H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, weir_hdf5_visit, &walk, H5O_INFO_BASIC);
#else
  const herr_t visited =
      H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, weir_hdf5_visit, &walk, H5O_INFO_BASIC);
#endif
  if (visited < 0) return hdf5_failure("list what is in the file", path, ErrorCode::corrupt);
  if (!walk.too_many) return {};
  Error error =
      invalid_argument(fmt::format("the file holds more than {} arrays and groups", most_objects));
  error.code = ErrorCode::unsupported;
  error.file = path;
  return error;
}

Result<FileMap> read_file(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) return system_failure("stat", path, -1, errno);
  Hdf5Handle file = open_for_reading(path);
  if (!file.ok()) return hdf5_failure("open the file", path, ErrorCode::corrupt);
  const Hdf5Handle creation(H5Fget_create_plist(file.id()));
  hsize_t user_block = 0;
  H5Pget_userblock(creation.id(), &user_block);
  H5F_info2_t about{};
  H5Fget_info2(file.id(), &about);
  Walk walk;
  if (Status walked = walk_objects(file.id(), path, walk); !walked.ok()) return walked.error();

  FileMap map;
  for (const std::string& name : walk.groups) {
    const Hdf5Handle group(H5Oopen(file.id(), ("/" + name).c_str(), H5P_DEFAULT));
    if (!group.ok()) continue;
    auto attributes = read_hdf5_attributes(group.id());
    if (!attributes.empty()) map.groups.push_back({name, std::move(attributes)});
  }
  const Hdf5File where{
      path, information.st_size, static_cast<std::int64_t>(user_block), about.super.version, {}};
  for (const std::string& name : walk.datasets) {
    const Hdf5Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT));
    if (!dataset.ok()) {
      map.refused.push_back({printable(name), "its header cannot be read"});
      continue;
    }
    if (is_hdf5_dimension_only(dataset.id())) continue;
    auto read = read_hdf5_dataset(where, dataset.id(), name);
    if (auto* refused = std::get_if<RefusedArray>(&read)) {
      map.refused.push_back(std::move(*refused));
    } else {
      map.arrays.push_back(std::move(std::get<StoredArray>(read)));
    }
  }
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::corrupt);
  return map;
}

// ---- The format -------------------------------------------------------------------------------

// Gives every dataset that grows its new extent, those of dimensions too; early allocation finds
// places for the new chunks.
Status extend(hid_t file, const std::string& name, hsize_t steps, const std::string& path) {
  const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  const Hdf5Handle space(H5Dget_space(dataset.id()));
  const int dimensions = H5Sget_simple_extent_ndims(space.id());
  if (dimensions < 1) return {};
  std::vector<hsize_t> sizes(static_cast<std::size_t>(dimensions));
  std::vector<hsize_t> most(sizes.size());
  H5Sget_simple_extent_dims(space.id(), sizes.data(), most.data());
  if (most.front() != H5S_UNLIMITED) return {};
  if (steps < sizes.front()) {
    return invalid_argument(fmt::format("room for {} steps in \"{}\", which has {}",
                                        std::uint64_t{steps}, printable(name),
                                        std::uint64_t{sizes.front()}));
  }
  sizes.front() = steps;
  if (H5Dset_extent(dataset.id(), sizes.data()) < 0) {
    return hdf5_failure("make room for steps in \"" + name + '"', path, ErrorCode::io);
  }
  return {};
}

class Hdf5Format final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "hdf5"; }

  [[nodiscard]] FormatAbilities abilities() const override {
    return {.several_arrays = true,
            .groups = true,
            .attributes = true,
            .dimension_names = true,
            .dense = true,
            .chunks = true,
            .growing = true,
            .fill = true};
  }

  Result<Room> lay_out(const FileDescription& file, const std::string& path) const override {
    if (Status fine = check_description(file, abilities(), name()); !fine.ok()) return fine.error();
    if (Status fine = check_hdf5_dimensions(file); !fine.ok()) return fine.error();
    const Hdf5Silence silence;
    const FileDescription made = with_chunks_for_steps(file);
    if (Status clear = clear_for_file(path); !clear.ok()) return clear.error();
    const std::string place = incomplete_path(path);
    if (Status status = make_file(made, place); !status.ok()) return status.error();
    auto opened = read_file(place);
    if (!opened) return opened.error();
    auto map = described_as(made, std::move(opened).value());
    if (!map) return map.error();
    return Room{std::move(map).value(), publication_of({""})};
  }

  Result<FileMap> open(const std::string& path) const override {
    const Hdf5Silence silence;
    // HDF5 1.10 crashes on some damaged heaps, and cannot close some damaged files ever after.
    const auto read = [&] {
      const auto map = read_file(path);
      return map ? Status() : Status(map.error());
    };
    const Status lived = survive_trial(read, path);
    if (!lived.ok()) return lived.error();
    return read_file(path);
  }

  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    if (steps < 0) return invalid_argument(fmt::format("{} steps: give 0 or more", steps));
    const Hdf5Silence silence;
    // Opened for writing, an empty file would be made a new one.
    if (H5Fis_hdf5(path.c_str()) <= 0) {
      return hdf5_failure("open the file", path, ErrorCode::corrupt);
    }
    const Hdf5Handle access = hdf5_access(1);
    Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()));
    if (!file.ok()) return hdf5_failure("open the file", path, ErrorCode::io);
    Walk walk;
    if (Status walked = walk_objects(file.id(), path, walk); !walked.ok()) return walked.error();
    for (const std::string& name : walk.datasets) {
      const Status status = extend(file.id(), name, static_cast<hsize_t>(steps), path);
      if (!status.ok()) return status.error();
    }
    if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::io);
    auto map = read_file(path);
    if (!map) return map.error();
    return Room{std::move(map).value(), {.made = {""}, .changes = {}}};
  }
};

}  // namespace

const Format* hdf5_format() {
  static const Hdf5Format format;
  return &format;
}

}  // namespace weir::storage
