// Attributes of files, groups and arrays: given before a file is laid out, looked at at any time.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "capi/extents_argument.hpp"
#include "capi/session.hpp"

namespace weir::capi {
namespace {

using storage::Attribute;

// Those of an owner that has or may have some; null when there is no such array or group.
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

Outcome give(weir_file* file, const char* call, const char* owner, const char* name,
             Attribute::Value value) {
  if (file == nullptr) return null_argument(call, "file");
  if (owner == nullptr) return null_argument(call, "owner");
  if (name == nullptr) return null_argument(call, "name");
  if (file->open != nullptr) {
    return bad_argument(
        fmt::format("{}: {} is laid out: give attributes before its first step", call, file->text));
  }
  auto& described = file->description;
  const auto named = [&](const auto& one) { return one.name == owner; };
  const auto array = std::find_if(described.arrays.begin(), described.arrays.end(), named);
  std::vector<Attribute>* attributes = nullptr;
  if (array != described.arrays.end()) {
    attributes = &array->attributes;
  } else {
    auto group = std::find_if(described.groups.begin(), described.groups.end(), named);
    if (group == described.groups.end()) {
      group = described.groups.insert(group, storage::GroupDescription{.name = owner});
    }
    attributes = &group->attributes;
  }
  // Given again, it has the later value.
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

// The attribute, or why there is none.
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
                    std::int64_t room, Number* values) {
  const Attribute* attribute = nullptr;
  if (auto found = find(file, call, owner, name, &attribute); !found.ok()) return found;
  const auto* const numbers = std::get_if<std::vector<Number>>(&attribute->value);
  if (numbers == nullptr) {
    return bad_argument(fmt::format("{}: attribute {} is of another kind", call, quoted(name)));
  }
  const auto count = static_cast<std::int64_t>(numbers->size());
  if (room < count || values == nullptr) {
    return bad_argument(fmt::format("{}: attribute {} has {} numbers, there is room for {}", call,
                                    quoted(name), count, values == nullptr ? 0 : room));
  }
  std::copy(numbers->begin(), numbers->end(), values);
  return {};
}

std::int32_t kind_of(const Attribute& attribute) {
  switch (attribute.value.index()) {
    case 0:
      return WEIR_TEXT;
    case 1:
      return WEIR_INTEGERS;
    default:
      return WEIR_REALS;
  }
}

std::int64_t count_of(const Attribute& attribute) {
  return std::visit([](const auto& value) { return static_cast<std::int64_t>(value.size()); },
                    attribute.value);
}

Outcome look_at(const weir_file* file, const char* owner, std::int64_t number, const char** name,
                std::int32_t* kind, std::int64_t* count) {
  constexpr const char* call = "weir_file_attribute";
  if (file == nullptr) return null_argument(call, "file");
  if (owner == nullptr) return null_argument(call, "owner");
  const auto* const attributes = attributes_of(*file, owner);
  if (attributes == nullptr || number < 0 ||
      number >= static_cast<std::int64_t>(attributes->size())) {
    return bad_argument(fmt::format("{}: {} of {} has no attribute number {}", call, quoted(owner),
                                    file->text, number));
  }
  const Attribute& one = (*attributes)[static_cast<std::size_t>(number)];
  if (name != nullptr) *name = one.name.c_str();
  if (kind != nullptr) *kind = kind_of(one);
  if (count != nullptr) *count = count_of(one);
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
          fmt::format("{}: attribute {} is no text", call, weir::capi::quoted(name)));
    }
    *text = value->c_str();
    return {};
  });
}

int weir_file_get_integers(const weir_file* file, const char* owner, const char* name,
                           std::int64_t room, std::int64_t* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::get_numbers(file, "weir_file_get_integers", owner, name, room, values);
  });
}

int weir_file_get_reals(const weir_file* file, const char* owner, const char* name,
                        std::int64_t room, double* values) {
  return weir::capi::report_outcome_of([&] {
    return weir::capi::get_numbers(file, "weir_file_get_reals", owner, name, room, values);
  });
}

}  // extern "C"
