// Definition of files before they are laid out. Each rank collects it by itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "capi/chunk_argument.hpp"
#include "capi/extents_argument.hpp"
#include "capi/session.hpp"
#include "capi/striping_argument.hpp"
#include "codecs/codec.hpp"
#include "formats/dimension_names.hpp"
#include "formats/fill_attribute.hpp"
#include "formats/format.hpp"

namespace weir::capi {
namespace {

Outcome read_file_options(const weir_session& session, const char* path,
                          const weir_file_options& options, weir_file& file) {
  auto outcome =
      check_reserved("weir_file_options", std::data(options.reserved), std::size(options.reserved));
  if (!outcome.ok()) return outcome;
  const auto format = options.format != nullptr ? storage::find_format(options.format)
                                                : storage::format_by_suffix(path);
  if (!format && options.format == nullptr) {
    return bad_argument("options.format is null and " + format.error().message);
  }
  if (!format) return outcome_of(format.error(), "options.format");
  file.settings.format = format.value()->name();
  outcome = read_durability(session, options.durability, file.settings);
  if (outcome.ok()) outcome = read_checksum(options.checksum, file.settings.checksum);
  if (outcome.ok()) outcome = read_unwritten(options.unwritten, file.settings.unwritten);
  if (!outcome.ok()) return outcome;
  file.step_dimension = options.step_dimension != nullptr ? options.step_dimension : "";
  if (options.alignment_bytes < 0) {
    return bad_argument(
        fmt::format("options.alignment_bytes is {}: give 0 or more", options.alignment_bytes));
  }
  file.description.alignment = options.alignment_bytes;
  return read_striping(options, file.description.striping);
}

Outcome create(weir_session& session, const char* path, const weir_file_options* options,
               weir_file** result) {
  if (path == nullptr || *path == '\0') {
    return bad_argument(path == nullptr ? "path is null" : "path is empty");
  }
  auto file = std::make_unique<weir_file>();
  file->session = &session;
  file->path = path;
  while (file->path.size() > 1 && file->path.back() == '/') file->path.pop_back();
  if (auto read = read_file_options(session, path,
                                    options == nullptr ? weir_file_options{} : *options, *file);
      !read.ok()) {
    return read;
  }
  file->text = fmt::format("file {} '{}'", ++session.handles_made, file->path);
  *result = file.get();
  session.files.push_back(std::move(file));
  return {};
}

// Returns the extents of an array with steps, whose dimension 0 is that of the steps.
array::Indices with_steps(std::int64_t first, const array::Indices& rest) {
  array::Indices all;
  all.push_back(first);
  for (const std::int64_t extent : rest) all.push_back(extent);
  return all;
}

Outcome read_extents(const weir_session& session, const weir_define_options& options,
                     const array::Shape& shape, storage::ArrayDescription& described) {
  auto outcome =
      read_chunks(session,
                  {options.chunks, options.natural_chunks, options.typical_request,
                   options.chunk_buffer_bytes, options.chunk_block_bytes},
                  shape, described.type, described.chunk_extents, described.chunk_reason);
  if (!outcome.ok()) return outcome;
  if (options.shards != nullptr) {
    described.shard_extents = array::Indices(numbers_at(options.shards, shape.dimensions()));
  }
  if (!described.grows) return {};
  if (described.chunk_extents) described.chunk_extents = with_steps(1, *described.chunk_extents);
  if (described.shard_extents) described.shard_extents = with_steps(1, *described.shard_extents);
  return {};
}

// Returns the name of the dimension along which the file's arrays grow.
std::string name_of_steps(const weir_file& file) {
  if (file.open != nullptr) {
    for (const storage::StoredArray& one : file.open->map().arrays) {
      const storage::ArrayDescription& about = one.description;
      if (about.grows && !about.dimension_names.empty()) return about.dimension_names.front();
    }
  }
  return file.step_dimension.empty() ? "step" : file.step_dimension;
}

Outcome read_names(const weir_file& file, const weir_define_options& options, int dimensions,
                   storage::ArrayDescription& described) {
  const bool names_steps =
      described.grows && (file.open != nullptr || !file.step_dimension.empty());
  if (options.dimension_names == nullptr && dimensions > 0) {
    if (!names_steps) return {};
    // The other dimensions are named when the file is laid out or the array is added.
    described.dimension_names.resize(static_cast<std::size_t>(dimensions) + 1);
    described.dimension_names.front() = name_of_steps(file);
    return {};
  }
  if (described.grows) described.dimension_names.push_back(name_of_steps(file));
  for (int d = 0; d < dimensions; ++d) {
    const char* const name = *std::next(options.dimension_names, d);
    if (name == nullptr) {
      return bad_argument(fmt::format("options.dimension_names[{}] is null", d));
    }
    described.dimension_names.emplace_back(name);
  }
  return {};
}

// Checks that no array of this name is in the file or about to be added.
Outcome check_is_new(const weir_file& file, const storage::ArrayDescription& described) {
  const auto& added = file.added.arrays;
  const bool is_there = file.open->map().find(described.name) != nullptr ||
                        std::any_of(added.begin(), added.end(),
                                    [&](const auto& one) { return one.name == described.name; });
  if (!is_there) return {};
  return bad_argument(fmt::format("{} already has an array {}: give the new array another name",
                                  file.text, quoted(described.name.c_str())));
}

struct FileArrayDefinition {
  const char* name;
  std::int32_t dimensions;
  const std::int64_t* extents;
  const char* element_type;
  const weir_define_options* options;
};

Outcome define(weir_file& file, const FileArrayDefinition& given, weir_array** result) {
  weir_session& session = *file.session;
  if (auto possible = may_be_defined(file); !possible.ok()) return possible;
  if (given.name == nullptr) return bad_argument("name is null");
  if (given.element_type == nullptr) return bad_argument("element_type is null");
  const weir_define_options options =
      given.options == nullptr ? weir_define_options{} : *given.options;
  // With `dimensions` 0 there is one number for each step, such as a time. In memory this is an
  // array of one element.
  const bool of_numbers = given.dimensions == 0 && options.steps != 0;
  std::optional<array::Shape> shape;
  if (of_numbers) {
    shape = array::Shape::create({1}).value();
  } else if (auto read = read_shape(given.dimensions, given.extents, shape); !read.ok()) {
    return read;
  }
  const auto type = array::ElementType::parse(given.element_type);
  if (!type) return outcome_of(type.error(), "element_type");
  auto outcome = check_reserved("weir_define_options", std::data(options.reserved),
                                std::size(options.reserved));
  if (!outcome.ok()) return outcome;
  storage::ArrayDescription described{.name = given.name, .shape = *shape, .type = type.value()};
  described.grows = options.steps != 0;
  if (outcome = read_order(options.order, described.order); !outcome.ok()) return outcome;
  if (of_numbers && (options.chunks != nullptr || options.natural_chunks != nullptr ||
                     options.typical_request != nullptr || options.shards != nullptr)) {
    return bad_argument(
        "chunks or shards are given, but an array of one number per step has none: leave them out");
  }
  if (described.grows && !of_numbers) {
    const auto whole = array::Shape::create(with_steps(1, shape->extents()));
    if (!whole) return outcome_of(whole.error(), "shape");
    described.shape = whole.value();
  }
  if (!of_numbers) outcome = read_extents(session, options, *shape, described);
  if (outcome.ok()) outcome = read_names(file, options, given.dimensions, described);
  if (!outcome.ok()) return outcome;
  if (options.codec != nullptr) {
    auto codecs = storage::parse_pipeline(options.codec);
    if (!codecs) return outcome_of(codecs.error(), "options.codec");
    described.codecs = std::move(codecs).value();
  }
  if (options.fill != nullptr) {
    described.fill.resize(static_cast<std::size_t>(type.value().bytes()));
    std::memcpy(described.fill.data(), options.fill, described.fill.size());
    described.attributes = storage::with_fill_attribute(described);
  }
  // The array is also checked by itself, so that an error is reported here and not when the file is
  // laid out.
  const auto abilities = storage::find_format(file.settings.format).value()->abilities();
  if (Status fine = storage::check_description(
          storage::with_dimension_names({.arrays = {described}}), abilities, file.settings.format);
      !fine.ok()) {
    return outcome_of(fine);
  }
  const bool is_added = file.open != nullptr;
  if (is_added) {
    if (auto free = check_is_new(file, described); !free.ok()) return free;
  }
  auto handle = std::make_unique<weir_array>();
  handle->session = &session;
  handle->container = &file;
  handle->number = file.arrays.size() + file.added_arrays.size();
  handle->shape = *shape;
  handle->type = type.value();
  handle->type_name = handle->type.name();
  handle->text = fmt::format("array {} '{}' in '{}' ({} {})", ++session.handles_made, given.name,
                             file.path, shape->text(), handle->type_name);
  *result = handle.get();
  session.known_arrays.insert(handle.get());
  (is_added ? file.added.arrays : file.description.arrays).push_back(std::move(described));
  (is_added ? file.added_arrays : file.arrays).push_back(std::move(handle));
  return {};
}

}  // namespace

Outcome may_be_defined(const weir_file& file) {
  if (file.open == nullptr) return {};
  if (!file.open->writable()) {
    return bad_argument(fmt::format("{} is open read-only: open it for writing", file.text));
  }
  if (file.open->in_step() || !file.open->is_published()) {
    return bad_argument(fmt::format(
        "a step of {} has begun: define arrays and attributes between steps", file.text));
  }
  return {};
}

Outcome read_order(std::int32_t order, array::Order& result) {
  if (order != WEIR_ROW_MAJOR && order != WEIR_COLUMN_MAJOR) {
    return bad_argument(fmt::format(
        "options.order is {}: give WEIR_ROW_MAJOR (0) or WEIR_COLUMN_MAJOR (1)", order));
  }
  result = order == WEIR_ROW_MAJOR ? array::Order::row_major : array::Order::column_major;
  return {};
}

Outcome read_durability(const weir_session& session, const char* word,
                        aggregation::FileSettings& settings) {
  aggregation::FileDurability chosen = session.collective->settings().durability;
  if (word != nullptr) {
    const auto given = aggregation::parse_durability(word);
    if (!given) {
      return bad_argument(fmt::format("options.durability is {}: give one of {}", quoted(word),
                                      fmt::join(aggregation::durability_names(), ", ")));
    }
    chosen = *given;
  }
  settings.durability = chosen.storage;
  settings.in_journal = chosen.in_journal;
  const Status can = chosen.in_journal ? session.collective->can_journal() : Status();
  return can.ok() ? Outcome{} : outcome_of(can.error(), "options");
}

Outcome read_checksum(const char* word, std::optional<storage::Checksum>& checksum) {
  if (word == nullptr) return {};
  const std::string_view given = word;
  if (given == "none") {
    checksum = storage::Checksum::none;
  } else if (given == "crc32c") {
    checksum = storage::Checksum::crc32c;
  } else {
    return bad_argument(fmt::format("options.checksum is {}: give none or crc32c", quoted(word)));
  }
  return {};
}

Outcome read_unwritten(const char* word, aggregation::Unwritten& unwritten) {
  const std::string_view given = word == nullptr ? "fill" : word;
  if (given == "fill") {
    unwritten = aggregation::Unwritten::is_filled;
  } else if (given == "error") {
    unwritten = aggregation::Unwritten::is_error;
  } else {
    return bad_argument(fmt::format("options.unwritten is {}: give fill or error", quoted(word)));
  }
  return {};
}

}  // namespace weir::capi

extern "C" {

int weir_file_create(weir_session* session, const char* path, const weir_file_options* options,
                     weir_file** file) {
  if (file != nullptr) *file = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) return weir::capi::null_argument("weir_file_create", "session");
    if (file == nullptr) return weir::capi::null_argument("weir_file_create", "file");
    auto outcome = weir::capi::create(*session, path, options, file);
    if (!outcome.ok()) outcome.text.insert(0, "weir_file_create: ");
    return outcome;
  });
}

int weir_file_define(weir_file* file, const char* name, std::int32_t dimensions,
                     const std::int64_t* shape, const char* element_type,
                     const weir_define_options* options, weir_array** array) {
  if (array != nullptr) *array = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_define", "file");
    if (array == nullptr) return weir::capi::null_argument("weir_file_define", "array");
    auto outcome =
        weir::capi::define(*file, {name, dimensions, shape, element_type, options}, array);
    if (!outcome.ok()) outcome.text.insert(0, "weir_file_define: ");
    return outcome;
  });
}

}  // extern "C"
