#include "measurement/mpi_hints.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "measurement/system_text.hpp"

namespace weir::bench {
Result<MpiHints> MpiHints::read(const std::string& path, const storage::Striping& striping) {
  MpiHints hints;
  // The first two hints are MPI's own, for which -1 also means all. The third is ROMIO's and counts
  // from 0. There is no hint for pools.
  hints.set("striping_factor", striping.count);
  hints.set("striping_unit", striping.stripe_bytes);
  if (striping.first_target > 0) hints.add("start_iodevice", striping.first_target - 1);
  if (path.empty()) return hints;
  std::ifstream file(path);
  if (!file) return invalid_argument(fmt::format("--hints {}: the file cannot be read", path));
  if (hints.info_ == MPI_INFO_NULL) MPI_Info_create(&hints.info_);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    constexpr std::string_view prefix = "IOR_HINT__MPI__";
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    const std::size_t equals = text.find('=');
    const std::string name(trimmed(text.substr(0, equals)));
    const std::string value(equals == std::string_view::npos ? ""
                                                             : trimmed(text.substr(equals + 1)));
    if (name.empty() || value.empty() || name.size() > MPI_MAX_INFO_KEY ||
        value.size() > MPI_MAX_INFO_VAL) {
      return invalid_argument(fmt::format("--hints {}: line {} is not NAME = VALUE", path, number));
    }
    MPI_Info_set(hints.info_, name.c_str(), value.c_str());
  }
  return hints;
}

MpiHints::MpiHints(MpiHints&& other) noexcept : info_(std::exchange(other.info_, MPI_INFO_NULL)) {}

void MpiHints::set(const char* name, std::int64_t value) {
  if (value != 0) add(name, value);
}

void MpiHints::add(const char* name, std::int64_t value) {
  if (info_ == MPI_INFO_NULL) MPI_Info_create(&info_);
  MPI_Info_set(info_, name, fmt::format("{}", value).c_str());
}

MpiHints::~MpiHints() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

}  // namespace weir::bench
