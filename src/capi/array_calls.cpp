// Calls on arrays: collective creation, opening, sync and closing, and local queries.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "capi/chunk_argument.hpp"
#include "capi/extents_argument.hpp"
#include "capi/session.hpp"
#include "capi/striping_argument.hpp"
#include "formats/raw/raw_document.hpp"

namespace weir::capi {
namespace {

using storage::ArrayDescription;
using storage::FileDescription;
using storage::FileLayout;
using storage::Placement;

Outcome read_files(const weir_array_options& options, bool has_chunks, Placement& placement) {
  switch (options.files) {
    case WEIR_SHARED_FILE:
      return {};
    case WEIR_FILE_PER_AGGREGATOR:
      placement.layout = FileLayout::per_aggregator;
      break;
    case WEIR_FILE_PER_RANK:
      placement.layout = FileLayout::per_rank;
      break;
    default:
      return bad_argument(fmt::format(
          "options.files is {}: give WEIR_SHARED_FILE (0), WEIR_FILE_PER_AGGREGATOR (1) or "
          "WEIR_FILE_PER_RANK (2)",
          options.files));
  }
  if (!has_chunks) {
    return bad_argument(
        fmt::format("options.files is {}, but only chunks can be stored in several files; give "
                    "options.chunks, natural_chunks or typical_request",
                    options.files));
  }
  placement.files = 0;  // 0: the collective layer chooses the number
  return {};
}

Outcome read_directories(const weir_array_options& options, Placement& placement) {
  const std::int64_t count = options.directory_count;
  if (count < 0 || count > storage::most_directories) {
    return bad_argument(fmt::format("options.directory_count is {}: give 0 to {}", count,
                                    storage::most_directories));
  }
  if ((count == 0) != (options.directories == nullptr)) {
    return bad_argument(fmt::format("options.directory_count is {}, but options.directories is {}",
                                    count, count == 0 ? "given" : "null"));
  }
  if (count > 0 && placement.layout == FileLayout::shared) {
    return bad_argument(fmt::format(
        "options.directory_count is {}, but options.files is WEIR_SHARED_FILE: one file lies in "
        "one folder",
        count));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const char* const name = *std::next(options.directories, i);
    if (name == nullptr) return bad_argument(fmt::format("options.directories[{}] is null", i));
    if (Status possible = storage::check_directory_name(name); !possible.ok()) {
      return outcome_of(possible.error(), fmt::format("options.directories[{}]", i));
    }
    placement.directories.emplace_back(name);
  }
  return {};
}

struct ArrayDefinition {
  const char* path;
  std::int32_t dimensions;
  const std::int64_t* extents;
  const char* element_type;
  const weir_array_options* options;
};

// Describes the file of the array.
Outcome read_definition(const weir_session& session, const ArrayDefinition& given,
                        FileDescription& file) {
  if (given.path == nullptr || *given.path == '\0') {
    return bad_argument(given.path == nullptr ? "path is null" : "path is empty");
  }
  std::optional<array::Shape> shape;
  if (auto read = read_shape(given.dimensions, given.extents, shape); !read.ok()) return read;
  if (given.element_type == nullptr) return bad_argument("element_type is null");
  auto type = array::ElementType::parse(given.element_type);
  if (!type) return outcome_of(type.error(), "element_type");
  auto bytes = shape->bytes(type.value());
  if (!bytes) return outcome_of(bytes.error(), "shape");
  ArrayDescription array{
      .name = storage::name_of_only_array(given.path), .shape = *shape, .type = type.value()};
  Placement placement;
  Outcome outcome;
  if (given.options != nullptr) {
    const weir_array_options& options = *given.options;
    outcome = check_reserved("weir_array_options", std::data(options.reserved),
                             std::size(options.reserved));
    if (outcome.ok()) outcome = read_order(options.order, array.order);
    if (outcome.ok()) {
      outcome = read_chunks(session,
                            {options.chunks, options.natural_chunks, options.typical_request,
                             options.chunk_buffer_bytes, options.chunk_block_bytes},
                            array.shape, array.type, array.chunk_extents, array.chunk_reason);
    }
    if (outcome.ok()) outcome = read_files(options, array.chunk_extents.has_value(), placement);
    if (outcome.ok()) outcome = read_directories(options, placement);
    if (outcome.ok()) outcome = read_striping(options, file.striping);
  }
  file.arrays.push_back(std::move(array));
  file.in_place = std::move(placement);
  return outcome;
}

std::string options_text(const weir_session& session, const ArrayDefinition& given) {
  if (given.options == nullptr) return "none";
  const weir_array_options& options = *given.options;
  std::string natural = "none";
  if (options.natural_chunks != nullptr && session.holds(options.natural_chunks)) {
    natural = options.natural_chunks->text;
  }
  std::string directories = fmt::format("{}", options.directory_count);
  const bool listed =
      options.directories != nullptr && options.directory_count <= storage::most_directories;
  for (std::int64_t i = 0; listed && i < options.directory_count; ++i) {
    directories += " " + quoted(*std::next(options.directories, i));
  }
  return fmt::format(
      "order {}, files {}, chunks {}, natural_chunks {}, typical_request {}, chunk_buffer_bytes "
      "{}, chunk_block_bytes {}, directories {}, stripe_count {}, stripe_bytes {}, first_target "
      "{}, "
      "pool {}",
      options.order, options.files, extents_text(given.dimensions, options.chunks), natural,
      extents_text(given.dimensions, options.typical_request), options.chunk_buffer_bytes,
      options.chunk_block_bytes, directories, options.stripe_count, options.stripe_bytes,
      options.first_target, quoted(options.pool));
}

aggregation::FileSettings settings_in_place(bool writable) {
  return {.format = "raw", .rewrite = writable, .in_place = true};
}

// Creates the handle of the only array of a file that all ranks have opened.
Outcome enter(weir_session& session, Result<std::unique_ptr<aggregation::StepFile>> opened,
              const char* call, weir_array** result) {
  if (!opened) return outcome_of(opened.error(), call);
  const storage::FileMap& map = opened.value()->map();
  if (map.arrays.size() != 1 || map.arrays.front().description.grows) {
    return bad_argument(fmt::format("{}: '{}' has {} arrays{}: open it with weir_file_open", call,
                                    opened.value()->path(), map.arrays.size(),
                                    map.steps() ? ", with steps" : ""));
  }
  auto handle = std::make_unique<weir_array>();
  handle->session = &session;
  handle->own_file = std::move(opened).value();
  handle->file = &handle->own_file->array(0);
  handle->shape = handle->file->shape();
  handle->type = handle->file->type();
  handle->type_name = handle->type.name();
  handle->text = fmt::format("array {} '{}' ({} {})", ++session.handles_made, handle->file->path(),
                             handle->shape.text(), handle->type_name);
  *result = handle.get();
  session.known_arrays.insert(handle.get());
  session.arrays.push_back(std::move(handle));
  return {};
}

Outcome create(weir_session& session, const ArrayDefinition& given, weir_array** result) {
  FileDescription file;
  auto prepared = result == nullptr ? bad_argument("array is null") : outcome_without_throwing([&] {
    return read_definition(session, given, file);
  });
  if (!prepared.ok()) prepared.text.insert(0, "weir_array_create: ");
  return session.call_asking(
      fmt::format("weir_array_create(path {}, shape {}, element_type {}, options {})",
                  quoted(given.path), extents_text(given.dimensions, given.extents),
                  quoted(given.element_type), options_text(session, given)),
      prepared, [&] {
        return enter(session,
                     session.collective->create_file(given.path, file, settings_in_place(true)),
                     "weir_array_create", result);
      });
}

Outcome open(weir_session& session, const char* path, const weir_open_options* options,
             weir_array** result) {
  Outcome prepared;
  bool writable = true;
  if (options != nullptr) {
    prepared = check_reserved("weir_open_options", std::data(options->reserved),
                              std::size(options->reserved), options->reserved_flags);
    writable = options->read_only == 0;
  }
  if (path == nullptr) prepared = bad_argument("path is null");
  if (result == nullptr) prepared = bad_argument("array is null");
  if (!prepared.ok()) prepared.text.insert(0, "weir_array_open: ");
  return session.call_asking(
      fmt::format("weir_array_open(path {}, {})", quoted(path),
                  writable ? "writable" : "read-only"),
      prepared, [&] {
        return enter(session,
                     session.collective->open_file(path, settings_in_place(writable), writable),
                     "weir_array_open", result);
      });
}

Outcome sync(weir_array& array) {
  weir_session& session = *array.session;
  if (array.file == nullptr) return not_laid_out("weir_array_sync", array);
  return session.call(fmt::format("weir_array_sync({})", array.text), {}, [&] {
    return outcome_of(session.collective->sync(*array.file), "weir_array_sync");
  });
}

Outcome close(weir_array& array) {
  weir_session& session = *array.session;
  if (array.container != nullptr) {
    return bad_argument(fmt::format(
        "weir_array_close: {} belongs to a file, and weir_file_close closes it with the file",
        array.text));
  }
  auto outcome = session.call_with_one_vote(fmt::format("weir_array_close({})", array.text), [&] {
    return outcome_of(session.collective->close_own_part(*array.own_file), "weir_array_close");
  });
  // The handle is removed whether or not closing succeeded. In a broken session it is kept, because
  // messages may be under way.
  if (!session.broken()) session.remove(&array);
  return outcome;
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_array_create(weir_session* session, const char* path, std::int32_t dimensions,
                      const std::int64_t* shape, const char* element_type,
                      const weir_array_options* options, weir_array** array) {
  if (array != nullptr) *array = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) return weir::capi::null_argument("weir_array_create", "session");
    return weir::capi::create(*session, {path, dimensions, shape, element_type, options}, array);
  });
}

