// Calls on the arrays of a file: their number, names and handles, and what a handle's array is.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "capi/extents_argument.hpp"
#include "capi/session.hpp"

namespace weir::capi {
namespace {

std::unique_ptr<weir_array> handle_of(weir_file& file, std::int64_t number) {
  auto handle = std::make_unique<weir_array>();
  handle->session = file.session;
  handle->container = &file;
  handle->number = static_cast<std::size_t>(number);
  handle->file = &file.open->array(number);
  handle->shape = handle->file->shape();
  handle->type = handle->file->type();
  handle->type_name = handle->type.name();
  handle->text =
      fmt::format("array {} '{}' in '{}' ({} {})", ++file.session->handles_made,
                  handle->file->name(), file.path, handle->shape.text(), handle->type_name);
  return handle;
}

Outcome find_array(weir_file& file, const char* name, weir_array** result) {
  if (name == nullptr) return bad_argument("weir_file_array: name is null");
  if (file.open == nullptr) {
    const auto& described = file.description.arrays;
    const auto found = std::find_if(described.begin(), described.end(),
                                    [&](const auto& one) { return one.name == name; });
    if (found == described.end()) {
      return bad_argument(
          fmt::format("weir_file_array: {1} has no array {0}", quoted(name), file.text));
    }
    *result = file.arrays[static_cast<std::size_t>(found - described.begin())].get();
    return {};
  }
  for (std::size_t i = 0; i < file.added.arrays.size(); ++i) {
    if (file.added.arrays[i].name != name) continue;
    *result = file.added_arrays[i].get();
    return {};
  }
  const auto stored = file.open->map().get(name);
  if (!stored) return outcome_of(stored.error(), "weir_file_array");
  const auto number = static_cast<std::size_t>(stored.value() - file.open->map().arrays.data());
  if (file.arrays[number] == nullptr) {
    file.arrays[number] = handle_of(file, static_cast<std::int64_t>(number));
    file.session->known_arrays.insert(file.arrays[number].get());
  }
  *result = file.arrays[number].get();
  return {};
}

// Returns the description of a defined or stored array; null if there is no array of this number.
const storage::ArrayDescription* description_at(const weir_file& file, std::int64_t number) {
  if (number < 0) return nullptr;
  const auto at = static_cast<std::size_t>(number);
  if (file.open == nullptr) {
    return at < file.description.arrays.size() ? &file.description.arrays[at] : nullptr;
  }
  const auto& arrays = file.open->map().arrays;
  return at < arrays.size() ? &arrays[at].description : nullptr;
}

const storage::ArrayDescription* description_of(const weir_array& array) {
  if (array.container == nullptr) return nullptr;
  const auto& added = array.container->added_arrays;
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (added[i].get() == &array) return &array.container->added.arrays[i];
  }
  const auto& arrays = array.container->arrays;
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [&](const auto& one) { return one.get() == &array; });
  return found == arrays.end() ? nullptr : description_at(*array.container, found - arrays.begin());
}

}  // namespace
}  // namespace weir::capi

extern "C" {

std::int64_t weir_file_arrays(const weir_file* file) {
  if (file == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_file_arrays", "file"));
  }
  return static_cast<std::int64_t>(file->arrays.size());
}

const char* weir_file_array_name(const weir_file* file, std::int64_t number) {
  if (file == nullptr) {
    weir::capi::report(weir::capi::null_argument("weir_file_array_name", "file"));
    return nullptr;
  }
  const auto* const described = weir::capi::description_at(*file, number);
  if (described != nullptr) return described->name.c_str();
  weir::capi::report(weir::capi::bad_argument(
      fmt::format("weir_file_array_name: number is {}, but there are {} arrays, numbered from 0",
                  number, file->arrays.size())));
  return nullptr;
}

int weir_file_array(weir_file* file, const char* name, weir_array** array) {
  if (array != nullptr) *array = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_array", "file");
    if (array == nullptr) return weir::capi::null_argument("weir_file_array", "array");
    return weir::capi::find_array(*file, name, array);
  });
}

std::int32_t weir_array_has_steps(const weir_array* array) {
  if (array == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_array_has_steps", "array"));
  }
  const auto* const described = weir::capi::description_of(*array);
  return described != nullptr && described->grows ? 1 : 0;
}

const char* weir_array_dimension_name(const weir_array* array, std::int32_t dimension) {
  if (array == nullptr) {
    weir::capi::report(weir::capi::null_argument("weir_array_dimension_name", "array"));
    return nullptr;
  }
  if (dimension < 0 || dimension >= array->shape.dimensions()) {
    weir::capi::report(weir::capi::bad_argument(fmt::format(
        "weir_array_dimension_name: dimension {} does not exist in {}", dimension, array->text)));
    return nullptr;
  }
  const auto* const described = weir::capi::description_of(*array);
  if (described == nullptr) return "";
  const auto at = static_cast<std::size_t>(dimension) + (described->grows ? 1U : 0U);
  return at < described->dimension_names.size() ? described->dimension_names[at].c_str() : "";
}

}  // extern "C"
