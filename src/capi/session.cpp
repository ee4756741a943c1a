#include "capi/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace {

template <typename Handle>
bool is_among(const std::vector<std::unique_ptr<Handle>>& handles, const Handle* wanted) {
  return std::any_of(handles.begin(), handles.end(),
                     [&](const auto& handle) { return handle.get() == wanted; });
}

template <typename Handle>
void remove_from(std::vector<std::unique_ptr<Handle>>& handles, const Handle* wanted) {
  std::erase_if(handles, [&](const auto& handle) { return handle.get() == wanted; });
}

}  // namespace

bool weir_session::holds(const weir_array* array) const { return known_arrays.contains(array); }
bool weir_session::holds(const weir_array* array, const weir_array* before) const {
  if (before != nullptr && before->container != nullptr) {
    const auto& arrays_of_file = before->container->arrays;
    const std::size_t next = before->number + 1;
    if (next < arrays_of_file.size() && arrays_of_file[next].get() == array) return true;
  }
  return holds(array);
}
bool weir_session::holds(const weir_file* file) const { return is_among(files, file); }
bool weir_session::holds(const weir_distribution* distribution) const {
  return is_among(distributions, distribution);
}
void weir_session::remove(const weir_array* array) {
  known_arrays.erase(array);
  remove_from(arrays, array);
}
void weir_session::remove(const weir_file* file) {
  for (const auto& array : file->arrays) known_arrays.erase(array.get());
  remove_from(files, file);
}
void weir_session::remove(const weir_distribution* distribution) {
  remove_from(distributions, distribution);
}
void weir_session::remove(const weir_request* request) { remove_from(requests, request); }

namespace weir::capi {

Outcome null_argument(const char* call, const char* argument) {
  return bad_argument(fmt::format("{}: {} is null", call, argument));
}

Outcome not_laid_out(const char* call, const weir_array& array) {
  return bad_argument(fmt::format(
      "{}{}{} is defined but not in its file yet: begin a step first (weir_file_step_begin)", call,
      *call == '\0' ? "" : ": ", array.text));
}

std::string step_text(const weir_array& array) {
  const auto step = array.file == nullptr ? std::nullopt : array.file->step();
  return step ? fmt::format(", step {}", *step) : "";
}

Outcome check_reserved(const char* options, const std::uint64_t* reserved, std::size_t count,
                       std::int32_t flags) {
  const bool zero = std::all_of(reserved, reserved + count, [](std::uint64_t n) { return n == 0; });
  if (zero && flags == 0) return {};
  return bad_argument(fmt::format(
      "reserved fields of {} are not 0; begin with `{} options = {{0}};`", options, options));
}

}  // namespace weir::capi
