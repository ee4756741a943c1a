// Writes and reads an array by pwrite and pread at the places that its extent map names, element by
// element: what aggregators do in large pieces, in the plainest way. For the tests of the formats.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/format.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {

// Calls visit(index, number) for each element in row-major order.
template <typename Visit>
void for_each_element(const array::Shape& shape, const Visit& visit) {
  array::Indices index(shape.dimensions());
  for (std::int64_t number = 0; number < shape.elements(); ++number) {
    std::int64_t rest = number;
    for (int d = shape.dimensions() - 1; d >= 0; --d) {
      index[d] = rest % shape.extent(d);
      rest /= shape.extent(d);
    }
    visit(index, number);
  }
}

// The element of this number: its bytes differ from each other and between arrays of another seed.
inline std::vector<std::byte> test_element(const array::ElementType& type, std::int64_t number,
                                           std::int64_t seed) {
  const auto number_of = [&]<typename T>(T /*type*/) {
    const T value = static_cast<T>(number * 3 + seed);
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  };
  switch (type.kind()) {
    case array::ElementKind::float32:
      return number_of(float{});
    case array::ElementKind::float64:
      return number_of(double{});
    case array::ElementKind::int16:
      return number_of(std::int16_t{});
    case array::ElementKind::int32:
      return number_of(std::int32_t{});
    case array::ElementKind::int64:
      return number_of(std::int64_t{});
    case array::ElementKind::boolean:
      return {static_cast<std::byte>((number + seed) % 2)};
    default: {
      std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(number * 7 + seed + static_cast<std::int64_t>(i) * 31);
      }
      // Half and single precision parts of any bits but those of a NaN.
      if (type.bytes() > 1) bytes.back() &= std::byte{0x3f};
      return bytes;
    }
  }
}

// Returns the paths that the data files of a map from lay_out() have after the first commit to
// `path`.
inline DataFiles committed_files(const std::string& path, const DataFiles& laid_out) {
  return laid_out.renamed(incomplete_path(path), committed_path(path));
}

// A file that was laid out and committed before anything was written into it.
inline Result<FileMap> make_file(const Format& format, const FileDescription& file,
                                 const std::string& path) {
  auto room = format.lay_out(file, path);
  if (!room) return room.error();
  Status made = commit(path, room.value().update, StepDurability::none);
  if (!made.ok()) return made.error();
  for (StoredArray& one : room.value().map.arrays) {
    one.map.files = committed_files(path, one.map.files);
  }
  return std::move(room.value().map);
}

inline void swap_if_big(const ExtentMap& map, std::vector<std::byte>& element) {
  if (map.byte_order == ByteOrder::little) return;
  const std::int64_t part = bytes_swapped_together(map.type);
  for (auto at = element.begin(); at != element.end(); at += part) std::reverse(at, at + part);
}

// The files of a map, open one at a time.
class OpenedDataFile {
 public:
  OpenedDataFile(const ExtentMap& map, bool writing) : map_(map), writing_(writing) {}
  OpenedDataFile(const OpenedDataFile&) = delete;
  OpenedDataFile& operator=(const OpenedDataFile&) = delete;
  ~OpenedDataFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  // -1: there is no such file.
  int at(std::int64_t file) {
    if (file == file_) return descriptor_;
    if (descriptor_ >= 0) ::close(descriptor_);
    file_ = file;
    const std::string path = map_.files.path(file);
    const std::int64_t bytes = map_.files.bytes_when_made();
    if (writing_ && bytes > 0) {
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    }
    descriptor_ =
        ::open(path.c_str(), writing_ ? O_RDWR | (bytes > 0 ? O_CREAT : 0) : O_RDONLY, 0666);
    struct stat information {};
    if (writing_ && bytes > 0 && ::fstat(descriptor_, &information) == 0 &&
        information.st_size < bytes && ::ftruncate(descriptor_, bytes) != 0) {
      ADD_FAILURE() << path;
    }
    return descriptor_;
  }

 private:
  const ExtentMap& map_;
  bool writing_;
  std::int64_t file_ = -1;
  int descriptor_ = -1;
};

inline void write_array(const ExtentMap& map, std::int64_t seed) {
  OpenedDataFile files(map, true);
  for_each_element(map.shape, [&](const array::Indices& index, std::int64_t number) {
    auto element = test_element(map.type, number, seed);
    swap_if_big(map, element);
    const auto place = map.place_of(index);
    ASSERT_TRUE(place.has_value()) << number;
    ASSERT_EQ(::pwrite(files.at(place->file), element.data(), element.size(), place->offset),
              static_cast<ssize_t>(element.size()))
        << number;
  });
}

// Returns how many elements are not those that write_array() wrote. Elements in no file have the
// value `absent`.
inline std::int64_t wrong_elements(const ExtentMap& map, std::int64_t seed,
                                   const std::vector<std::byte>& absent = {}) {
  OpenedDataFile files(map, false);
  std::int64_t wrong = 0;
  for_each_element(map.shape, [&](const array::Indices& index, std::int64_t number) {
    std::vector<std::byte> element(static_cast<std::size_t>(map.type.bytes()));
    const auto place = map.place_of(index);
    const int file = place ? files.at(place->file) : -1;
    if (file < 0) {
      element = absent;
    } else if (::pread(file, element.data(), element.size(), place->offset) !=
               static_cast<ssize_t>(element.size())) {
      ++wrong;
      return;
    } else {
      swap_if_big(map, element);
    }
    if (element != test_element(map.type, number, seed)) ++wrong;
  });
  return wrong;
}

}  // namespace weir::storage
