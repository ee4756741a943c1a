// The calls of include/weir/files.h.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "files/description_json.hpp"
#include "files/version.hpp"
#include "storage/check/unfinished.hpp"
#include "storage/encoded/encoded_section.hpp"
#include "storage/encoded/encoded_writer.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/header_update.hpp"
#include "storage/formats/incomplete.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/serial/open_any.hpp"
#include "storage/serial/read_section.hpp"
#include "storage/serial/write_section.hpp"
#include "storage/sums/verification.hpp"
#include "weir/files.h"

using weir::Error;
using weir::ErrorCode;
using weir::Result;
using weir::Status;
using weir::array::Layout;
using weir::array::Section;
using weir::storage::DataFileCache;
using weir::storage::StoredArray;

struct weir_files {
  weir_files(std::string opened_path, std::string_view format_name, weir::storage::FileMap opened,
             DataFileCache::Use use)
      : path(std::move(opened_path)),
        format(format_name),
        map(std::move(opened)),
        description(weir::files::description_json(format, map)),
        data_files(use) {
    for (const StoredArray& one : map.arrays) type_names.push_back(one.description.type.name());
  }
  weir_files(const weir_files&) = delete;
  weir_files& operator=(const weir_files&) = delete;
  ~weir_files() {
    if (unpublished) weir::storage::remove_incomplete(path);
  }

  std::string path;
  std::string format;
  weir::storage::FileMap map;
  std::string description;
  std::vector<std::string> type_names;
  DataFileCache data_files;
  std::once_flag looked_for_sums;
  std::optional<weir::storage::Verification> verification;

  // ---- Of a file that is being made, until it is committed ----

  std::optional<weir::storage::HeaderUpdate> unpublished;
  std::mutex mutex;
  // Where encoded chunks go whose places are a table, and those that are there.
  std::int64_t free_from = -1;
  std::vector<weir::storage::WrittenChunk> written;
};

namespace {

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return WEIR_FILES_E_ARGUMENT;
    case ErrorCode::corrupt:
      return WEIR_FILES_E_CORRUPT;
    case ErrorCode::insufficient:
      return WEIR_FILES_E_MEMORY;
    case ErrorCode::unsupported:
      return WEIR_FILES_E_UNSUPPORTED;
    default:
      return WEIR_FILES_E_IO;
  }
}

std::string& kept_text() {
  thread_local std::string text;
  return text;
}

int report(const Error& error) {
  kept_text() = error.text();
  return code_of(error.code);
}

// Runs a call that gives a Status. No exception reaches a C program: all that can be thrown is that
// there is no memory.
template <typename Call>
int reported(const Call& call) {
  try {
    const Status status = call();
    return status.ok() ? WEIR_FILES_OK : report(status.error());
  } catch (const std::exception& thrown) {
    Error error =
        weir::invalid_argument(fmt::format("not enough memory for this call ({})", thrown.what()));
    error.code = ErrorCode::insufficient;
    return report(error);
  }
}

Error no_handle() { return weir::invalid_argument("the file is null or was closed"); }

// Null, and reported, when there is no such array.
const StoredArray* array_of(const weir_files* file, std::int64_t array) {
  if (file == nullptr) {
    report(no_handle());
    return nullptr;
  }
  const auto& arrays = file->map.arrays;
  if (array < 0 || std::cmp_greater_equal(array, arrays.size())) {
    report(weir::invalid_argument(
        fmt::format("there is no array number {}: the file has {}", array, arrays.size())));
    return nullptr;
  }
  return &arrays[static_cast<std::size_t>(array)];
}

struct Request {
  Section section;
  Layout memory;
};

