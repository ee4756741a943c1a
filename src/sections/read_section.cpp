#include "sections/read_section.hpp"

#include <utility>
#include <vector>

#include "sections/cached_files.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_section.hpp"
#include "sections/file_copier.hpp"
#include "system/moved_all.hpp"

namespace weir::storage {

Status read_section(const StoredArray& array, const array::Section& section, std::byte* data,
                    const array::Layout& memory, DataFileCache& files, std::int64_t buffer_bytes,
                    SectionVerifier* verifier, DecodedChunks* kept) {
  if (section.empty()) return {};
  if (!memory.elements_are_apart()) {
    return invalid_argument("elements of the memory to read into overlap: give other strides");
  }
  if (array.map.encoded() != nullptr) {
    return read_encoded_section(array, section, data, memory, files, kept);
  }
  CachedFiles cached(array.map, files, verifier, nullptr);
  const std::vector<std::byte>& fill = array.description.fill;
  FileCopyOptions options{.direction = Direction::read,
                          .swapped_together = array.map.swapped_together(),
                          .most_bytes = buffer_bytes,
                          .keeps_holes = verifier != nullptr};
  if (std::cmp_equal(fill.size(), array.map.type.bytes())) options.fill = fill;
  FileCopier copier(cached, options);
  Status status = for_each_part(array.map, section, [&](const StoredPart& part) -> Status {
    if (part.section.empty()) return {};
    if (part.layout) {
      return copier.move(
          part.file, copy_from_memory(part.section, *part.layout, part.memory_at, memory), data);
    }
    const array::UniformRegion target = array::uniform_box({part.memory_at, part.section.count});
    copier.fill(array::StridedCopy::between(target, memory, target, memory), data);
    return {};
  });
  if (status.ok()) status = copier.end();
  if (status.ok()) {
    status = moved_all(section.elements() * array.map.type.bytes(),
                       copier.account().moved + copier.account().filled, array.map.files.path(0));
  }
  return status.ok() && verifier != nullptr ? verifier->end() : status;
}

}  // namespace weir::storage
