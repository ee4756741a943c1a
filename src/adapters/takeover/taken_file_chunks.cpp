// Datasets of HDF5 in chunks: regions of them, which the ranks read and write alone or together.
#include <exception>
#include <optional>
#include <span>

#include "adapters/takeover/datatype_pattern.hpp"
#include "adapters/takeover/handles.hpp"
#include "adapters/takeover/own_transfer.hpp"
#include "adapters/takeover/part_vote.hpp"
#include "adapters/takeover/refused.hpp"
#include "adapters/takeover/stored_chunks.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "common/checked.hpp"
#include "system/file_facts.hpp"

namespace weir::mpiio {
namespace {

using takeover::from_handle;

// Returns a region that is a box with strides as a section; nothing if it is another one.
std::optional<array::Section> section_of(const array::Region& region) {
  array::Section section;
  for (int d = 0; d < region.dimensions(); ++d) {
    const array::IndexBlocks& along = region.along(d);
    if (!along.is_interval() && along.length() != 1) return std::nullopt;
    section.start.push_back(along.lower());
    section.count.push_back(along.size());
    section.stride.push_back(along.is_interval() ? 1 : along.stride());
  }
  return section;
}

}  // namespace

Moved TakenFile::move_in_chunks(const StoredChunks* chunks, const ChunkedBlocks& given,
                                const Transfer& transfer, Reason own) {
  const bool is_agreed = transfer.way == Way::collective;
  if (is_agreed && !is_of_taking_threads()) return {Reason::threads};
  Part part;
  PartInChunks found;
  part.reason = is_agreed && group_.is_broken() ? Reason::failed : own;
  try {
    if (part.reason == Reason::taken) {
      part.reason = find_in_chunks(*chunks, given, transfer, found, part);
    }
  } catch (const std::exception&) {  // no memory
    part.reason = Reason::memory;
  }
  Moved moved{part.reason};
  bool is_alone = true;
  if (is_agreed) {
    refuse_as_before();
    const takeover::PartVote vote(
        group_, part.reason,
        takeover::ToldArrays{.fingerprint = chunks != nullptr ? chunks->fingerprint() : 0,
                             .is_irregular = !section_of(found.region)});
    moved.reason = vote.reason();
    is_alone = vote.is_each_alone();
  }
  if (moved.reason == Reason::taken) {
    moved = is_alone ? move_region(*chunks, found, transfer, part.memory)
                     : move_sections(*chunks, found, transfer, part.memory);
  }
  end(transfer, part, moved);
  return moved;
}

Reason TakenFile::find_in_chunks(const StoredChunks& chunks, const ChunkedBlocks& given,
                                 const Transfer& transfer, PartInChunks& found, Part& part) const {
  const auto datatype = from_handle<MPI_Datatype>(transfer.datatype);
  const auto size = takeover::size_of(datatype);
  const auto region = chunks.region_of(given);
  const bool is_typed = given.memory_strides == nullptr;
  const int refusing = transfer.writing ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
  if (!region || !size || (mode_ & refusing) != 0) return Reason::arguments;
  part.bytes = chunks.bytes_of(*region);
  if (is_typed && checked_multiply(transfer.count, size->bytes) != part.bytes) {
    return Reason::arguments;
  }
  const auto end = chunks.end_of(*region);
  if (!end) return Reason::layout;
  if (!transfer.writing && transfer.way == Way::collective && *end > 0) {
    const auto facts = storage::facts_of(path_);
    if (!facts || facts.value().bytes < *end) return Reason::past_end;
  }
  const array::Indices extents = region->local_extents();
  const std::int64_t element = chunks.map().type.bytes();
  const auto layout =
      is_typed ? array::Layout::packed(extents, element, array::Order::row_major)
               : array::Layout::strided(
                     extents, element,
                     std::span(given.memory_strides, static_cast<std::size_t>(extents.size())));
  if (!layout) return Reason::arguments;
  found = {*region, layout.value()};
  if (is_typed) return find_memory(transfer, part);
  part.memory = static_cast<std::byte*>(transfer.memory);
  return Reason::taken;
}

Moved TakenFile::move_region(const StoredChunks& chunks, const PartInChunks& found,
                             const Transfer& transfer, std::byte* memory) const {
  if (found.region.empty()) return {};
  const Status done = takeover::move_region(own_, direction_of(transfer.writing),
                                            {&chunks.map(), &found.region, &*found.memory}, memory);
  if (done.ok()) return {};
  const bool has_ended = done.error().code == ErrorCode::short_transfer;
  if (has_ended && !transfer.writing && transfer.way == Way::independent) {
    return {Reason::past_end};
  }
  return {Reason::taken, takeover::class_of(done.error())};
}

Moved TakenFile::move_sections(const StoredChunks& chunks, const PartInChunks& found,
                               const Transfer& transfer, std::byte* memory) {
  aggregation::ByteFile* const file = bytes();
  if (file == nullptr) return {Reason::no_session};
  const storage::ExtentMap& map = chunks.map();
  aggregation::OpenArray& array = file->chunked(chunks.fingerprint(), map.type, *map.chunks());
  const Status done = move_section(array, direction_of(transfer.writing), *section_of(found.region),
                                   *found.memory, memory);
  return done.ok() ? Moved{} : takeover::outcome_of(done.error());
}

}  // namespace weir::mpiio