Result<Request> request_of(const StoredArray& stored, const int64_t* start, const int64_t* count,
                           const int64_t* stride, const void* data, const int64_t* strides) {
  const auto& shape = stored.description.shape;
  const auto dimensions = static_cast<std::size_t>(shape.dimensions());
  if ((start == nullptr) != (count == nullptr)) {
    return weir::invalid_argument("give both start and count, or neither for the whole array");
  }
  const weir::array::Indices zeros(shape.dimensions());
  const weir::array::Indices ones(shape.dimensions(), 1);
  const auto given = [&](const int64_t* numbers, const weir::array::Indices& otherwise) {
    return numbers != nullptr ? std::span(numbers, dimensions)
                              : std::span<const int64_t>(otherwise.begin(), otherwise.end());
  };
  const auto section = Section::create(shape, given(start, zeros), given(count, shape.extents()),
                                       given(stride, ones));
  if (!section) return section.error();
  const std::int64_t bytes = stored.description.type.bytes();
  auto memory = strides != nullptr
                    ? Layout::strided(section.value().count, bytes, std::span(strides, dimensions))
                    : Layout::packed(section.value().count, bytes, weir::array::Order::row_major);
  if (!memory) return memory.error();
  if (data == nullptr && !section.value().empty()) return weir::invalid_argument("data is null");
  return Request{section.value(), std::move(memory).value()};
}

// A chunk that was written in two parts would have two places, of which the last one counts.
Status check_whole_chunks(const Section& section, const weir::storage::EncodedChunks& chunks) {
  for (int d = 0; d < section.dimensions(); ++d) {
    const std::int64_t chunk = chunks.grid.chunk_extents()[d];
    const std::int64_t end = section.start[d] + section.count[d];
    const bool whole = section.start[d] % chunk == 0 && section.stride[d] == 1 &&
                       (end % chunk == 0 || end == chunks.grid.shape().extent(d));
    if (!whole) {
      return weir::invalid_argument(fmt::format(
          "compressed chunks of this format are written whole: dimension {} has chunks of {}", d,
          chunk));
    }
  }
  return {};
}

// Encoded chunks whose places are told to the file's header when it is committed.
Status write_to_table(weir_files& file, std::int64_t array, const Request& request,
                      const void* data) {
  const StoredArray& stored = file.map.arrays[static_cast<std::size_t>(array)];
  if (Status whole = check_whole_chunks(request.section, *stored.map.encoded()); !whole.ok()) {
    return whole;
  }
  weir::storage::EncodedWriter writer(
      stored.map, file.data_files, false, [&](std::int64_t bytes) -> Result<std::int64_t> {
        const std::lock_guard lock(file.mutex);
        return std::exchange(file.free_from, file.free_from + bytes);
      });
  Status status = weir::storage::write_encoded_section(stored, request.section,
                                                       static_cast<const std::byte*>(data),
                                                       request.memory, file.data_files, writer);
  if (!status.ok()) return status;
  const std::lock_guard lock(file.mutex);
  for (const auto& one : writer.take_written())
    file.written.push_back({array, one.chunk, one.place});
  return {};
}

Status check_place(weir_files** file) {
  if (file == nullptr) return weir::invalid_argument("there is no place for the file's handle");
  *file = nullptr;
  return {};
}

// Of a commit that failed half-way: readers see the file, whose data have their temporary name.
bool is_seen_unrenamed(const std::string& path) {
  const auto opened = weir::storage::open_any(path);
  if (!opened || opened.value().map.arrays.empty()) return false;
  return opened.value().map.arrays.front().map.files.path(0) ==
         weir::storage::incomplete_path(path);
}

Status check_being_made(const weir_files& file) {
  if (file.unpublished) return {};
  return weir::invalid_argument("only a file that is being made, and not committed, is written to");
}

}  // namespace

const char* weir_files_version() { return weir::files::version; }

const char* weir_files_last_error() { return kept_text().c_str(); }

const char* weir_files_formats() {
  static const std::string names = [] {
    std::string joined;
    for (const auto* const one : weir::storage::all_formats()) {
      if (!joined.empty()) joined += ' ';
      joined += one->name();
    }
    return joined;
  }();
  return names.c_str();
}

