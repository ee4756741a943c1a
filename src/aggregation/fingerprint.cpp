#include "aggregation/fingerprint.hpp"

#include "array/explicit_distribution.hpp"

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

void Fingerprint::add(Argument argument, std::uint64_t number) {
  std::uint64_t& hash = hashes_.at(static_cast<std::size_t>(argument));
  hash ^= number;
  hash *= 0x100000001b3;
  hash ^= hash >> 29;
}

void Fingerprint::add(Argument argument, std::string_view text) {
  add(argument, std::uint64_t{text.size()});
  for (const char c : text)
    add(argument, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
}

void Fingerprint::add(const array::Distribution& distribution) {
  const auto number = [&](std::int64_t value) {
    add(Argument::distributions, static_cast<std::uint64_t>(value));
  };
  for (const std::int64_t extent : distribution.shape().extents()) number(extent);
  if (const array::RegularDistribution* const regular = distribution.regular()) {
    add(Argument::distributions, regular->text());
    return;
  }
  const array::ExplicitDistribution& boxes = *distribution.explicit_boxes();
  number(boxes.ranks());
  for (std::int64_t rank = 0; rank < boxes.ranks(); ++rank) number(boxes.first_box(rank));
  for (const std::int64_t value : boxes.boxes().numbers()) number(value);
}

void Fingerprint::add(const array::Region& section) {
  for (int d = 0; d < section.dimensions(); ++d) {
    const array::IndexBlocks& along = section.along(d);
    for (const std::int64_t value :
         {along.lower(), along.upper(), along.origin(), along.length(), along.stride()}) {
      add(Argument::sections, static_cast<std::uint64_t>(value));
    }
  }
}

}  // namespace weir::aggregation
