#include "sections/read_section.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "array/byte_swap.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_section.hpp"
#include "sections/spans.hpp"
#include "stored/read_range.hpp"
#include "system/moved_all.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// Spans of one file with at most this distance between them are read together.
constexpr std::int64_t read_across = std::int64_t{8} << 10;
// Maximum number of spans that are read together; each takes a few hundred bytes of memory.
constexpr std::size_t most_together = 1024;
// Runs of at least this length are read directly into the caller's memory.
constexpr std::int64_t straight_from = std::int64_t{64} << 10;

void fill_target(const array::StridedCopy& copy, const std::vector<std::byte>& element,
                 std::byte* data) {
  const auto size = static_cast<std::int64_t>(element.size());
  for_each_target_run(copy, [&](std::int64_t offset, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += size) {
      std::memcpy(data + offset + at, element.data(), element.size());
    }
  });
}

// Reads spans into memory. Small spans that are close together are read by one call.
class SpanReader {
 public:
  SpanReader(const StoredArray& array, std::byte* data, DataFileCache& files,
             std::int64_t buffer_bytes, SectionVerifier* verifier)
      : map_(array.map),
        data_(data),
        files_(files),
        buffer_bytes_(buffer_bytes),
        verifier_(verifier),
        swapped_together_(map_.byte_order == ByteOrder::big ? bytes_swapped_together(map_.type)
                                                            : 1),
        fill_(array.description.fill) {
    if (std::cmp_not_equal(fill_.size(), map_.type.bytes())) {
      fill_.assign(static_cast<std::size_t>(map_.type.bytes()), std::byte{0});
    }
  }

  Status take(const Span& span) {
    if (!waiting_.empty()) {
      const Span& last = waiting_.back();
      const bool near = span.file == last.file && span.begin >= last.end &&
                        span.begin - last.end <= read_across &&
                        span.end - waiting_.front().begin <= buffer_bytes_ &&
                        waiting_.size() < most_together;
      if (near) {
        waiting_.push_back(span);
        return {};
      }
      if (Status status = flush(); !status.ok()) return status;
    }
    if (span.is_one_run() && span.bytes() >= std::min(straight_from, buffer_bytes_)) {
      return read_straight(span);
    }
    waiting_.push_back(span);
    return {};
  }

  Status flush() {
    if (waiting_.empty()) return {};
    const std::int64_t begin = waiting_.front().begin;
    const std::int64_t bytes = waiting_.back().end - begin;
    if (bytes > capacity_) {
      capacity_ = std::max(bytes, std::min(2 * capacity_, buffer_bytes_));
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(capacity_));
    }
    bool there = false;
    Status status = read(waiting_.front().file, begin, bytes, buffer_.get(), there);
    for (const Span& span : waiting_) {
      if (!status.ok()) break;
      if (there) {
        span.copy.run(buffer_.get() + (span.begin - begin), data_);
        swap(span.copy);
        given_ += span.copy.runs() * span.copy.bytes;
      } else {
        fill(span.copy);
      }
    }
    waiting_.clear();
    return status;
  }

  void fill(const array::StridedCopy& copy) {
    fill_target(copy, fill_, data_);
    given_ += copy.runs() * copy.bytes;
  }
  // Returns the bytes of memory that were read or filled.
  [[nodiscard]] std::int64_t given() const { return given_; }

 private:
  Status read_straight(const Span& span) {
    bool there = false;
    Status status = read(span.file, span.begin, span.bytes(), data_ + span.copy.to_offset, there);
    if (!status.ok()) return status;
    if (there) {
      swap(span.copy);
      given_ += span.bytes();
    } else {
      fill(span.copy);
    }
    return {};
  }

  void swap(const array::StridedCopy& copy) {
    if (swapped_together_ == 1) return;
    for_each_target_run(copy, [&](std::int64_t offset, std::int64_t bytes) {
      array::copy_swapped(data_ + offset, data_ + offset, bytes, swapped_together_);
    });
  }

  // Sets `there` to false if the file does not exist and may be missing.
  Status read(std::int64_t number, std::int64_t offset, std::int64_t bytes, std::byte* to,
              bool& there) {
    const Slice slice{to, bytes};
    const auto found = read_range(map_, files_, number, offset, slice);
    if (!found) return found.error();
    there = found.value();
    if (verifier_ == nullptr) return {};
    return there ? verifier_->has_read(number, offset, slice) : verifier_->is_missing(number);
  }

  const ExtentMap& map_;
  std::byte* data_;
  DataFileCache& files_;
  std::int64_t buffer_bytes_;
  SectionVerifier* verifier_;
  std::int64_t swapped_together_;
  std::vector<std::byte> fill_;
  std::vector<Span> waiting_;
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t capacity_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace

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
  SpanReader reader(array, data, files, buffer_bytes, verifier);
  const SpanCutter cutter(SpanUse::reading, memory, {.most_bytes = buffer_bytes},
                          [&](const Span& span) { return reader.take(span); });
  Status status = for_each_part(array.map, section, [&](const StoredPart& part) -> Status {
    if (part.layout) return cutter.cut(part.file, *part.layout, part.section, part.memory_at);
    const array::UniformRegion target = array::uniform_box({part.memory_at, part.section.count});
    reader.fill(array::StridedCopy::between(target, memory, target, memory));
    return {};
  });
  if (status.ok()) status = reader.flush();
  if (status.ok()) {
    status = moved_all(section.elements() * array.map.type.bytes(), reader.given(),
                       array.map.files.path(0));
  }
  return status.ok() && verifier != nullptr ? verifier->end() : status;
}

}  // namespace weir::storage