int weir_files_open(const char* path, weir_files** file) {
  return reported([&]() -> Status {
    if (Status place = check_place(file); !place.ok()) return place;
    if (path == nullptr) return weir::invalid_argument("path is null");
    auto opened = weir::storage::open_any(path);
    if (!opened) return opened.error();
    *file = std::make_unique<weir_files>(path, opened.value().format, std::move(opened.value().map),
                                         DataFileCache::Use::reading)
                .release();
    return {};
  });
}

int weir_files_close(weir_files** file) {
  if (file != nullptr) {
    const std::unique_ptr<weir_files> ended(*file);
    *file = nullptr;
  }
  return WEIR_FILES_OK;
}

const char* weir_files_format(const weir_files* file) {
  if (file != nullptr) return file->format.c_str();
  report(no_handle());
  return nullptr;
}

const char* weir_files_description(const weir_files* file) {
  if (file != nullptr) return file->description.c_str();
  report(no_handle());
  return nullptr;
}

int64_t weir_files_arrays(const weir_files* file) {
  if (file == nullptr) return report(no_handle());
  return static_cast<int64_t>(file->map.arrays.size());
}

int64_t weir_files_find(const weir_files* file, const char* name) {
  if (file == nullptr) return report(no_handle());
  if (name == nullptr) return report(weir::invalid_argument("name is null"));
  const auto found = file->map.get(name);
  if (!found) return report(found.error());
  return found.value() - file->map.arrays.data();
}

const char* weir_files_array_name(const weir_files* file, int64_t array) {
  const StoredArray* const found = array_of(file, array);
  return found != nullptr ? found->description.name.c_str() : nullptr;
}

int32_t weir_files_array_dimensions(const weir_files* file, int64_t array) {
  const StoredArray* const found = array_of(file, array);
  return found != nullptr ? found->description.shape.dimensions() : int{WEIR_FILES_E_ARGUMENT};
}

int weir_files_array_shape(const weir_files* file, int64_t array, int64_t* shape) {
  const StoredArray* const found = array_of(file, array);
  if (found == nullptr) return WEIR_FILES_E_ARGUMENT;
  if (shape == nullptr) return report(weir::invalid_argument("shape is null"));
  for (const std::int64_t extent : found->description.shape.extents()) *shape++ = extent;
  return WEIR_FILES_OK;
}

const char* weir_files_array_element_type(const weir_files* file, int64_t array) {
  if (array_of(file, array) == nullptr) return nullptr;
  return file->type_names[static_cast<std::size_t>(array)].c_str();
}

int64_t weir_files_array_element_bytes(const weir_files* file, int64_t array) {
  const StoredArray* const found = array_of(file, array);
  return found != nullptr ? found->description.type.bytes() : std::int64_t{WEIR_FILES_E_ARGUMENT};
}

const char* weir_files_unfinished(const char* path) {
  thread_local std::string lines;
  const int code = reported([&]() -> Status {
    if (path == nullptr) return weir::invalid_argument("path is null");
    const auto found = weir::storage::find_unfinished(path);
    if (!found) return found.error();
    lines = fmt::format("{}", fmt::join(found.value(), "\n"));
    return {};
  });
  return code == WEIR_FILES_OK ? lines.c_str() : nullptr;
}

int64_t weir_files_sums(weir_files* file, int64_t* bytes, const char** damage) {
  if (file == nullptr) return report(no_handle());
  const int code = reported([&]() -> Status {
    Status status;
    std::call_once(file->looked_for_sums, [&] {
      auto found = weir::storage::Verification::of(file->path, file->map);
      if (found) {
        file->verification = std::move(found).value();
      } else {
        status = found.error();
      }
    });
    if (status.ok() && !file->verification) status = weir::invalid_argument("no checksums");
    return status;
  });
  if (code != WEIR_FILES_OK) return code;
  if (bytes != nullptr) *bytes = file->verification->bytes();
  if (damage != nullptr) *damage = file->verification->damage().c_str();
  return file->verification->parts();
}

