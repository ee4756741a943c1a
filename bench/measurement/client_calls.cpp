#include "measurement/client_calls.hpp"

#include <mpi.h>

#include <sstream>
#include <vector>

#include "measurement/system_text.hpp"
#include "system/mounts.hpp"

namespace weir::bench {
namespace {

// Returns the mount point in "device server:/export mounted on /mnt with fstype nfs4 statvers=1.1".
std::optional<std::string> point_of(std::string_view line) {
  constexpr std::string_view before = " mounted on ";
  constexpr std::string_view after = " with fstype ";
  const std::size_t begin = line.find(before);
  const std::size_t end = line.rfind(after);
  if (!line.starts_with("device ") || begin == std::string_view::npos ||
      end == std::string_view::npos || end < begin + before.size()) {
    return std::nullopt;
  }
  return storage::plain_path(line.substr(begin + before.size(), end - begin - before.size()));
}

// Adds the name and the number of calls of a line such as "GETATTR: 12 12 0 2064 2880 0 5 6".
bool add_call(std::string_view line, CallCounts& calls) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view figures = trimmed(line.substr(colon + 1));
  const auto count = parse_integer(figures.substr(0, figures.find(' ')));
  if (!count || *count < 0) return false;
  calls[std::string(trimmed(line.substr(0, colon)))] = *count;
  return true;
}

std::string text_of(const std::optional<CallCounts>& calls) {
  if (!calls) return "? 0\n";
  std::string text;
  for (const auto& [name, count] : *calls) text += name + " " + std::to_string(count) + "\n";
  return text;
}

}  // namespace

std::optional<CallCounts> parse_mountstats(std::string_view text, std::string_view point) {
  std::optional<CallCounts> found;
  bool own = false;
  bool in_calls = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (const auto at = point_of(line)) {
      own = *at == point;
      in_calls = false;
      // The last of several mounts at one point covers the others.
      if (own) found.reset();
    } else if (own && trimmed(line) == "per-op statistics") {
      found.emplace();
      in_calls = true;
    } else if (own && in_calls) {
      in_calls = add_call(line, *found);
    }
  }
  return found;
}

CallCounts calls_between(const CallCounts& before, const CallCounts& after) {
  CallCounts grown;
  for (const auto& [name, count] : after) {
    const auto earlier = before.find(name);
    const std::int64_t more = count - (earlier == before.end() ? 0 : earlier->second);
    if (more > 0) grown[name] = more;
  }
  return grown;
}

ClientCalls ClientCalls::of(const std::string& directory) {
  const auto mount = storage::mount_of(directory);
  return mount ? ClientCalls("/proc/self/mountstats", mount->point) : ClientCalls();
}

std::optional<CallCounts> ClientCalls::now() const {
  if (counters_.empty()) return std::nullopt;
  const auto text = read_text(counters_);
  return text ? parse_mountstats(*text, point_) : std::nullopt;
}

std::optional<CallCounts> sum_over_nodes(const Job& job, const std::optional<CallCounts>& mine) {
  if (job.leaders == MPI_COMM_NULL) return std::nullopt;
  const std::string own = text_of(mine);
  const int bytes = static_cast<int>(own.size());
  std::vector<int> sizes(static_cast<std::size_t>(job.rank == 0 ? job.nodes : 0));
  MPI_Gather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, job.leaders);
  std::vector<int> places;
  int all = 0;
  for (const int size : sizes) {
    places.push_back(all);
    all += size;
  }
  std::string texts(static_cast<std::size_t>(job.rank == 0 ? all : 0), '\0');
  MPI_Gatherv(own.data(), bytes, MPI_CHAR, texts.data(), sizes.data(), places.data(), MPI_CHAR, 0,
              job.leaders);
  if (job.rank != 0) return std::nullopt;
  CallCounts sum;
  std::istringstream lines(texts);
  std::string name;
  for (std::int64_t count = 0; lines >> name >> count;) {
    if (name == "?") return std::nullopt;
    sum[name] += count;
  }
  return sum;
}

}  // namespace weir::bench
