#include "aggregation/call_fingerprint.hpp"

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
  for (const array::Indices& numbers : {section.start, section.count, section.stride}) {
    of_kind_.at(static_cast<std::size_t>(Argument::sections)).add(numbers);
  }
}

}  // namespace weir::aggregation