const char* weir_files_verify(weir_files* file, int64_t part) {
  thread_local std::string lines;
  const std::int64_t parts = weir_files_sums(file, nullptr, nullptr);
  const int code = reported([&]() -> Status {
    if (part < 0 || part >= parts) {
      return weir::invalid_argument(
          fmt::format("there is no part {} to verify: the file has {}", part, parts));
    }
    const auto found = file->verification->verify(part, file->map, file->data_files);
    if (!found) return found.error();
    lines = fmt::format("{}", fmt::join(found.value(), "\n"));
    return {};
  });
  return code == WEIR_FILES_OK ? lines.c_str() : nullptr;
}

int weir_files_read(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                    const int64_t* stride, void* data, const int64_t* strides) {
  const StoredArray* const stored = array_of(file, array);
  if (stored == nullptr) return WEIR_FILES_E_ARGUMENT;
  return reported([&]() -> Status {
    const auto request = request_of(*stored, start, count, stride, data, strides);
    if (!request) return request.error();
    return weir::storage::read_section(*stored, request.value().section,
                                       static_cast<std::byte*>(data), request.value().memory,
                                       file->data_files);
  });
}

int weir_files_create(const char* path, const char* format, const char* description,
                      weir_files** file) {
  return reported([&]() -> Status {
    if (Status place = check_place(file); !place.ok()) return place;
    if (path == nullptr || format == nullptr || description == nullptr) {
      return weir::invalid_argument("path, format and description are all needed");
    }
    const auto found = weir::storage::find_format(format);
    if (!found) return found.error();
    const auto parsed = weir::files::parse_description(description);
    if (!parsed) return parsed.error();
    auto room = found.value()->lay_out(parsed.value(), path);
    if (!room) return room.error();
    auto made = std::make_unique<weir_files>(
        path, found.value()->name(), std::move(room.value().map), DataFileCache::Use::writing);
    made->unpublished = std::move(room.value().update);
    made->free_from = room.value().free_from;
    *file = made.release();
    return {};
  });
}

int weir_files_write(weir_files* file, int64_t array, const int64_t* start, const int64_t* count,
                     const int64_t* stride, const void* data, const int64_t* strides) {
  const StoredArray* const stored = array_of(file, array);
  if (stored == nullptr) return WEIR_FILES_E_ARGUMENT;
  return reported([&]() -> Status {
    if (Status making = check_being_made(*file); !making.ok()) return making;
    const auto request = request_of(*stored, start, count, stride, data, strides);
    if (!request) return request.error();
    const auto* const encoded = stored->map.encoded();
    if (encoded != nullptr && !request.value().section.empty() &&
        std::holds_alternative<weir::storage::EncodedTable>(encoded->places)) {
      return write_to_table(*file, array, request.value(), data);
    }
    return weir::storage::write_section(*stored, request.value().section,
                                        static_cast<const std::byte*>(data), request.value().memory,
                                        file->data_files);
  });
}

int weir_files_commit(weir_files* file) {
  if (file == nullptr) return report(no_handle());
  return reported([&]() -> Status {
    if (Status making = check_being_made(*file); !making.ok()) return making;
    if (Status durable = file->data_files.sync(); !durable.ok()) return durable;
    if (!file->written.empty()) {
      const auto format = weir::storage::find_format(file->format);
      if (!format) return format.error();
      const weir::storage::Room room{file->map, *file->unpublished, file->free_from};
      auto entered = format.value()->enter_chunks(file->path, room, file->map.steps().value_or(1),
                                                  file->written);
      if (!entered) return entered.error();
      file->unpublished = std::move(entered).value();
      file->written.clear();
    }
    Status committed =
        weir::storage::commit(file->path, *file->unpublished, weir::storage::StepDurability::step);
    if (committed.ok() || is_seen_unrenamed(file->path)) file->unpublished.reset();
    return committed;
  });
}
