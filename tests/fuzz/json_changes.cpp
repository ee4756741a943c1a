#include "json_changes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace weir::fuzz {
namespace {

// A value in the text, and its member if it is in an object.
struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<std::size_t> name;  // where the member's name begins

  [[nodiscard]] std::size_t whole_begin() const { return name.value_or(begin); }
};

class Values {
 public:
  explicit Values(std::string_view text) : text_(text) {
    while (at_ < text_.size()) take_token();
    for (const std::size_t open : open_) found_[open].end = text_.size();
  }
  [[nodiscard]] std::vector<Value> found() && { return std::move(found_); }

 private:
  void take_token() {
    const char now = text_[at_];
    if (now == '"') {
      take_text();
    } else if (now == '[' || now == '{') {
      open_.push_back(found_.size());
      add(at_, at_ + 1);
      ++at_;
    } else if (now == ']' || now == '}') {
      ++at_;
      if (open_.empty()) return;
      found_[open_.back()].end = at_;
      open_.pop_back();
    } else if (is_between(now)) {
      ++at_;
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() && is_of_a_word(text_[at_])) ++at_;
      if (at_ == begin) ++at_;
      add(begin, at_);
    }
  }
  void take_text() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    std::size_t next = at_;
    while (next < text_.size() && std::isspace(static_cast<unsigned char>(text_[next])) != 0) {
      ++next;
    }
    if (next < text_.size() && text_[next] == ':') {
      name_ = begin;
    } else {
      add(begin, at_);
    }
  }
  void add(std::size_t begin, std::size_t end) {
    found_.push_back({begin, end, std::exchange(name_, std::nullopt)});
  }
  static bool is_between(char one) {
    return one == ',' || one == ':' || std::isspace(static_cast<unsigned char>(one)) != 0;
  }
  static bool is_of_a_word(char one) {
    return one != '"' && one != '[' && one != '{' && one != ']' && one != '}' && !is_between(one);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::size_t> name_;  // of the value that follows
  std::vector<std::size_t> open_;
  std::vector<Value> found_;
};

class Change {
 public:
  Change(std::string text, std::uint32_t seed, std::size_t most_bytes)
      : text_(std::move(text)), random_(seed), most_(most_bytes) {}

  std::string result() && { return std::move(text_); }

  void once() {
    values_ = Values(text_).found();
    if (values_.empty()) return;
    const std::size_t which = below(8);
    if (which == 0) return nest(values_[below(values_.size())]);
    const Value one = any_value();
    switch (which) {
      case 1:
        return repeat(one, false);
      case 2:
        return repeat(one, true);
      case 3:
        return replace(one.begin, one.end, other_value());
      case 4:
        return exchange(one, any_value());
      case 5:
        return remove(one);
      case 6:
        return lengthen(one);
      default:
        return rename(one, any_value());
    }
  }

 private:
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  // A number from 1 to `most`, small ones as often as large ones.
  std::size_t some(std::size_t most) {
    if (most == 0) return 0;
    std::size_t bits = 1;
    while (bits < 63 && most >> bits != 0) ++bits;
    return 1 + below(std::min(most, std::size_t{1} << below(bits + 1)));
  }
  [[nodiscard]] std::size_t room() const { return text_.size() < most_ ? most_ - text_.size() : 0; }
  // One within the document if there is one: without the whole, little is left to read.
  const Value& any_value() {
    return values_.size() == 1 ? values_[0] : values_[1 + below(values_.size() - 1)];
  }
  [[nodiscard]] std::string text_of(std::size_t begin, std::size_t end) const {
    return text_.substr(begin, end - begin);
  }

  // What would be too long is left out.
  void replace(std::size_t begin, std::size_t end, const std::string& by) {
    if (by.size() > room() + (end - begin)) return;
    text_.replace(begin, end - begin, by);
  }

  void nest(const Value& one) {
    static constexpr std::array<std::pair<std::string_view, char>, 3> forms = {
        {{"[", ']'}, {R"({"a":)", '}'}, {"[0,", ']'}}};
    const auto& [opening, closing] = forms.at(below(forms.size()));
    const std::size_t levels = some(room() / (opening.size() + 1));
    std::string nested;
    for (std::size_t i = 0; i < levels; ++i) nested += opening;
    nested += text_of(one.begin, one.end);
    nested.append(levels, closing);
    replace(one.begin, one.end, nested);
  }

