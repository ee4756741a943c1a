#include "formats/known_layout.hpp"

#include <utility>

#include "formats/new_file.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

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

}  // namespace

Result<Room> KnownLayout::lay_out(const Format& format, const FileDescription& file,
                                  const std::string& path) {
  if (format_ == &format && file_ == file) {
    if (Status made = make_file(path, file.striping, bytes_); !made.ok()) return made.error();
    Room room = room_;
    const DataFiles files = DataFiles::one(incomplete_path(path));
    for (StoredArray& one : room.map.arrays) one.map.files = files;
    return room;
  }
  auto room = format.lay_out(file, path);
  if (!room || !room.value().laid_out) return room;
  format_ = &format;
  file_ = file;
  bytes_ = *std::exchange(room.value().laid_out, std::nullopt);
  room_ = room.value();
  return room;
}

}  // namespace weir::storage
