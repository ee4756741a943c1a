// Calls on attributes of files, groups and arrays: defining them and reading them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/extents_argument.hpp"
#include "capi/session.hpp"
#include "formats/fill_attribute.hpp"

namespace weir::capi {
namespace {

using storage::Attribute;

// Returns the attributes of an owner, which may be empty; null if there is no such array or group.
const std::vector<Attribute>* attributes_of(const weir_file& file, std::string_view owner) {
  const auto named = [&](const auto& one) { return one.name == owner; };
  static const std::vector<Attribute> none;
  if (file.open != nullptr) {
    const storage::FileMap& map = file.open->map();
    if (const auto* stored = map.find(owner)) return &stored->description.attributes;
    const auto group = std::find_if(map.groups.begin(), map.groups.end(), named);
    if (group != map.groups.end()) return &group->attributes;
  } else {
    const auto& described = file.description;
    const auto array = std::find_if(described.arrays.begin(), described.arrays.end(), named);
    if (array != described.arrays.end()) return &array->attributes;
    const auto group = std::find_if(described.groups.begin(), described.groups.end(), named);
    if (group != described.groups.end()) return &group->attributes;
  }
  return owner.empty() ? &none : nullptr;
}

// Checks that a file that is laid out has this owner, and may get this attribute.
Outcome check_is_owner(const weir_file& file, const char* call, const std::string& owner,
                       std::string_view name) {
  const storage::FileMap& map = file.open->map();
  const bool is_array = map.find(owner) != nullptr;
  if (is_array && name == storage::fill_attribute_name) {
    return bad_argument(
        fmt::format("{}: array {} of {} is already in the file with its fill value: give \"{}\" to "
                    "an array when it is defined",
                    call, quoted(owner.c_str()), file.text, name));
  }
  const auto is_below = [&](const std::string& array) { return array.starts_with(owner + "/"); };
  const bool is_there =
      owner.empty() || is_array ||
      std::any_of(map.groups.begin(), map.groups.end(),
                  [&](const auto& one) { return one.name == owner; }) ||
      std::any_of(map.arrays.begin(), map.arrays.end(),
                  [&](const auto& one) { return is_below(one.description.name); }) ||
      std::any_of(file.added.arrays.begin(), file.added.arrays.end(),
                  [&](const auto& one) { return is_below(one.name); });
  if (is_there) return {};
  return bad_argument(fmt::format("{}: {} is neither an array nor a group with arrays in {}", call,
                                  quoted(owner.c_str()), file.text));
}

Outcome give(weir_file* file, const char* call, const char* owner, const char* name,
             Attribute::Value value) {
  if (file == nullptr) return null_argument(call, "file");
  if (owner == nullptr) return null_argument(call, "owner");
  if (name == nullptr) return null_argument(call, "name");
  if (auto possible = may_be_defined(*file); !possible.ok()) {
    possible.text.insert(0, fmt::format("{}: ", call));
    return possible;
  }
  const bool is_added = file->open != nullptr;
  auto& arrays = is_added ? file->added.arrays : file->description.arrays;
  auto& groups = is_added ? file->added.attributes : file->description.groups;
  const auto named = [&](const auto& one) { return one.name == owner; };
  const auto array = std::find_if(arrays.begin(), arrays.end(), named);
  std::vector<Attribute>* attributes = nullptr;
  if (array != arrays.end()) {
    attributes = &array->attributes;
  } else {
    if (is_added) {
      if (auto possible = check_is_owner(*file, call, owner, name); !possible.ok()) return possible;
    }
    auto group = std::find_if(groups.begin(), groups.end(), named);
    if (group == groups.end()) {
      group = groups.insert(group, storage::GroupDescription{.name = owner});
    }
    attributes = &group->attributes;
  }
  // Readers expect a fill value in the array's type, so it is converted if that type can hold it.
  if (array != arrays.end() && std::string_view(name) == storage::fill_attribute_name) {
    value = storage::numbers_as(array->type.kind(), value).value_or(value);
  }
  // An attribute that is given again has the later value.
  const auto same = std::find_if(attributes->begin(), attributes->end(),
                                 [&](const Attribute& one) { return one.name == name; });
  if (same != attributes->end()) {
    same->value = std::move(value);
  } else {
    attributes->push_back({name, std::move(value)});
  }
  return {};
}

template <typename Number>
Outcome give_numbers(weir_file* file, const char* call, const char* owner, const char* name,
                     std::int64_t count, const Number* values) {
  if (count < 1 || values == nullptr) {
    return bad_argument(fmt::format("{}: count is {}{}: give at least one number", call, count,
                                    values == nullptr ? " and values is null" : ""));
  }
  return give(file, call, owner, name, std::vector<Number>(values, values + count));
}

Outcome give_typed(weir_file* file, const char* call, const char* owner, const char* name,
                   const char* element_type, std::int64_t count, const void* values) {
  if (element_type == nullptr) return null_argument(call, "element_type");
  if (count < 1 || values == nullptr) {
    return bad_argument(fmt::format("{}: count is {}{}: give at least one number", call, count,
                                    values == nullptr ? " and values is null" : ""));
  }
  const auto type = array::ElementType::parse(element_type);
  if (!type) return outcome_of(type.error(), "element_type");
  // Counts beyond the limit are refused here, before the values are copied.
  const auto bytes = array::Shape::create({count});
  if (!bytes || !bytes.value().bytes(type.value())) {
    return bad_argument(fmt::format("{}: count is {}, which is too large", call, count));
  }
  auto value = storage::numbers_of(type.value().kind(),
                                   {static_cast<const std::byte*>(values),
                                    static_cast<std::size_t>(count * type.value().bytes())});
  if (!value) {
    return bad_argument(
        fmt::format("{}: attributes cannot have the type {}: give integers of 8 to 64 bits, "
                    "float32, float64 or bool",
                    call, type.value().name()));
  }
  return give(file, call, owner, name, *std::move(value));
}

Outcome give_texts(weir_file* file, const char* owner, const char* name, std::int64_t count,
                   const char* const* texts) {
  constexpr const char* call = "weir_file_attribute_texts";
  if (count < 0 || (texts == nullptr && count > 0)) {
    return bad_argument(fmt::format("{}: count is {}{}", call, count,
                                    texts == nullptr ? " and texts is null" : ""));
  }
  std::vector<std::string> list;
  for (std::int64_t i = 0; i < count; ++i) {
    const char* const one = *std::next(texts, i);
    if (one == nullptr) return bad_argument(fmt::format("{}: texts[{}] is null", call, i));
    list.emplace_back(one);
  }
  return give(file, call, owner, name, std::move(list));
}

std::int32_t kind_of(const Attribute& attribute) {
  const auto numbers = storage::number_kind(attribute.value);
  if (!numbers) return attribute.value.index() == 0 ? WEIR_TEXT : WEIR_TEXTS;
  const bool real =
      *numbers == array::ElementKind::float32 || *numbers == array::ElementKind::float64;
  return real ? WEIR_REALS : WEIR_INTEGERS;
}

// Finds the attribute, or returns why it cannot.
Outcome find(const weir_file* file, const char* call, const char* owner, const char* name,
             const Attribute** attribute) {
  if (file == nullptr) return null_argument(call, "file");
  if (owner == nullptr) return null_argument(call, "owner");
  if (name == nullptr) return null_argument(call, "name");
  const auto* const attributes = attributes_of(*file, owner);
  if (attributes != nullptr) {
    const auto found = std::find_if(attributes->begin(), attributes->end(),
                                    [&](const Attribute& one) { return one.name == name; });
    if (found != attributes->end()) {
      *attribute = &*found;
      return {};
    }
  }
  return bad_argument(fmt::format("{}: {} of {} has no attribute {}", call, quoted(owner),
                                  file->text, quoted(name)));
}

template <typename Number>
Outcome get_numbers(const weir_file* file, const char* call, const char* owner, const char* name,
                    std::int32_t kind, array::ElementKind as, std::int64_t room, Number* values) {
  const Attribute* attribute = nullptr;
  if (auto found = find(file, call, owner, name, &attribute); !found.ok()) return found;
  if (kind_of(*attribute) != kind) {
    return bad_argument(fmt::format("{}: attribute {} is of another kind", call, quoted(name)));
  }
  const auto wide = storage::numbers_as(as, attribute->value);
  if (!wide) {
    return bad_argument(fmt::format(
        "{}: attribute {} has a number above 2^63 - 1: read it with weir_file_get_numbers", call,
        quoted(name)));
  }
  const auto& numbers = std::get<std::vector<Number>>(*wide);
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (room < count || values == nullptr) {
    return bad_argument(
        fmt::format("{}: attribute {} has {} numbers, but room is {}: give at least that room",
                    call, quoted(name), count, values == nullptr ? 0 : room));
  }
  std::copy(numbers.begin(), numbers.end(), values);
  return {};
}

Outcome get_typed(const weir_file* file, const char* owner, const char* name, std::int64_t room,
                  void* values) {
  constexpr const char* call = "weir_file_get_numbers";
  const Attribute* attribute = nullptr;
  if (auto found = find(file, call, owner, name, &attribute); !found.ok()) return found;
  if (!storage::number_kind(attribute->value)) {
    return bad_argument(fmt::format("{}: attribute {} is text", call, quoted(name)));
  }
  const auto bytes = storage::number_bytes(attribute->value);
  if (room < std::ssize(bytes) || values == nullptr) {
    return bad_argument(fmt::format(
        "{}: attribute {} has {} bytes of numbers, but room is {}: give at least that room", call,
        quoted(name), bytes.size(), values == nullptr ? 0 : room));
  }
  std::memcpy(values, bytes.data(), bytes.size());
  return {};
}

Outcome get_texts(const weir_file* file, const char* owner, const char* name, std::int64_t room,
                  const char** texts) {
  constexpr const char* call = "weir_file_get_texts";
  const Attribute* attribute = nullptr;
  if (auto found = find(file, call, owner, name, &attribute); !found.ok()) return found;
  const auto* const list = std::get_if<std::vector<std::string>>(&attribute->value);
  if (list == nullptr) {
    return bad_argument(fmt::format("{}: attribute {} is not a list of texts", call, quoted(name)));
  }
  if (room < std::ssize(*list) || (texts == nullptr && !list->empty())) {
    return bad_argument(
        fmt::format("{}: attribute {} has {} texts, but room is {}: give at least that room", call,
                    quoted(name), list->size(), texts == nullptr ? 0 : room));
  }
  for (const std::string& one : *list) {
    *texts = one.c_str();
    texts = std::next(texts);
  }
  return {};
}

Outcome look_at(const weir_file* file, const char* owner, std::int64_t number, const char** name,
                std::int32_t* kind, std::int64_t* count) {
  constexpr const char* call = "weir_file_attribute";
  if (file == nullptr) return null_argument(call, "file");
  if (owner == nullptr) return null_argument(call, "owner");
  const auto* const attributes = attributes_of(*file, owner);
  if (attributes == nullptr || number < 0 ||
      number >= static_cast<std::int64_t>(attributes->size())) {
    return bad_argument(fmt::format("{}: {} of {} has no attribute of number {}", call,
                                    quoted(owner), file->text, number));
  }
  const Attribute& one = (*attributes)[static_cast<std::size_t>(number)];
  if (name != nullptr) *name = one.name.c_str();
  if (kind != nullptr) *kind = kind_of(one);
  if (count != nullptr) *count = static_cast<std::int64_t>(storage::attribute_count(one.value));
  return {};
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_file_attribute_text(weir_file* file, const char* owner, const char* name,
                             const char* text) {
  return weir::capi::report_outcome_of([&] {
    constexpr const char* call = "weir_file_attribute_text";
    if (text == nullptr) return weir::capi::null_argument(call, "text");
    return weir::capi::give(file, call, owner, name, std::string(text));
  });
}

int weir_file_attribute_integers(weir_file* file, const char* owner, const char* name,
                                 std::int64_t count, const std::int64_t* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::give_numbers(file, "weir_file_attribute_integers", owner, name, count,
                                    values);
  });
}

int weir_file_attribute_reals(weir_file* file, const char* owner, const char* name,
                              std::int64_t count, const double* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::give_numbers(file, "weir_file_attribute_reals", owner, name, count, values);
  });
}

