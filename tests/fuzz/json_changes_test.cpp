#include "json_changes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace weir::fuzz {
namespace {

// Says what one document has, and its size.
struct Form {
  bool is_json = false;
  std::size_t levels = 0;
  std::size_t members = 0;  // of one object
  bool has_double_names = false;
  std::size_t longest = 0;  // bytes of a text
};

// Counts while the library parses, which does not recurse.
class Forms : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Forms(Form& form) : form_(&form) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return true; }
  bool string(std::string& value) override {
    form_->longest = std::max(form_->longest, value.size());
    return true;
  }
  bool start_object(std::size_t /*members*/) override { return begin(); }
  bool key(std::string& name) override {
    auto& names = names_.back();
    form_->has_double_names = form_->has_double_names || !names.insert(name).second;
    form_->members = std::max(form_->members, names.size());
    return true;
  }
  bool end_object() override { return end(); }
  bool start_array(std::size_t /*values*/) override { return begin(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  bool begin() {
    names_.emplace_back();
    form_->levels = std::max(form_->levels, names_.size());
    return true;
  }
  bool end() {
    names_.pop_back();
    return true;
  }

  Form* form_;
  std::vector<std::set<std::string>> names_;
};

Form form_of(const std::string& text) {
  Form form;
  Forms forms(form);
  form.is_json = nlohmann::json::sax_parse(text, &forms);
  return form;
}

constexpr const char* document = R"({"zarr_format": 3, "shape": [4, 6], "text": "x\"y",
  "attributes": {"a": {"b": null}, "c": [true, "d"]}, "codecs": [{"name": "bytes"}, {"name": 1}]})";

TEST(JsonChanges, LeaveMostlyJsonOfEveryForm) {
  constexpr std::size_t most_bytes = std::size_t{1} << 16;
  constexpr std::uint32_t changes = 2000;
  std::uint32_t json = 0;
  Form all;
  for (std::uint32_t seed = 0; seed < changes; ++seed) {
    const std::string changed = change_json(document, seed, most_bytes);
    ASSERT_LE(changed.size(), most_bytes);
    EXPECT_EQ(changed, change_json(document, seed, most_bytes)) << "a seed always does the same";
    const Form form = form_of(changed);
    if (!form.is_json) continue;
    ++json;
    all.levels = std::max(all.levels, form.levels);
    all.members = std::max(all.members, form.members);
    all.longest = std::max(all.longest, form.longest);
    all.has_double_names = all.has_double_names || form.has_double_names;
  }
  EXPECT_GT(json, changes * 3 / 4);
  EXPECT_GT(all.levels, 10000U);
  EXPECT_GT(all.members, 1000U);
  EXPECT_GT(all.longest, 10000U);
  EXPECT_TRUE(all.has_double_names);
}

TEST(JsonChanges, TakeWhateverTextThereIs) {
  for (const std::string text : {"", " ", "\"", "\"\\", "]", "[", "{\"a\":", "\xff", "[1,2", "1"}) {
    std::string changed = text;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      changed = change_json(changed, seed, 100);
      ASSERT_LE(changed.size(), 100U) << text;
    }
  }
}

}  // namespace
}  // namespace weir::fuzz
