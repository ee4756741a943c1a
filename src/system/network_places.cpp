#include "system/network_places.hpp"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "system/text_file.hpp"

namespace weir::storage {
namespace {

// Returns the text of a file, or nothing.
std::optional<std::string> text_at(const std::string& path) {
  constexpr std::size_t most_place_bytes = 1 << 20;
  auto text = read_text_file(path, most_place_bytes);
  if (!text || text.value().size() > most_place_bytes) return std::nullopt;
  return std::move(text).value();
}

std::string without_space_around(std::string text) {
  constexpr std::string_view spaces = " \t\r\n";
  text.erase(text.find_last_not_of(spaces) + 1);
  text.erase(0, text.find_first_not_of(spaces));
  return text;
}

topology::NodePlace place_of(topology::PlaceSource source, const Variable& variable,
                             const std::string& host, const std::string& root) {
  switch (source) {
    case topology::PlaceSource::description:
    case topology::PlaceSource::infiniband:
      return {};
    case topology::PlaceSource::lnet:
      return topology::place_by_lnet(host, text_at(root + "/proc/sys/lnet/routes").value_or(""));
    case topology::PlaceSource::slurm:
      return topology::place_by_slurm(variable("SLURM_TOPOLOGY_ADDR").value_or(""),
                                      variable("SLURM_TOPOLOGY_ADDR_PATTERN").value_or(""));
    case topology::PlaceSource::cray: {
      auto name = text_at(root + "/proc/cray_xt/cname");
      if (!name) name = text_at(root + "/etc/cray/xname");
      return topology::place_by_cray(without_space_around(name.value_or(host)));
    }
  }
  return {};
}

}  // namespace

topology::NodePlaces network_places(std::optional<topology::PlaceSource> only,
                                    const Variable& variable, const std::string& host,
                                    const std::string& root) {
  topology::NodePlaces places{};
  for (const topology::PlaceSource source : topology::place_sources) {
    if (only && *only != source) continue;
    places.at(static_cast<std::size_t>(source)) = place_of(source, variable, host, root);
  }
  return places;
}

std::vector<std::int64_t> infiniband_lids(const std::string& root) {
  constexpr std::size_t most_ports = 256;
  constexpr std::int64_t largest_unicast = 0xbfff;
  std::vector<std::int64_t> lids;
  std::error_code gone;
  std::size_t looked_at = 0;
  for (const auto& device :
       std::filesystem::directory_iterator(root + "/sys/class/infiniband", gone)) {
    for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", gone)) {
      if (++looked_at > most_ports) return lids;
      const std::string text = without_space_around(text_at(port.path() / "lid").value_or(""));
      if (!text.starts_with("0x")) continue;
      std::int64_t lid = 0;
      const char* const end = text.data() + text.size();
      const auto [last, error] = std::from_chars(text.data() + 2, end, lid, 16);
      if (error != std::errc() || last != end || lid < 1 || lid > largest_unicast) continue;
      lids.push_back(lid);
    }
  }
  return lids;
}

}  // namespace weir::storage
