#include "formats/hdf5/read_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "formats/file_map_message.hpp"
#include "formats/hdf5/attributes.hpp"
#include "formats/hdf5/dimension_scales.hpp"

namespace weir::storage {
namespace {

struct Walk {
  Hdf5Objects found;
  std::size_t most = 0;
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
  if (walk.found.groups.size() + walk.found.datasets.size() >= walk.most) {
    walk.too_many = true;
    return 1;
  }
  const std::string found = std::string_view(name) == "." ? "" : name;
  if (information->type == H5O_TYPE_DATASET) walk.found.datasets.push_back(found);
  if (information->type == H5O_TYPE_GROUP) walk.found.groups.push_back(found);
  return 0;
}

std::vector<Attribute> attributes_of(hid_t object, const std::string& name, FileMap& map) {
  AttributesFound found = read_hdf5_attributes(object, name);
  std::move(found.left_out.begin(), found.left_out.end(), std::back_inserter(map.left_out));
  return std::move(found.shown);
}

}  // namespace

Result<Hdf5Objects> list_hdf5_objects(hid_t file, const std::string& path, std::size_t most) {
  Walk walk{.found = {}, .most = most};
#if H5_VERSION_GE(1, 12, 0)
  const herr_t visited =
      H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, weir_hdf5_visit, &walk, H5O_INFO_BASIC);
#else
  const herr_t visited =
      H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, weir_hdf5_visit, &walk, H5O_INFO_BASIC);
#endif
  if (visited < 0) return hdf5_failure("list what is in the file", path, ErrorCode::corrupt);
  if (!walk.too_many) return std::move(walk.found);
  Error error =
      invalid_argument(fmt::format("the file holds more than {} arrays and groups", most));
  error.code = ErrorCode::unsupported;
  error.file = path;
  return error;
}

Hdf5File about_hdf5_file(hid_t file, const std::string& path, std::int64_t bytes,
                         Hdf5Writing& driver) {
  const Hdf5Handle creation(H5Fget_create_plist(file));
  hsize_t user_block = 0;
  H5Pget_userblock(creation.id(), &user_block);
  std::size_t offset_bytes = 0;
  std::size_t length_bytes = 0;
  H5Pget_sizes(creation.id(), &offset_bytes, &length_bytes);
  H5F_info2_t about{};
  H5Fget_info2(file, &about);
  return {.path = path,
          .bytes = bytes,
          .user_block = static_cast<std::int64_t>(user_block),
          .superblock = about.super.version,
          .wide = offset_bytes == 8 && length_bytes == 8,
          .types = {},
          .driver = &driver};
}

FileMap read_hdf5_objects(hid_t file, const Hdf5Objects& objects, const Hdf5File& about) {
  FileMap map;
  for (const std::string& name : objects.groups) {
    const Hdf5Handle group(H5Oopen(file, ("/" + name).c_str(), H5P_DEFAULT));
    if (!group.ok()) continue;
    auto attributes = attributes_of(group.id(), name, map);
    if (!attributes.empty()) map.groups.push_back({name, std::move(attributes)});
  }
  for (const std::string& name : objects.datasets) {
    const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
    if (!dataset.ok()) {
      map.refused.push_back({printable(name), "its header cannot be read"});
      continue;
    }
    if (is_hdf5_dimension_only(dataset.id())) continue;
    auto read = read_hdf5_dataset(about, dataset.id(), name);
    if (auto* refused = std::get_if<RefusedArray>(&read)) {
      map.refused.push_back(std::move(*refused));
    } else if (auto* texts = std::get_if<StoredTexts>(&read)) {
      texts->array.description.attributes = attributes_of(dataset.id(), name, map);
      map.texts.push_back(std::move(*texts));
    } else {
      auto& stored = std::get<StoredArray>(read);
      stored.description.attributes = attributes_of(dataset.id(), name, map);
      map.arrays.push_back(std::move(stored));
    }
  }
  return map;
}

Result<FileMap> read_hdf5_file(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) return system_failure("stat", path, -1, errno);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  Hdf5Writing driver(Hdf5Writing::Writes::are_caught, 1);
  if (!driver.set_on(access.id())) return hdf5_failure("open the file", path, ErrorCode::io);
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
  if (!file.ok()) return driver.failure("open the file", path, ErrorCode::corrupt);
  const auto objects = list_hdf5_objects(file.id(), path);
  if (!objects) return objects.error();
  FileMap map = read_hdf5_objects(file.id(), objects.value(),
                                  about_hdf5_file(file.id(), path, information.st_size, driver));
  if (!file.close()) return hdf5_failure("close the file", path, ErrorCode::corrupt);
  return map;
}

Result<std::string> read_hdf5_message(const std::string& path) {
  const auto map = read_hdf5_file(path);
  if (!map) return map.error();
  return message_of(map.value());
}

}  // namespace weir::storage
