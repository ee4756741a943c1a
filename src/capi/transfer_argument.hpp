// Converts the transfers of a request, or a rank's own region, into what the collective layer
// takes: arrays, sections, and one layout for each piece of the rank's memory.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregation/collective.hpp"
#include "array/element_type.hpp"
#include "array/layout.hpp"
#include "array/section.hpp"
#include "capi/outcome.hpp"
#include "capi/session.hpp"
#include "plan/request.hpp"
#include "weir/weir.h"

namespace weir::capi {

// A rank's memory that is packed and has no ghost cells, without its address.
struct PackedMemory {
  const weir_distribution* distribution = nullptr;
  const char* data_type = nullptr;
  array::ElementType type;
  std::int64_t data_bytes = 0;
  std::int32_t order = WEIR_ROW_MAJOR;

  friend bool operator==(const PackedMemory&, const PackedMemory&) = default;
};

// Data that a request needs until it has ended, copied from the caller's structs. Successive
// transfers mostly have the same distribution, section and layout, which are then kept once.
struct Content {
  std::vector<aggregation::ArrayPart> parts;
  std::vector<aggregation::MemoryPiece> pieces;  // pieces of all parts
  std::vector<std::size_t> first_pieces;         // first piece of each part
  std::deque<array::Layout> layouts;
  std::deque<array::Section> sections;
  std::deque<plan::SharedDistribution> distributions;
  const weir_array* last_array = nullptr;
  const weir_distribution* last_distribution = nullptr;
  std::optional<PackedMemory> last_memory;  // the last memory that was checked, if it was packed
                                            // and had one piece
  // Replaces the caller's memory after leave_callers_memory().
  std::vector<std::unique_ptr<std::byte[]>> own_memory;  // NOLINT(modernize-avoid-c-arrays)

  // Assigns to each part its pieces. Called when all parts are complete.
  void give_pieces() {
    for (std::size_t number = 0; number < parts.size(); ++number) {
      const std::size_t end = number + 1 < parts.size() ? first_pieces[number + 1] : pieces.size();
      parts[number].pieces =
          std::span(pieces).subspan(first_pieces[number], end - first_pieces[number]);
    }
  }

  // Lets the request continue with memory of its own; the caller's memory is neither read nor
  // written again. Data still to be written is copied; data that is read is discarded. May be
  // called between any two steps of the request, because each step uses `pieces` anew. On failure
  // nothing has changed.
  [[nodiscard]] Outcome leave_callers_memory(Direction direction);
};

struct GivenTransfers {
  const char* call;
  Direction direction;
  std::int32_t count;
  const weir_transfer* transfers;
};

// Reads all of a transfer except this rank's memory. `part` refers to `content`.
[[nodiscard]] Outcome read_asked(const weir_session& session, const weir_transfer& transfer,
                                 Direction direction, Content& content,
                                 aggregation::ArrayPart& part);

[[nodiscard]] Outcome read_transfers(weir_session& session, const GivenTransfers& given,
                                     Content& content);

// Sets `region` to the requested section and `content` to one piece of memory with the same
// extents. If `given` is null, this rank requests nothing.
[[nodiscard]] Outcome read_region(const weir_array& array, const weir_region* given,
                                  Direction direction, Content& content, array::Section& region);

// Reads each of the transfers by `read`. An error names the transfer that was refused.
template <typename Read>
[[nodiscard]] Outcome read_each(const GivenTransfers& given, Read read_one) {
  if (given.count < 1) {
    return bad_argument(fmt::format("{}: count is {}: give 1 or more", given.call, given.count));
  }
  if (given.transfers == nullptr) return null_argument(given.call, "transfers");
  for (std::int32_t number = 0; number < given.count; ++number) {
    auto read = read_one(given.transfers[number]);
    if (read.ok()) continue;
    const std::string which = given.count == 1 ? "" : fmt::format("transfers[{}]: ", number);
    read.text.insert(0, fmt::format("{}: {}", given.call, which));
    return read;
  }
  return {};
}

}  // namespace weir::capi
