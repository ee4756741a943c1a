#include "aggregation/call_fingerprint.hpp"

#include <string>
#include <variant>

namespace weir::aggregation {

const char* name_of(Argument argument) {
  switch (argument) {
    case Argument::call:
      return "the call itself or its number of arrays";
    case Argument::settings:
      return "the settings";
    case Argument::files:
      return "the array on disk";
    case Argument::distributions:
      return "the distribution in memory";
    case Argument::sections:
      return "the section";
  }
  return "";
}

void CallFingerprint::add(Argument argument, std::string_view text) {
  add(argument, std::uint64_t{text.size()});
  for (const char c : text) {
    add(argument, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
}

void CallFingerprint::add(const array::Section& section) {
  array::Fingerprint& sections = of_kind_.at(static_cast<std::size_t>(Argument::sections));
  sections.add(section.start);
  sections.add(section.count);
  sections.add(section.stride);
}

void CallFingerprint::add(const storage::FileDescription& file) {
  const auto add_numbers = [&](const std::optional<array::Indices>& numbers) {
    add(Argument::files, static_cast<std::uint64_t>(numbers ? numbers->size() : -1));
    for (int d = 0; numbers && d < numbers->size(); ++d) {
      add(Argument::files, static_cast<std::uint64_t>((*numbers)[d]));
    }
  };
  for (const storage::ArrayDescription& one : file.arrays) {
    add(Argument::files, one.name);
    add_numbers(one.shape.extents());
    add(Argument::files, one.type.name());
    const bool column_major = one.order == array::Order::column_major;
    add(Argument::files, std::uint64_t{column_major} << 1U | std::uint64_t{one.grows});
    add_numbers(one.chunk_extents);
    add_numbers(one.shard_extents);
    add(Argument::files, std::uint64_t{one.dimension_names.size()});
    for (const std::string& name : one.dimension_names) add(Argument::files, name);
    add(Argument::files, one.fill.size());
    for (const std::byte byte : one.fill)
      add(Argument::files, std::to_integer<std::uint64_t>(byte));
    if (!one.codecs.empty()) add(Argument::files, storage::pipeline_text(one.codecs));
    add(one.attributes);
  }
  for (const storage::GroupDescription& one : file.groups) {
    add(Argument::files, one.name);
    add(one.attributes);
  }
  add(Argument::files, static_cast<std::uint64_t>(file.alignment));
  add(Argument::files, file.striping.text());
}

void CallFingerprint::add(const std::vector<storage::Attribute>& attributes) {
  add(Argument::files, attributes.size());
  for (const storage::Attribute& one : attributes) {
    add(Argument::files, one.name);
    add(Argument::files, one.value.index());
    if (const auto* text = std::get_if<std::string>(&one.value)) add(Argument::files, *text);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&one.value)) {
      add(Argument::files, texts->size());
      for (const std::string& text : *texts) add(Argument::files, text);
    }
    const auto bytes = storage::number_bytes(one.value);
    add(Argument::files,
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

}  // namespace weir::aggregation
