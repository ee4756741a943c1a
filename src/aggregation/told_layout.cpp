#include "aggregation/told_layout.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <locale>
#include <sstream>
#include <string_view>
#include <utility>

#include "storage/file_targets.hpp"
#include "storage/formats/file_map_message.hpp"

namespace weir::aggregation {
namespace {

// A line of numbers, then the texts that it gives the lengths of, then the map.
std::string text_of(const ToldLayout& told) {
  std::string text =
      fmt::format("{} {} {} {} {} {}\n", told.targets.count, told.targets.stripe_bytes,
                  told.targets.lock_bytes, told.format.size(), told.path.size(), told.sums.size());
  return text + told.format + told.path + told.sums + storage::message_of(told.map);
}

Result<ToldLayout> layout_of(const std::string& text) {
  ToldLayout told;
  std::istringstream numbers(text.substr(0, text.find('\n')));
  numbers.imbue(std::locale::classic());  // the program's may group digits
  std::size_t format = 0;
  std::size_t path = 0;
  std::size_t sums = 0;
  numbers >> told.targets.count >> told.targets.stripe_bytes >> told.targets.lock_bytes >> format >>
      path >> sums;
  std::size_t at = text.find('\n') + 1;
  const auto take = [&](std::size_t bytes) {
    std::string part = text.substr(at, bytes);
    at += part.size();
    return part;
  };
  told.format = take(format);
  told.path = take(path);
  told.sums = take(sums);
  auto map = storage::parse_file_map(std::string_view(text).substr(at));
  if (!map) return map.error();
  told.map = std::move(map).value();
  return told;
}

}  // namespace

topology::FileTargets targets_of(const storage::FileMap& map, const std::string& path) {
  const auto asked =
      storage::file_targets(map.arrays.empty() ? path : map.arrays.front().map.files.path(0));
  return asked ? asked.value() : topology::FileTargets();
}

Result<ToldLayout> ask_for_layout(CollectiveState& state, const Asked* asked,
                                  const Status& possible, const CallFingerprint& fingerprint,
                                  const std::function<Result<ToldLayout>()>& find,
                                  const std::string& path) {
  const auto find_text = [&]() -> Result<std::string> {
    const auto found = find();
    if (found) return text_of(found.value());
    Error error = found.error();
    if (error.file.empty()) error.file = path;
    return error;
  };
  const auto told = ask_rank_0(state, asked, possible, fingerprint, find_text, "the file's layout");
  if (!told) return told.error();
  return layout_of(told.value());
}

}  // namespace weir::aggregation
