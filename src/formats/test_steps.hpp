// Steps of files written through their maps, plain or encoded, for the tests that kill runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "codecs/codec_steps.hpp"
#include "formats/format.hpp"
#include "formats/test_transfer.hpp"
#include "sections/encoded_section.hpp"
#include "sections/read_section.hpp"
#include "sections/write_section.hpp"

namespace weir::storage {

// A format in which arrays grow, with chunks as they are in memory ("") or encoded.
struct StepsOfFormat {
  const Format* format = nullptr;
  std::string codec;

  [[nodiscard]] Pipeline pipeline() const {
    return codec.empty() ? Pipeline() : parse_pipeline(codec).value();
  }
  [[nodiscard]] std::string name() const {
    return std::string(format->name()) + (codec.empty() ? "" : "_encoded");
  }
};

inline std::vector<StepsOfFormat> formats_with_steps() {
  std::vector<StepsOfFormat> all;
  for (const Format* const one : all_formats()) {
    if (!one->abilities().growing) continue;
    all.push_back({one, ""});
    for (const char* codec : {"shuffle,deflate:1,fletcher32", "gzip:1,crc32c"}) {
      bool able = true;
      const Pipeline pipeline = parse_pipeline(codec).value();
      for (const Codec& step : pipeline) {
        const auto& known = one->abilities().codecs;
        able = able && has_library(step) &&
               std::find(known.begin(), known.end(), codec_name(step)) != known.end();
      }
      if (able) all.push_back({one, codec});
    }
  }
  return all;
}

inline array::Section steps_section(const array::Shape& shape, std::int64_t from, std::int64_t to) {
  array::Section section = array::Section::of(shape.box());
  section.start[0] = from;
  section.count[0] = to - from;
  return section;
}

// The elements of steps [from, to), numbered in the whole array.
inline std::vector<std::byte> elements_of_steps(const ExtentMap& map, std::int64_t from,
                                                std::int64_t to) {
  std::vector<std::byte> elements;
  if (from == to) return elements;
  const std::int64_t step = map.shape.elements() / map.shape.extent(0);
  for (std::int64_t number = from * step; number < to * step; ++number) {
    const auto one = test_element(map.type, number, 1);
    elements.insert(elements.end(), one.begin(), one.end());
  }
  return elements;
}

// Steps from `from` on of all arrays that grow; the room's update is the one to commit from here
// on.
inline Status write_steps(const Format& format, const std::string& path, Room& room,
                          std::int64_t from) {
  std::vector<WrittenChunk> written;
  std::int64_t steps = from;
  for (std::size_t i = 0; i < room.map.arrays.size(); ++i) {
    const StoredArray& one = room.map.arrays[i];
    if (!one.description.grows) continue;
    steps = one.map.shape.extent(0);
    const array::Section section = steps_section(one.map.shape, from, steps);
    const auto elements = elements_of_steps(one.map, from, steps);
    const auto memory =
        array::Layout::packed(section.count, one.map.type.bytes(), array::Order::row_major).value();
    DataFileCache files(DataFileCache::Use::writing);
    const EncodedChunks* const chunks = one.map.encoded();
    if (chunks == nullptr || !std::holds_alternative<EncodedTable>(chunks->places)) {
      Status status = write_section(one, section, elements.data(), memory, files);
      if (!status.ok()) return status;
      continue;
    }
    EncodedWriter writer(one.map, files, [&](std::int64_t bytes) -> Result<std::int64_t> {
      return std::exchange(room.free_from, room.free_from + bytes);
    });
    Status status = write_encoded_section(one, section, elements.data(), memory, files, writer);
    if (!status.ok()) return status;
    for (const auto& entry : writer.take_written()) {
      written.push_back({static_cast<std::int64_t>(i), entry.chunk, entry.place});
    }
  }
  auto update = format.enter_chunks(path, room, steps, written);
  if (!update) return update.error();
  room.update = std::move(update).value();
  return {};
}

// Elements that are not those that write_steps() wrote, or all where reading fails.
inline std::int64_t wrong_in_steps(const StoredArray& one) {
  const std::int64_t steps = one.map.shape.extent(0);
  auto expected = elements_of_steps(one.map, 0, steps);
  std::vector<std::byte> found(expected.size());
  DataFileCache files(DataFileCache::Use::reading);
  const array::Section section = steps_section(one.map.shape, 0, steps);
  const auto memory =
      array::Layout::packed(section.count, one.map.type.bytes(), array::Order::row_major).value();
  const Status read = read_section(one, section, found.data(), memory, files);
  if (!read.ok()) {
    ADD_FAILURE() << read.error().text();
    return one.map.shape.elements();
  }
  const auto size = static_cast<std::size_t>(one.map.type.bytes());
  std::int64_t wrong = 0;
  for (std::size_t at = 0; at < found.size(); at += size) {
    wrong += std::memcmp(found.data() + at, expected.data() + at, size) == 0 ? 0 : 1;
  }
  return wrong;
}

}  // namespace weir::storage
