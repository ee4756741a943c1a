#include "sections/chunk_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "array/chunk_grid.hpp"
#include "array/layout.hpp"
#include "checksums/file_state.hpp"
#include "codecs/codec_steps.hpp"
#include "common/numbers_in_bytes.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/encoded_array.hpp"

namespace weir::storage {
namespace {

using Bytes = std::vector<std::byte>;

// The length of a step's result is not known beforehand, so the room is increased until the result
// fits.
Result<Bytes> decoded(const Codec& codec, const CodecStep& step, const Bytes& from) {
  constexpr std::int64_t least_room = std::int64_t{64} << 10;
  std::int64_t room = std::clamp(4 * std::ssize(from), least_room, most_text_chunk_bytes);
  for (;;) {
    Bytes to(static_cast<std::size_t>(room));
    const auto bytes = std::visit(
        [&](const auto& one) {
          return decode_step(one, step, std::span(from), std::span<std::byte>(to));
        },
        codec);
    if (bytes) {
      to.resize(static_cast<std::size_t>(bytes.value()));
      return to;
    }
    if (room == most_text_chunk_bytes) return bytes.error();
    room = std::min(4 * room, most_text_chunk_bytes);
  }
}

class TextChunks {
 public:
  TextChunks(const StoredTexts& texts, DataFileCache& files)
      : map_(texts.array.map), files_(files), form_(chunk_form(map_)) {}

  // Returns the decoded bytes of the chunk, or nothing if it is in no file.
  Result<std::optional<Bytes>> read(std::int64_t chunk) {
    const auto place = map_.encoded()->place_of(chunk);
    if (!place) return std::optional<Bytes>();
    auto bytes = load(*place);
    if (!bytes) return with_chunk(bytes.error(), chunk, *place);
    if (!bytes.value()) return bytes;
    const CodecStep step{form_, context_};
    const Pipeline& pipeline = map_.encoded()->pipeline;
    for (std::size_t i = pipeline.size(); i-- > 0;) {
      auto to = decoded(pipeline[i], step, *bytes.value());
      if (!to) return with_chunk(to.error(), chunk, *place);
      bytes = std::optional(std::move(to).value());
    }
    return bytes;
  }

  [[nodiscard]] Error with_chunk(Error error, std::int64_t chunk, const EncodedPlace& place) const {
    error.message = fmt::format("chunk {}: {}", chunk, error.message);
    if (error.file.empty()) error.file = map_.files.path(place.file);
    if (error.offset < 0) error.offset = place.offset;
    return error;
  }

 private:
  Result<std::optional<Bytes>> load(const EncodedPlace& place) {
    const auto file = files_.get(map_.files.path(place.file), 0, map_.files.known());
    if (!file && file.error().system_error == ENOENT) return std::optional<Bytes>();
    if (!file) return file.error();
    const auto state = state_of_file(file.value()->descriptor());
    if (!state) return system_failure("stat", file.value()->path(), -1, errno);
    const std::int64_t bytes = place.bytes >= 0 ? place.bytes : state->bytes - place.offset;
    if (bytes < 0 || place.offset < 0 || place.offset > state->bytes ||
        bytes > state->bytes - place.offset) {
      return Error(ErrorCode::corrupt, "it lies outside its file");
    }
    if (bytes > most_text_chunk_bytes) {
      return Error(ErrorCode::corrupt,
                   fmt::format("it has {} bytes, more than the {} that are read of one with texts",
                               bytes, most_text_chunk_bytes));
    }
    Bytes all(static_cast<std::size_t>(bytes));
    if (bytes == 0) return std::optional(std::move(all));
    const Slice slice{all.data(), bytes};
    std::int64_t moved = 0;
    Status read = files_.read(*file.value(), {&slice, 1}, place.offset, moved);
    if (!read.ok()) return read.error();
    if (moved < bytes) return Error(ErrorCode::corrupt, "its file has become shorter");
    return std::optional(std::move(all));
  }

  const ExtentMap& map_;
  DataFileCache& files_;
  ChunkForm form_;
  CodecContext context_;
};

// Calls visit(index) for each index below `count`, in row-major order.
template <typename Visit>
void for_each_index(const array::Indices& count, const Visit& visit) {
  array::Indices index(count.size());
  for (;;) {
    visit(index);
    int d = count.size() - 1;
    while (d >= 0 && ++index[d] == count[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

}  // namespace

std::optional<std::vector<std::string_view>> parse_text_chunk(std::span<const std::byte> chunk,
                                                              std::int64_t count) {
  constexpr std::size_t length_bytes = 4;
  const auto fits = static_cast<std::int64_t>(chunk.size() / length_bytes) > count;
  if (!fits || number_at<std::uint32_t>(chunk) != static_cast<std::uint64_t>(count))
    return std::nullopt;
  std::vector<std::string_view> texts;
  texts.reserve(static_cast<std::size_t>(count));
  std::size_t at = length_bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    if (chunk.size() - at < length_bytes) return std::nullopt;
    const std::size_t bytes = number_at<std::uint32_t>(chunk, at);
    at += length_bytes;
    if (chunk.size() - at < bytes) return std::nullopt;
    texts.emplace_back(reinterpret_cast<const char*>(chunk.data() + at), bytes);
    at += bytes;
  }
  return at == chunk.size() ? std::optional(std::move(texts)) : std::nullopt;
}

Result<Texts> read_chunk_texts(const StoredTexts& texts, const array::Section& section,
                               DataFileCache& files) {
  const ExtentMap& map = texts.array.map;
  const EncodedChunks& encoded = *map.encoded();
  const auto in_chunk = array::Layout::packed(encoded.stored_extents, 1, map.order);
  if (!in_chunk) return in_chunk.error();
  const auto in_result = array::Layout::packed(section.count, 1, array::Order::row_major);
  if (!in_result) return in_result.error();
  const std::int64_t count =
      array::Box{array::Indices(encoded.stored_extents.size()), encoded.stored_extents}.elements();
  if (Status fine = check_pipeline(encoded.pipeline, chunk_form(map)); !fine.ok()) {
    return fine.error();
  }
  TextChunks chunks(texts, files);
  TextList found(section.elements());
  array::ChunksMeeting meeting(encoded.grid, array::Region(section));
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const auto bytes = chunks.read(chunk);
    if (!bytes) return bytes.error();
    std::vector<std::string_view> stored;
    if (bytes.value()) {
      auto parsed = parse_text_chunk(*bytes.value(), count);
      if (!parsed) {
        return chunks.with_chunk(
            Error(ErrorCode::corrupt,
                  fmt::format("it does not hold {} texts: it is damaged", count)),
            chunk, *encoded.place_of(chunk));
      }
      stored = *std::move(parsed);
    }
    const StoredPart part = part_in_box(section, encoded.grid.box(chunk));
    for_each_index(part.section.count, [&](const array::Indices& index) {
      array::Indices from = part.section.start;
      array::Indices to = part.memory_at;
      for (int d = 0; d < index.size(); ++d) {
        from[d] += index[d] * part.section.stride[d];
        to[d] += index[d];
      }
      const std::int64_t number = in_result.value().offset_of(to);
      if (bytes.value()) {
        found.put(number, stored[static_cast<std::size_t>(in_chunk.value().offset_of(from))]);
      } else {
        found.put(number, texts.fill);
      }
    });
  }
  return found.in_order(TextList::Zeros::are_text);
}

}  // namespace weir::storage
