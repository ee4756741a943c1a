#include "files/file_handle.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "checksums/sums_file.hpp"
#include "files/description_json.hpp"
#include "system/incomplete.hpp"

weir_files::weir_files(std::string opened_path, std::string_view format_name,
                       weir::storage::FileMap opened, weir::storage::DataFileCache::Use use)
    : path(std::move(opened_path)),
      format(format_name),
      map(std::move(opened)),
      description(weir::files::description_json(format, map)),
      data_files(use) {
  for (const auto& one : map.arrays) type_names.push_back(one.description.type.name());
  type_names.resize(type_names.size() + map.texts.size(), weir::files::text_of_any_length);
}

weir_files::~weir_files() {
  if (!unpublished) return;
  // Where the file system has no locks, another run may have put its own file there.
  if (weir::storage::identity_of(weir::storage::incomplete_path(path)) != made) return;
  weir::storage::remove_incomplete(path);
  if (sums) {
    (void)weir::storage::remove_sums(weir::storage::incomplete_sums_path(path),
                                     weir::storage::StepDurability::none);
  }
}

namespace weir::files {
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

}  // namespace

int report(const Error& error) {
  kept_text() = error.text();
  return code_of(error.code);
}

const std::string& last_error() { return kept_text(); }

int report_thrown(const std::exception& thrown) {
  Error error =
      invalid_argument(fmt::format("not enough memory for this call ({})", thrown.what()));
  error.code = ErrorCode::insufficient;
  return report(error);
}

Error no_handle() { return invalid_argument("the file is null or was closed"); }

const storage::StoredArray* about_array(const weir_files* file, std::int64_t array) {
  if (file == nullptr) {
    report(no_handle());
    return nullptr;
  }
  const auto& arrays = file->map.arrays;
  const auto& texts = file->map.texts;
  const std::int64_t all = std::ssize(arrays) + std::ssize(texts);
  if (array < 0 || array >= all) {
    report(invalid_argument(
        fmt::format("array is {}, but the file has {} arrays, numbered from 0", array, all)));
    return nullptr;
  }
  const auto number = static_cast<std::size_t>(array);
  return number < arrays.size() ? &arrays[number] : &texts[number - arrays.size()].array;
}

const storage::StoredTexts* texts_of(const weir_files* file, std::int64_t array) {
  const storage::StoredArray* const found = about_array(file, array);
  if (found == nullptr) return nullptr;
  const std::int64_t number = array - std::ssize(file->map.arrays);
  if (number >= 0) return &file->map.texts[static_cast<std::size_t>(number)];
  report(invalid_argument(
      fmt::format("array \"{}\" has elements of the type {}: read them with weir_files_read()",
                  storage::printable(found->description.name), found->description.type.name())));
  return nullptr;
}

const storage::StoredArray* array_of(const weir_files* file, std::int64_t array) {
  const storage::StoredArray* const found = about_array(file, array);
  if (found == nullptr || array < std::ssize(file->map.arrays)) return found;
  report(invalid_argument(fmt::format(
      "array \"{}\" has texts of variable length: read them with weir_files_read_texts()",
      storage::printable(found->description.name))));
  return nullptr;
}

Status check_place(weir_files** file) {
  if (file == nullptr) return invalid_argument("the pointer to the file's handle is null");
  *file = nullptr;
  return {};
}

Result<array::Section> section_of(const storage::StoredArray& stored, const std::int64_t* start,
                                  const std::int64_t* count, const std::int64_t* stride) {
  const auto& shape = stored.description.shape;
  // An array without dimensions has one element and no indices to select.
  if (stored.description.is_scalar) start = count = stride = nullptr;
  const auto dimensions = static_cast<std::size_t>(shape.dimensions());
  if ((start == nullptr) != (count == nullptr)) {
    return invalid_argument(
        "only one of start and count is given: give both, or neither for the whole array");
  }
  const array::Indices zeros(shape.dimensions());
  const array::Indices ones(shape.dimensions(), 1);
  const auto given = [&](const std::int64_t* numbers, const array::Indices& otherwise) {
    return numbers != nullptr ? std::span(numbers, dimensions)
                              : std::span<const std::int64_t>(otherwise.begin(), otherwise.end());
  };
  return array::Section::create(shape, given(start, zeros), given(count, shape.extents()),
                                given(stride, ones));
}

Result<Request> request_of(const storage::StoredArray& stored, const std::int64_t* start,
                           const std::int64_t* count, const std::int64_t* stride, const void* data,
                           const std::int64_t* strides) {
  const auto section = section_of(stored, start, count, stride);
  if (!section) return section.error();
  if (stored.description.is_scalar) strides = nullptr;
  const auto dimensions = static_cast<std::size_t>(section.value().dimensions());
  const std::int64_t bytes = stored.description.type.bytes();
  auto memory =
      strides != nullptr
          ? array::Layout::strided(section.value().count, bytes, std::span(strides, dimensions))
          : array::Layout::packed(section.value().count, bytes, array::Order::row_major);
  if (!memory) return memory.error();
  if (data == nullptr && !section.value().empty()) return invalid_argument("data is null");
  return Request{section.value(), std::move(memory).value()};
}

}  // namespace weir::files
