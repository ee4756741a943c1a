#include "formats/known_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "formats/new_file.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_known_layouts = 4;

Status make_file(const std::string& path, const Striping& striping, LaidOutBytes& bytes) {
  auto made = make_incomplete_file(path, striping);
  if (!made) return made.error();
  File& file = made.value();
  std::int64_t calls = 0;
  for (LaidOutBytes::Block& one : bytes.blocks) {
    const Slice slice{one.bytes.data(), static_cast<std::int64_t>(one.bytes.size())};
    Status written = write_slices(file, {&slice, 1}, one.offset, calls);
    if (!written.ok()) return written;
  }
  if (Status cut = file.set_length(bytes.length); !cut.ok()) return cut;
  return file.close();
}

bool are_same_numbers(const std::vector<Attribute>& a, const std::vector<Attribute>& b) {
  return std::ranges::equal(a, b, [](const Attribute& one, const Attribute& other) {
    return std::ranges::equal(number_bytes(one.value), number_bytes(other.value));
  });
}

// Zero and minus zero are equal numbers, but not the same bytes in the file.
bool is_same(const FileDescription& a, const FileDescription& b) {
  const auto are_same = [](const auto& one, const auto& other) {
    return are_same_numbers(one.attributes, other.attributes);
  };
  return a == b && std::ranges::equal(a.arrays, b.arrays, are_same) &&
         std::ranges::equal(a.groups, b.groups, are_same);
}

}  // namespace

Result<Room> KnownLayout::lay_out(const Format& format, const FileDescription& file,
                                  const std::string& path) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& one) { return one.format == &format && is_same(one.file, file); });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    if (Status made = make_file(path, file.striping, found->bytes); !made.ok()) return made.error();
    Room room = found->room;
    const DataFiles files = DataFiles::one(incomplete_path(path));
    for (StoredArray& one : room.map.arrays) one.map.files = files;
    return room;
  }
  auto room = format.lay_out(file, path);
  if (!room || !room.value().laid_out) return room;
  LaidOutBytes bytes = *std::exchange(room.value().laid_out, std::nullopt);
  known_.push_front(
      {.format = &format, .file = file, .room = room.value(), .bytes = std::move(bytes)});
  if (known_.size() > most_known_layouts) known_.pop_back();
  return room;
}

}  // namespace weir::storage
