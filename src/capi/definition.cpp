#include "capi/definition.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "array/fingerprint.hpp"

namespace weir::capi {
namespace {

class Definition {
 public:
  void add(const storage::FileDescription& file);
  [[nodiscard]] std::string text() const { return fmt::format("definition {:016x}", all_.value()); }

 private:
  void add(std::uint64_t number) { all_.add(static_cast<std::int64_t>(number)); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (const char letter : text) add(std::uint64_t{static_cast<unsigned char>(letter)});
  }
  void add(const std::vector<storage::Attribute>& attributes);

  array::Fingerprint all_;
};

void Definition::add(const storage::FileDescription& file) {
  const auto add_numbers = [&](const std::optional<array::Indices>& numbers) {
    add(static_cast<std::uint64_t>(numbers ? numbers->size() : -1));
    for (int d = 0; numbers && d < numbers->size(); ++d) {
      add(static_cast<std::uint64_t>((*numbers)[d]));
    }
  };
  for (const storage::ArrayDescription& one : file.arrays) {
    add(one.name);
    add_numbers(one.shape.extents());
    add(one.type.name());
    const bool column_major = one.order == array::Order::column_major;
    add(std::uint64_t{column_major} << 1U | std::uint64_t{one.grows});
    add_numbers(one.chunk_extents);
    add_numbers(one.shard_extents);
    add(std::uint64_t{one.dimension_names.size()});
    for (const std::string& name : one.dimension_names) add(name);
    add(one.fill.size());
    for (const std::byte byte : one.fill) add(std::to_integer<std::uint64_t>(byte));
    if (!one.codecs.empty()) add(storage::pipeline_text(one.codecs));
    add(one.attributes);
  }
  for (const storage::GroupDescription& one : file.groups) {
    add(one.name);
    add(one.attributes);
  }
  add(static_cast<std::uint64_t>(file.alignment));
  add(file.striping.text());
}

void Definition::add(const std::vector<storage::Attribute>& attributes) {
  add(attributes.size());
  for (const storage::Attribute& one : attributes) {
    add(one.name);
    add(one.value.index());
    if (const auto* text = std::get_if<std::string>(&one.value)) add(*text);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&one.value)) {
      add(texts->size());
      for (const std::string& text : *texts) add(text);
    }
    const auto bytes = storage::number_bytes(one.value);
    add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

}  // namespace

std::string definition_text(const storage::FileDescription& file) {
  Definition all;
  all.add(file);
  return all.text();
}

}  // namespace weir::capi
