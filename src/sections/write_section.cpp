#include "sections/write_section.hpp"

#include <fmt/format.h>

#include <memory>

#include "array/byte_swap.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_section.hpp"
#include "sections/spans.hpp"
#include "system/moved_all.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

class SpanWriter {
 public:
  SpanWriter(const StoredArray& array, const std::byte* data, DataFileCache& files, BlockSums* sums)
      : map_(array.map),
        data_(data),
        files_(files),
        sums_(sums),
        swapped_together_(map_.byte_order == ByteOrder::big ? bytes_swapped_together(map_.type)
                                                            : 1) {}

  // Returns the bytes of the elements that were written.
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool swaps() const { return swapped_together_ != 1; }

  Status take(const Span& span) {
    if (span.is_one_run() && !swaps()) {
      return write(span, data_ + span.copy.from_offset);
    }
    if (span.bytes() > capacity_) {
      capacity_ = span.bytes();
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(capacity_));
    }
    span.copy.run(data_, buffer_.get());
    array::copy_swapped(buffer_.get(), buffer_.get(), span.bytes(), swapped_together_);
    return write(span, buffer_.get());
  }

 private:
  Status write(const Span& span, const std::byte* from) {
    const auto file =
        files_.get(map_.files.path(span.file), map_.files.bytes_when_made(), map_.files.known());
    if (!file) return file.error();
    // Writing does not change the slice.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    const Slice slice{const_cast<std::byte*>(from), span.bytes()};
    if (sums_ != nullptr) sums_->add(span.file, span.begin, span.bytes(), {&slice, 1});
    Status written = files_.write(*file.value(), {&slice, 1}, span.begin);
    if (written.ok()) written_ += span.bytes();
    return written;
  }

  const ExtentMap& map_;
  const std::byte* data_;
  DataFileCache& files_;
  BlockSums* sums_;
  std::int64_t swapped_together_;
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t capacity_ = 0;
  std::int64_t written_ = 0;
};

}  // namespace

Status write_section(const StoredArray& array, const array::Section& section, const std::byte* data,
                     const array::Layout& memory, DataFileCache& files, std::int64_t buffer_bytes,
                     BlockSums* sums) {
  if (section.empty()) return {};
  if (array.map.encoded() != nullptr) {
    return write_encoded_section(array, section, data, memory, files);
  }
  SpanWriter writer(array, data, files, sums);
  // A run whose bytes must be swapped is copied through the buffer like all others.
  const SpanLimits limits{.most_bytes = buffer_bytes, .long_runs = !writer.swaps()};
  const SpanCutter cutter(SpanUse::writing, memory, limits,
                          [&](const Span& span) { return writer.take(span); });
  Status status = for_each_part(array.map, section, [&](const StoredPart& part) -> Status {
    if (part.layout) return cutter.cut(part.file, *part.layout, part.section, part.memory_at);
    return invalid_argument(
        fmt::format("array \"{}\" has a chunk without a place in the file: it can be read only",
                    printable(array.description.name)));
  });
  if (!status.ok()) return status;
  return moved_all(section.elements() * array.map.type.bytes(), writer.written(),
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