std::int64_t weir_file_attributes(const weir_file* file, const char* owner) {
  constexpr const char* call = "weir_file_attributes";
  if (file == nullptr) return weir::capi::report(weir::capi::null_argument(call, "file"));
  if (owner == nullptr) return weir::capi::report(weir::capi::null_argument(call, "owner"));
  const auto* const attributes = weir::capi::attributes_of(*file, owner);
  if (attributes != nullptr) return static_cast<std::int64_t>(attributes->size());
  return weir::capi::report(
      weir::capi::bad_argument(fmt::format("{}: {} has no array or group {} with attributes", call,
                                           file->text, weir::capi::quoted(owner))));
}

int weir_file_attribute(const weir_file* file, const char* owner, std::int64_t number,
                        const char** name, std::int32_t* kind, std::int64_t* count) {
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::look_at(file, owner, number, name, kind, count); });
}

int weir_file_get_text(const weir_file* file, const char* owner, const char* name,
                       const char** text) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    constexpr const char* call = "weir_file_get_text";
    if (text == nullptr) return weir::capi::null_argument(call, "text");
    const weir::storage::Attribute* attribute = nullptr;
    if (auto found = weir::capi::find(file, call, owner, name, &attribute); !found.ok()) {
      return found;
    }
    const auto* const value = std::get_if<std::string>(&attribute->value);
    if (value == nullptr) {
      return weir::capi::bad_argument(
          fmt::format("{}: attribute {} is not a text", call, weir::capi::quoted(name)));
    }
    *text = value->c_str();
    return {};
  });
}