int weir_array_open(weir_session* session, const char* path, const weir_open_options* options,
                    weir_array** array) {
  if (array != nullptr) *array = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) return weir::capi::null_argument("weir_array_open", "session");
    return weir::capi::open(*session, path, options, array);
  });
}

std::int32_t weir_array_dimensions(const weir_array* array) {
  if (array == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_array_dimensions", "array"));
  }
  return array->shape.dimensions();
}

int weir_array_shape(const weir_array* array, std::int64_t* shape) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (array == nullptr) return weir::capi::null_argument("weir_array_shape", "array");
    if (shape == nullptr) return weir::capi::null_argument("weir_array_shape", "shape");
    const auto& extents = array->shape.extents();
    std::copy(extents.begin(), extents.end(), shape);
    return {};
  });
}

const char* weir_array_element_type(const weir_array* array) {
  if (array != nullptr) return array->type_name.c_str();
  weir::capi::report(weir::capi::null_argument("weir_array_element_type", "array"));
  return nullptr;
}

std::int64_t weir_array_element_bytes(const weir_array* array) {
  if (array == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_array_element_bytes", "array"));
  }
  return array->type.bytes();
}

int weir_array_sync(weir_array* array) {
  return weir::capi::report_outcome_of([&] {
    if (array == nullptr) return weir::capi::null_argument("weir_array_sync", "array");
    return weir::capi::sync(*array);
  });
}

int weir_array_close(weir_array** array) {
  return weir::capi::report_outcome_of([&] {
    if (array == nullptr || *array == nullptr) {
      return weir::capi::null_argument("weir_array_close", "array");
    }
    return weir::capi::close(*std::exchange(*array, nullptr));
  });
}

}  // extern "C"