  void repeat(const Value& one, bool by_other_names) {
    const std::string part = text_of(one.whole_begin(), one.end);
    constexpr std::size_t longest_number = 8;
    const bool numbered = by_other_names && one.name && part.starts_with('"');
    const std::size_t count = some(room() / (part.size() + 1 + (numbered ? longest_number : 0)));
    std::string more;
    for (std::size_t i = 0; i < count; ++i) {
      more += numbered ? ",\"" + std::to_string(i) + part.substr(1) : "," + part;
    }
    replace(one.end, one.end, more);
  }

  std::string other_value() {
    static constexpr std::array<std::string_view, 26> words = {"null",
                                                               "true",
                                                               "false",
                                                               "0",
                                                               "-1",
                                                               "-0.0",
                                                               "1",
                                                               "0.5",
                                                               "1e999",
                                                               "1e-999",
                                                               "4294967296",
                                                               "9223372036854775807",
                                                               "-9223372036854775808",
                                                               "18446744073709551615",
                                                               "18446744073709551616",
                                                               "[]",
                                                               "{}",
                                                               "[[]]",
                                                               R"("")",
                                                               R"("/")",
                                                               R"("..")",
                                                               R"("\u0000")",
                                                               R"("\ud800")",
                                                               R"("NaN")",
                                                               R"("\"")",
                                                               "NaN"};
    const std::size_t choice = below(words.size() + 6);
    if (choice < words.size()) return std::string(words.at(choice));
    if (choice % 2 == 0) {
      const Value& other = any_value();
      return text_of(other.begin, other.end);
    }
    const std::size_t length = some(room());
    return below(2) == 0 ? std::string(length, '9') : '"' + std::string(length, 'a') + '"';
  }

  void exchange(const Value& one, const Value& other) {
    const Value& first = one.begin < other.begin ? one : other;
    const Value& second = one.begin < other.begin ? other : one;
    if (first.end > second.begin) return;  // one is in the other
    const std::string of_first = text_of(first.begin, first.end);
    const std::string of_second = text_of(second.begin, second.end);
    text_.replace(second.begin, of_second.size(), of_first);
    text_.replace(first.begin, of_first.size(), of_second);
  }

  void remove(const Value& one) {
    std::size_t begin = one.whole_begin();
    std::size_t end = one.end;
    const std::size_t next = text_.find_first_not_of(" \t\r\n", end);
    if (next != std::string::npos && text_[next] == ',') {
      end = next + 1;
    } else if (begin > 0) {
      const std::size_t before = text_.find_last_not_of(" \t\r\n", begin - 1);
      if (before != std::string::npos && text_[before] == ',') begin = before;
    }
    text_.erase(begin, end - begin);
  }

  // A text or number gets more letters or digits; an escape is a single letter of a text.
  void lengthen(const Value& one) {
    static constexpr std::array<std::string_view, 4> letters = {"a", R"(\n)", R"(\u0000)", "é"};
    const bool is_text = text_[one.begin] == '"';
    if (!is_text && std::isdigit(static_cast<unsigned char>(text_[one.end - 1])) == 0) return;
    const std::string_view letter = is_text ? letters.at(below(letters.size())) : "0";
    const std::size_t count = some(room() / letter.size());
    std::string more;
    for (std::size_t i = 0; i < count; ++i) more += letter;
    const std::size_t place = is_text ? one.begin + 1 : one.end;
    replace(place, place, more);
  }

  void rename(const Value& one, const Value& other) {
    if (!one.name || !other.name) return;
    const auto name_of = [&](const Value& member) {
      const std::size_t colon = text_.rfind(':', member.begin);
      return text_of(*member.name, std::max(*member.name, colon));
    };
    replace(*one.name, *one.name + name_of(one).size(), name_of(other));
  }

  std::string text_;
  std::minstd_rand random_;
  std::size_t most_;
  std::vector<Value> values_;
};

}  // namespace

std::string change_json(std::string text, std::uint32_t seed, std::size_t most_bytes) {
  Change change(std::move(text), seed, most_bytes);
  for (std::uint32_t i = 0; i <= seed % 4; ++i) change.once();
  return std::move(change).result();
}

}  // namespace weir::fuzz
