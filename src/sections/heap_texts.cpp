#include "sections/heap_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "array/layout.hpp"
#include "checksums/file_state.hpp"
#include "common/numbers_in_bytes.hpp"
#include "sections/read_section.hpp"
#include "stored/read_range.hpp"

namespace weir::storage {
namespace {

// An element of the array; it is little-endian, like all metadata of the file.
struct Reference {
  std::uint32_t bytes = 0;
  std::uint64_t collection = 0;  // address relative to the heap's base; 0: there is no text
  std::uint32_t object = 0;
};
constexpr std::uint64_t undefined_address = UINT64_MAX;

// Value of all bytes of elements that were never written.
constexpr std::byte of_unwritten{0xFF};

Reference reference_at(const std::byte* element) {
  Reference one;
  std::memcpy(&one.bytes, element, sizeof one.bytes);
  std::memcpy(&one.collection, element + 4, sizeof one.collection);
  std::memcpy(&one.object, element + 12, sizeof one.object);
  return one;
}

// A requested text.
struct Wanted {
  Reference reference;
  std::int64_t number = 0;
  bool is_found = false;

  [[nodiscard]] bool is_before(const Wanted& other) const {
    return std::pair(reference.collection, reference.object) <
           std::pair(other.reference.collection, other.reference.object);
  }
};

Error damaged(const StoredTexts& texts, std::int64_t offset, std::string what) {
  return Error(ErrorCode::corrupt,
               fmt::format("array \"{}\": {}: the file is damaged",
                           printable(texts.array.description.name), what),
               texts.array.map.files.path(0), offset);
}

// Reads a part of the file in windows.
class Windows {
 public:
  Windows(const ExtentMap& map, DataFileCache& files) : map_(map), files_(files) {}

  // Sets the end of the file's bytes that may be read.
  void set_end(std::int64_t end) { end_ = end; }

  Status read(std::int64_t offset, std::span<std::byte> to) {
    if (std::cmp_greater(to.size(), most_window_bytes)) return read_file(offset, to);
    const auto end = offset + static_cast<std::int64_t>(to.size());
    if (offset < begin_ || end > begin_ + std::ssize(window_)) {
      begin_ = offset;
      window_.resize(static_cast<std::size_t>(
          std::clamp(end_ - offset, end - offset, std::max(most_window_bytes, end - offset))));
      if (Status status = read_file(offset, window_); !status.ok()) {
        window_.clear();
        return status;
      }
    }
    std::memcpy(to.data(), window_.data() + (offset - begin_), to.size());
    return {};
  }

 private:
  static constexpr std::int64_t most_window_bytes = std::int64_t{64} << 10;

  Status read_file(std::int64_t offset, std::span<std::byte> to) {
    if (to.empty()) return {};
    const auto read = read_range(map_, files_, 0, offset, {to.data(), std::ssize(to)});
    return read ? Status() : Status(read.error());
  }

  const ExtentMap& map_;
  DataFileCache& files_;
  std::int64_t end_ = 0;
  std::int64_t begin_ = 0;  // offset of the window in the file
  std::vector<std::byte> window_;
};

// Finds the texts, one collection after the other, in the order of their addresses.
class Collections {
 public:
  Collections(const StoredTexts& texts, DataFileCache& files, std::int64_t file_bytes,
              TextList& found)
      : texts_(texts), windows_(texts.array.map, files), file_bytes_(file_bytes), found_(found) {}

  // Reads all requested texts of one collection; `wanted` ascends by object number.
  Status read(std::span<Wanted> wanted) {
    const std::uint64_t address = wanted.front().reference.collection;
    const auto most = static_cast<std::uint64_t>(file_bytes_ - *texts_.heap_base);
    if (address > most || most - address < header_bytes) {
      return damaged(texts_, -1, "a text lies outside the file");
    }
    const std::int64_t begin = *texts_.heap_base + static_cast<std::int64_t>(address);
    if (begin < last_end_) return damaged(texts_, begin, "two collections of texts overlap");
    windows_.set_end(file_bytes_);
    std::array<std::byte, header_bytes> header{};
    if (Status status = windows_.read(begin, header); !status.ok()) return status;
    const auto bytes = number_at<std::uint64_t>(header, 8);
    const bool is_collection =
        std::memcmp(header.data(), "GCOL", 4) == 0 && header[4] == std::byte{1};
    if (!is_collection || bytes < header_bytes || bytes > most - address) {
      return damaged(texts_, begin, "there is no collection of texts where one should be");
    }
    last_end_ = begin + static_cast<std::int64_t>(bytes);
    windows_.set_end(last_end_);
    return read_objects(begin + header_bytes, last_end_, wanted);
  }

