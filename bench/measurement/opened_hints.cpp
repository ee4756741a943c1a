#include "measurement/opened_hints.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace weir::bench {

using nlohmann::ordered_json;

OpenedHints::Hints OpenedHints::hints_in(MPI_Info info) {
  Hints hints;
  if (info == MPI_INFO_NULL) return hints;
  int count = 0;
  MPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> name{};
    MPI_Info_get_nthkey(info, i, name.data());
    int length = 0;
    int found = 0;
    MPI_Info_get_valuelen(info, name.data(), &length, &found);
    if (found == 0) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    MPI_Info_get(info, name.data(), length, value.data(), &found);
    if (found == 0) continue;
    value.resize(value.find('\0'));
    hints[name.data()] = std::move(value);
  }
  return hints;
}

bool OpenedHints::lacks(bool writing) const {
  const auto known = openings_.find(current_);
  return known == openings_.end() || !known->second.at(writing ? 1 : 0);
}

void OpenedHints::note(bool writing, MPI_Info given, MPI_Info effective) {
  openings_[current_].at(writing ? 1 : 0) = {hints_in(given), hints_in(effective)};
}

ordered_json OpenedHints::record(std::size_t configuration) const {
  ordered_json all = ordered_json::array();
  const auto known = openings_.find(configuration);
  if (known == openings_.end()) return all;
  for (const bool writing : {true, false}) {
    const std::optional<Opening>& opening = known->second.at(writing ? 1 : 0);
    if (!opening) continue;
    all.push_back({{"opened_for", writing ? "writing" : "reading"},
                   {"given", opening->given},
                   {"effective", opening->effective}});
  }
  return all;
}

}  // namespace weir::bench
