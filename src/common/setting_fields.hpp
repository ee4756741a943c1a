// Settings that fill the fields of a struct. A table declares each setting once, with the field
// that it fills; the field's type says which values the setting has:
//
//   FieldSettings<Options> table() {
//     return {
//         {&Options::files, "files", "number of files", {.metavar = "N", .range = {1, 1e6}}},
//         {&Options::by_reading, {{"stat", false}, {"read", true}}, "poll", "how a rank polls"},
//     };
//   }
//
// declarations_of() gives the declarations, and fill() fills a struct from resolved settings. The
// settings of a table that varying() returns are lists instead; combinations() makes a struct for
// each combination of their values.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"

namespace weir {

// A word on the command line, and the value that it stands for.
template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

// Returns the word for a value; empty if there is none.
template <typename Words, typename Value>
[[nodiscard]] std::string_view word_for(const Words& words, const Value& value) {
  for (const auto& one : words) {
    if (one.value == value) return one.word;
  }
  return {};
}

// Reads a value whose text has been checked.
void read_setting(const std::string& text, bool* value);
void read_setting(const std::string& text, double* value);
void read_setting(const std::string& text, std::string* value);
void read_setting(const std::string& text, std::int64_t* value);  // also a size such as 64k
template <std::integral Number>
void read_setting(const std::string& text, Number* value) {
  std::int64_t number = 0;
  read_setting(text, &number);
  *value = static_cast<Number>(number);
}
template <typename Value>
void read_setting(const std::string& text, std::optional<Value>* value) {
  read_setting(text, &value->emplace());
}

// Declares the kind and the range that the type of a field implies.
template <typename Value>
struct SettingForm {
  static void put(Setting* setting) {
    if constexpr (std::is_same_v<Value, bool>) {
      setting->kind = SettingKind::flag;
      if (setting->default_value.empty()) setting->default_value = "false";
    } else if constexpr (std::is_integral_v<Value>) {
      if (setting->kind == SettingKind::text) setting->kind = SettingKind::integer;
      const auto most = static_cast<double>(std::numeric_limits<Value>::max());
      if (sizeof(Value) < sizeof(std::int64_t) && setting->range.most > most) {
        setting->range.most = most;
      }
    } else if constexpr (std::is_floating_point_v<Value>) {
      setting->kind = SettingKind::real;
    } else if (!setting->choices.empty()) {
      setting->kind = SettingKind::choice;
    }
  }
};
template <typename Value>
struct SettingForm<std::optional<Value>> : SettingForm<Value> {};

template <typename Struct>
class FieldSetting {
 public:
  // `field` is a pointer to a member, or a function that returns a reference to a field. `more` is
  // the rest of the declaration.
  template <typename Access>
  using FieldOf = std::remove_reference_t<std::invoke_result_t<Access, Struct&>>;

  template <typename Access>
  FieldSetting(Access field, std::string_view name, std::string_view help, Setting more = {})
      : setting_(named(name, help, std::move(more))) {
    SettingForm<FieldOf<Access>>::put(&setting_);
    fill_ = [field](const std::string& text, Struct* object) {
      read_setting(text, &std::invoke(field, *object));
    };
    if constexpr (std::is_integral_v<FieldOf<Access>>) {
      show_ = [field](Struct object) { return std::to_string(std::invoke(field, object)); };
    }
  }

  // The values are the `words`.
  template <typename Access, typename Field = FieldOf<Access>>
  FieldSetting(Access field, std::vector<Word<Field>> words, std::string_view name,
               std::string_view help, Setting more = {})
      : setting_(named(name, help, std::move(more))) {
    setting_.kind = SettingKind::choice;
    for (const auto& one : words) setting_.choices.push_back(one.word);
    show_ = [field, words](Struct object) {
      return std::string(word_for(words, std::invoke(field, object)));
    };
    fill_ = [field, words = std::move(words)](const std::string& text, Struct* object) {
      for (const auto& one : words) {
        if (one.word == text) std::invoke(field, *object) = one.value;
      }
    };
  }

  // `parse` returns the field's value for a text. The message of its error follows the text, such
  // as "is not a colour".
  template <typename Access, typename Field = FieldOf<Access>>
  FieldSetting(Access field, Result<Field> (*parse)(const std::string& text), std::string_view name,
               std::string_view help, Setting more = {})
      : setting_(named(name, help, std::move(more))) {
    setting_.complaint = [parse](const std::string& text) {
      const auto parsed = parse(text);
      return parsed ? std::nullopt : std::optional(parsed.error().message);
    };
    fill_ = [field, parse](const std::string& text, Struct* object) {
      if (auto parsed = parse(text)) std::invoke(field, *object) = std::move(parsed).value();
    };
  }

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] Setting& setting() { return setting_; }
  void fill(const std::string& text, Struct* object) const { fill_(text, object); }
  // Returns the text of the field's value. For whole numbers and words.
  [[nodiscard]] std::string show(const Struct& object) const { return show_(object); }

 private:
  static Setting named(std::string_view name, std::string_view help, Setting more) {
    more.name = name;
    more.help = help;
    return more;
  }

  Setting setting_;
  std::function<void(const std::string& text, Struct* object)> fill_;
  std::function<std::string(Struct object)> show_;
};

template <typename Struct>
using FieldSettings = std::vector<FieldSetting<Struct>>;

// Makes each setting a list, whose values are different configurations.
template <typename Struct>
[[nodiscard]] FieldSettings<Struct> varying(FieldSettings<Struct> table) {
  for (FieldSetting<Struct>& one : table) {
    const bool words = one.setting().kind == SettingKind::choice;
    one.setting().kind = words ? SettingKind::choices : SettingKind::sizes;
  }
  return table;
}

// Returns the declarations of several tables, in their order.
template <typename... Structs>
[[nodiscard]] std::vector<Setting> declarations_of(const FieldSettings<Structs>&... tables) {
  std::vector<Setting> all;
  const auto add = [&](const auto& table) {
    for (const auto& one : table) all.push_back(one.setting());
  };
  (add(tables), ...);
  return all;
}

// Fills the fields of all settings that have a value.
template <typename Struct>
void fill(const Settings& settings, const FieldSettings<Struct>& table, Struct* object) {
  for (const FieldSetting<Struct>& one : table) {
    const std::string_view name = one.setting().name;
    if (settings.has(name)) one.fill(settings.text(name), object);
  }
}

// Returns a struct for each combination of values; the last setting's values vary fastest. A
// setting without a value leaves its field as it is in `start`.
template <typename Struct>
[[nodiscard]] std::vector<Struct> combinations(const Settings& settings,
                                               const FieldSettings<Struct>& table,
                                               Struct start = {}) {
  std::vector<Struct> all{std::move(start)};
  for (const FieldSetting<Struct>& one : table) {
    const std::string_view name = one.setting().name;
    if (!settings.has(name)) continue;
    const std::vector<std::string> values = settings.list(name);
    std::vector<Struct> more;
    more.reserve(all.size() * values.size());
    for (const Struct& so_far : all) {
      for (const std::string& value : values) {
        more.push_back(so_far);
        one.fill(value, &more.back());
      }
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace weir
