#include "formats/hdf5/header_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/page.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// The parts of a commit, in their order.
enum class Part : std::uint8_t {
  new_block,
  heap,  // of texts and references: gets entries to which nothing refers yet
  superblock,
  array_data,  // of an extensible array: these hold most data, and the next parts refer to them
  array_super,
  array_index,
  array_header,
  object_header,
};

struct Block {
  Part part = Part::new_block;
  std::int64_t offset = 0;
  std::vector<std::byte> bytes;
};

// Returns the group of a part in a commit. The order of parts in one group need not survive a crash
// of the system.
int group_of(Part part, Hdf5Commit kind) {
  if (part == Part::new_block || part == Part::heap) return 0;
  const bool adds = kind == Hdf5Commit::of_more_steps;
  if (part == Part::object_header) return adds ? 3 : 1;
  // The library refuses places behind the end that the superblock states.
  if (part == Part::superblock) return adds ? 1 : 3;
  return 2;
}

std::string_view signature(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(4, bytes.size())};
}

// Returns the part by the signatures of the HDF5 File Format Specification.
std::optional<Part> part_of(std::string_view signature) {
  if (signature == "EADB") return Part::array_data;
  if (signature == "EASB") return Part::array_super;
  if (signature == "EAIB") return Part::array_index;
  if (signature == "EAHD") return Part::array_header;
  if (signature == "GCOL") return Part::heap;
  if (signature == "\211HDF") return Part::superblock;
  if (signature == "OHDR" || signature == "OCHK") return Part::object_header;
  return std::nullopt;
}

// Returns the bytes on disk at a place, zeros behind the file's end.
Result<std::vector<std::byte>> bytes_at(const File& file, std::int64_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  const Slice slice{bytes.data(), static_cast<std::int64_t>(count)};
  std::int64_t read = 0;
  std::int64_t calls = 0;
  Status status = read_slices(file, {&slice, 1}, offset, read, calls);
  if (!status.ok()) return status.error();
  return bytes;
}

std::int64_t page_of(const Block& block) { return block.offset / page_bytes; }

bool in_one_page(const Block& block) {
  return block.offset % page_bytes + static_cast<std::int64_t>(block.bytes.size()) <= page_bytes;
}

// Combines the object headers of a page into one write. The bytes between them are kept.
void join(const Block& next, HeaderWrite& write) {
  const std::size_t first = write.bytes.size();
  const auto from = static_cast<std::size_t>(next.offset - write.offset);
  if (from > first) write.kept.push_back({first, from - first});
  write.bytes.resize(from);
  write.bytes.insert(write.bytes.end(), next.bytes.begin(), next.bytes.end());
}

}  // namespace

Result<std::vector<HeaderChange>> hdf5_header_changes(const Hdf5Blocks& caught,
                                                      const std::string& path,
                                                      std::int64_t committed, Hdf5Commit kind) {
  const auto file = File::open(path, {});
  if (!file) return file.error();
  std::vector<Block> blocks;
  for (const auto& [offset, bytes] : caught) {
    Block block{Part::new_block, offset, bytes};
    if (offset < committed) {
      const auto now = bytes_at(file.value(), offset, bytes.size());
      if (!now) return now.error();
      if (now.value() == bytes) continue;
      const auto part = part_of(signature(bytes));
      // Pages of a large array's data have no signature, and none in the file either.
      const bool alike =
          part ? signature(now.value()) == signature(bytes) : !part_of(signature(now.value()));
      if (!alike) {
        return Error(
            ErrorCode::unsupported,
            fmt::format("HDF5 would overwrite the block at {}, so a killed run could lose steps; "
                        "copy the file with h5repack or weir convert, and add to the copy",
                        offset),
            path);
      }
      block.part = part.value_or(Part::array_data);
    }
    blocks.push_back(std::move(block));
  }
  std::stable_sort(blocks.begin(), blocks.end(), [kind](const Block& a, const Block& b) {
    return std::pair(group_of(a.part, kind), a.part) < std::pair(group_of(b.part, kind), b.part);
  });

  std::vector<HeaderChange> changes;
  Part before = Part::new_block;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& one = blocks[i];
    if (group_of(before, kind) != group_of(one.part, kind)) {
      changes.emplace_back(DurabilityPoint{});
    }
    before = one.part;
    HeaderWrite write{one.offset, one.bytes};
    if (one.part == Part::object_header && in_one_page(one)) {
      while (i + 1 < blocks.size() && in_one_page(blocks[i + 1]) &&
             page_of(blocks[i + 1]) == page_of(one)) {
        join(blocks[++i], write);
      }
    }
    changes.emplace_back(std::move(write));
  }
  return changes;
}

}  // namespace weir::storage