int weir_file_get_integers(const weir_file* file, const char* owner, const char* name,
                           std::int64_t room, std::int64_t* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::get_numbers(file, "weir_file_get_integers", owner, name, WEIR_INTEGERS,
                                   weir::array::ElementKind::int64, room, values);
  });
}

int weir_file_get_reals(const weir_file* file, const char* owner, const char* name,
                        std::int64_t room, double* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::get_numbers(file, "weir_file_get_reals", owner, name, WEIR_REALS,
                                   weir::array::ElementKind::float64, room, values);
  });
}

int weir_file_attribute_numbers(weir_file* file, const char* owner, const char* name,
                                const char* element_type, std::int64_t count, const void* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::give_typed(file, "weir_file_attribute_numbers", owner, name, element_type,
                                  count, values);
  });
}

int weir_file_attribute_texts(weir_file* file, const char* owner, const char* name,
                              std::int64_t count, const char* const* texts) {
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::give_texts(file, owner, name, count, texts); });
}

const char* weir_file_attribute_type(const weir_file* file, const char* owner, const char* name) {
  const weir::storage::Attribute* attribute = nullptr;
  const int code = weir::capi::report_outcome_of(
      [&] { return weir::capi::find(file, "weir_file_attribute_type", owner, name, &attribute); });
  return code == WEIR_OK ? weir::storage::attribute_type(attribute->value) : nullptr;
}

int weir_file_get_numbers(const weir_file* file, const char* owner, const char* name,
                          std::int64_t room, void* values) {
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::get_typed(file, owner, name, room, values); });
}

int weir_file_get_texts(const weir_file* file, const char* owner, const char* name,
                        std::int64_t room, const char** texts) {
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::get_texts(file, owner, name, room, texts); });
}

}  // extern "C"