 private:
  // Size of the header of a collection and of each object in it.
  static constexpr std::int64_t header_bytes = 16;

  Status read_objects(std::int64_t at, std::int64_t end, std::span<Wanted> wanted) {
    std::size_t missing = wanted.size();
    while (missing > 0 && end - at >= header_bytes) {
      std::array<std::byte, header_bytes> header{};
      if (Status status = windows_.read(at, header); !status.ok()) return status;
      const auto object = number_at<std::uint16_t>(header);
      const auto bytes = number_at<std::uint64_t>(header, 8);
      if (object == 0) break;  // free space, which is last in a collection
      const auto room = static_cast<std::uint64_t>(end - at - header_bytes);
      if (bytes > room) return damaged(texts_, at, "a text ends outside its collection");
      const Wanted first{
          {.bytes = 0, .collection = wanted.front().reference.collection, .object = object}};
      const auto same =
          std::equal_range(wanted.begin(), wanted.end(), first,
                           [](const Wanted& a, const Wanted& b) { return a.is_before(b); });
      for (auto one = same.first; one != same.second; ++one) {
        if (one->is_found) return damaged(texts_, at, "two texts have the same number");
        if (one->reference.bytes > bytes) {
          return damaged(texts_, at, "a text is shorter than its length");
        }
        Status status =
            windows_.read(at + header_bytes, found_.room_for(one->number, one->reference.bytes));
        if (!status.ok()) return status;
        one->is_found = true;
        --missing;
      }
      // The next object begins at a multiple of 8.
      at += header_bytes + static_cast<std::int64_t>(std::min(room, (bytes + 7) / 8 * 8));
    }
    return missing == 0 ? Status() : damaged(texts_, at, "a text is not in its collection");
  }

  const StoredTexts& texts_;
  Windows windows_;
  std::int64_t file_bytes_;
  TextList& found_;
  std::int64_t last_end_ = 0;
};

Result<std::int64_t> bytes_of_file(const StoredTexts& texts, DataFileCache& files) {
  const ExtentMap& map = texts.array.map;
  const auto file = files.get(map.files.path(0), 0, map.files.known());
  if (!file) return file.error();
  const auto state = state_of_file(file.value()->descriptor());
  if (!state) return damaged(texts, -1, "its length cannot be read");
  return std::max(state->bytes, *texts.heap_base);
}

// Returns the elements of a section as they are in the file.
Result<std::vector<std::byte>> read_references(const StoredTexts& texts,
                                               const array::Section& section,
                                               DataFileCache& files) {
  StoredArray array = texts.array;
  array.description.fill.assign(heap_reference_bytes, of_unwritten);
  const auto memory =
      array::Layout::packed(section.count, heap_reference_bytes, array::Order::row_major);
  if (!memory) return memory.error();
  std::vector<std::byte> elements(
      static_cast<std::size_t>(section.elements() * heap_reference_bytes));
  Status read = read_section(array, section, elements.data(), memory.value(), files);
  if (!read.ok()) return read.error();
  return elements;
}

}  // namespace

Result<Texts> read_heap_texts(const StoredTexts& texts, const array::Section& section,
                              DataFileCache& files) {
  const auto elements = read_references(texts, section, files);
  if (!elements) return elements.error();
  const auto file_bytes = bytes_of_file(texts, files);
  if (!file_bytes) return file_bytes.error();
  const std::vector<std::byte> unwritten(heap_reference_bytes, of_unwritten);
  TextList found(section.elements());
  std::vector<Wanted> wanted;
  std::int64_t bytes = 0;  // below 2^62 elements of 2^32 bytes in a file below 2^63
  for (std::int64_t i = 0; i < section.elements(); ++i) {
    const std::byte* const element = elements.value().data() + i * heap_reference_bytes;
    const Reference one = reference_at(element);
    if (std::equal(unwritten.begin(), unwritten.end(), element)) {
      if (!texts.fill.empty()) found.put(i, texts.fill);
    } else if (one.bytes > 0 && one.collection != 0 && one.collection != undefined_address) {
      wanted.push_back({one, i});
      bytes += one.bytes;
      if (bytes > file_bytes.value()) {
        return damaged(texts, -1, "its texts take more bytes than the file has");
      }
    }
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.is_before(b); });
  Collections collections(texts, files, file_bytes.value(), found);
  for (std::size_t first = 0, end = 0; first < wanted.size(); first = end) {
    const std::uint64_t collection = wanted[first].reference.collection;
    while (end < wanted.size() && wanted[end].reference.collection == collection) ++end;
    Status status = collections.read(std::span(wanted).subspan(first, end - first));
    if (!status.ok()) return status.error();
  }
  return found.in_order(TextList::Zeros::end_texts);
}

}  // namespace weir::storage
