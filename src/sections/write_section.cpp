#include "sections/write_section.hpp"

#include <fmt/format.h>

#include <vector>

#include "sections/cached_files.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_section.hpp"
#include "sections/file_copier.hpp"
#include "system/moved_all.hpp"

namespace weir::storage {
Status write_section(const StoredArray& array, const array::Section& section, const std::byte* data,
                     const array::Layout& memory, DataFileCache& files, std::int64_t buffer_bytes,
                     BlockSums* sums) {
  if (section.empty()) return {};
  if (array.map.encoded() != nullptr) {
    return write_encoded_section(array, section, data, memory, files);
  }
  CachedFiles cached(array.map, files, nullptr, sums);
  FileCopier copier(cached, {.direction = Direction::write,
                             .swapped_together = array.map.swapped_together(),
                             .most_bytes = buffer_bytes});
  // Writing does not change the memory.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto* const from = const_cast<std::byte*>(data);
  Status status = for_each_part(array.map, section, [&](const StoredPart& part) -> Status {
    if (part.section.empty()) return {};
    if (part.layout) {
      return copier.move(
          part.file, copy_from_memory(part.section, *part.layout, part.memory_at, memory), from);
    }
    return invalid_argument(
        fmt::format("array \"{}\" has a chunk without a place in the file: it can be read only",
                    printable(array.description.name)));
  });
  if (status.ok()) status = copier.end();
  if (!status.ok()) return status;
  return moved_all(section.elements() * array.map.type.bytes(), copier.account().moved,
                   array.map.files.path(0));
}

Status write_fill(const StoredArray& array, const array::Section& section, DataFileCache& files) {
  const auto bytes = static_cast<std::size_t>(array.map.type.bytes());
  std::vector<std::byte> element = array.description.fill;
  if (element.size() != bytes) element.assign(bytes, std::byte{0});
  // All elements of this layout are one element in memory.
  const std::vector<std::int64_t> strides(static_cast<std::size_t>(section.dimensions()), 0);
  const auto memory = array::Layout::strided(section.count, array.map.type.bytes(), strides);
  if (!memory) return memory.error();
  return write_section(array, section, element.data(), memory.value(), files);
}

}  // namespace weir::storage
