#include "topology/io_groups_choice.hpp"

#include <fmt/format.h>

namespace weir::topology {
namespace {

constexpr std::string_view discover = "discover";

// Takes the source and the file of "SOURCE" or "SOURCE:FILE"; nothing if the text is neither.
std::optional<IoGroupsChoice> parse_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_colon = colon != std::string_view::npos;
  const bool has_file = has_colon && colon + 1 < text.size();
  const std::string_view word = text.substr(0, colon);
  const auto source = source_named(word);
  if (!source && word != discover) return std::nullopt;
  const bool needs_file = source == PlaceSource::description || source == PlaceSource::infiniband;
  const bool takes_file = needs_file || !source;
  if ((needs_file || has_colon) && !(takes_file && has_file)) return std::nullopt;
  IoGroupsChoice choice;
  choice.source = word;
  if (has_file) choice.file = text.substr(colon + 1);
  return choice;
}

}  // namespace

Result<IoGroupsChoice> IoGroupsChoice::parse(std::string_view text) {
  if (auto told = parse_source(text)) return *std::move(told);
  auto given = IoGroups::parse(text);
  if (!given) {
    return invalid_argument(fmt::format(
        "{}, or lnet, slurm, cray or discover for those that the system tells, or "
        "description:FILE, infiniband:FILE or discover:FILE for those that a file names",
        given.error().message));
  }
  IoGroupsChoice choice;
  choice.groups = std::move(given).value();
  return choice;
}

std::string IoGroupsChoice::text() const {
  if (!source.empty()) return fmt::format("{}:{}", source, file);
  return groups ? groups->text() : "-";
}

}  // namespace weir::topology
