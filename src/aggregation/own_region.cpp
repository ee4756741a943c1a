#include "aggregation/own_region.hpp"

#include <fmt/format.h>

#include <utility>

#include "sections/read_section.hpp"
#include "sections/write_section.hpp"

namespace weir::aggregation {
namespace {

using array::Indices;
using array::Section;

// Returns an error with the reason if this rank cannot write by itself now.
Status check_written_alone(const OpenArray& file, bool has_sums) {
  if (!file.writable()) {
    return invalid_argument("the array is open read-only: open it for writing", file.path());
  }
  if (!file.refusal().empty()) {
    return invalid_argument(file.refusal(), file.path());
  }
  if (file.encoded() != nullptr) {
    return Error(ErrorCode::unsupported,
                 "ranks share encoded chunks, so one rank alone cannot write them: write the "
                 "region collectively",
                 file.path());
  }
  if (has_sums) {
    return Error(ErrorCode::unsupported,
                 "ranks share blocks with checksums, so one rank alone cannot write them: write "
                 "the region collectively, without strides",
                 file.path());
  }
  return {};
}

// Returns the region in the indices of the stored array, of which it may be one step.
Result<Section> in_stored(const OpenArray& file, const Section& region) {
  if (!file.origin().grows) return region;
  if (!file.step()) {
    return invalid_argument("the file has no step to read or write: begin a step first",
                            file.path());
  }
  Section stored{{*file.step()}, {1}, {1}};
  // An array of one number per step has the shape {1} in memory and no second dimension.
  for (int d = 0; d < file.stored().map.shape.dimensions() - 1; ++d) {
    stored.start.push_back(region.start[d]);
    stored.count.push_back(region.count[d]);
    stored.stride.push_back(region.stride[d]);
  }
  return stored;
}

// Returns the layout of the memory with the dimensions of the stored array.
Result<array::Layout> layout_in_stored(const OpenArray& file, const array::Layout& layout) {
  if (!file.origin().grows) return layout;
  Indices extents{1};
  Indices strides{layout.element_bytes()};
  for (int d = 0; d < file.stored().map.shape.dimensions() - 1; ++d) {
    extents.push_back(layout.extents()[d]);
    strides.push_back(layout.stride(d));
  }
  return array::Layout::strided(extents, layout.element_bytes(),
                                std::span(strides.begin(), strides.end()),
                                layout.offset_of(Indices(layout.dimensions())));
}

}  // namespace

Status move_alone(OpenArray& file, Direction direction, const Section& region,
                  const MemoryPiece& memory) {
  if (file.closed()) return invalid_argument("the array is not open");
  const bool writing = direction == Direction::write;
  if (file.writable() && !file.origin().targets.coherent_caches) {
    return Error(
        ErrorCode::unsupported,
        "on its file system (NFS or similar) nodes do not see each other's writes, so one node "
        "moves the data of all: move the region collectively, or open the array read-only",
        file.path());
  }
  if (writing) {
    if (Status possible = check_written_alone(file, file.sums().written() != nullptr);
        !possible.ok()) {
      return possible;
    }
  } else if (file.has_chunk_table() && file.has_places()) {
    return invalid_argument("encoded chunks of a step cannot be read before the step has ended",
                            file.path());
  } else if (file.has_late_places()) {
    return invalid_argument(
        "a stager has encoded the last step's chunks, and the ranks do not know yet where they are "
        "in the file: call weir_file_step_wait(), or a collective read, before a rank reads alone",
        file.path());
  }
  if (region.empty()) return {};
  if (writing) file.begin_writing(OpenArray::Writers::this_rank);
  const auto section = in_stored(file, region);
  if (!section) return section.error();
  const auto layout = layout_in_stored(file, *memory.layout);
  if (!layout) return layout.error();
  Status moved;
  if (writing) {
    StepAccount* const account = file.origin().account.get();
    const std::int64_t bytes = region.elements() * file.type().bytes();
    if (account != nullptr) account->ask(bytes);
    moved = storage::write_section(file.stored(), section.value(), memory.data, layout.value(),
                                   file.files_alone(direction));
    if (moved.ok() && file.origin().sync_each) moved = file.sync();
    if (!moved.ok()) {
      file.set_failed();
    } else if (account != nullptr) {
      account->store(bytes);
    }
    return moved;
  }
  storage::DataFileCache& files = file.files_alone(direction);
  const auto known = file.encoded() == nullptr ? file.sums().known() : nullptr;
  if (known == nullptr) {
    return storage::read_section(file.stored(), section.value(), memory.data, layout.value(),
                                 files);
  }
  storage::SectionVerifier verifier(file.stored(), known, *file.sums().known_of(), files,
                                    storage::VerifiedBlocks::covered);
  return storage::read_section(file.stored(), section.value(), memory.data, layout.value(), files,
                               storage::serial_buffer_bytes, &verifier);
}

}  // namespace weir::aggregation
