#include "system/lfs_setstripe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "system/child_process.hpp"

namespace weir::storage {
namespace {

// A failover of a metadata server may take minutes.
constexpr auto longest_striping = std::chrono::seconds(600);

}  // namespace

Status lfs_setstripe(std::vector<std::string> options, const std::string& path) {
  std::vector<std::string> words = {"lfs", "setstripe"};
  words.insert(words.end(), std::make_move_iterator(options.begin()),
               std::make_move_iterator(options.end()));
  words.push_back(path);
  Pipe pipe(path);
  if (!pipe.status().ok()) return pipe.status();
  const StartedChild child = start_program({.words = words, .in_search_path = true}, pipe);
  pipe.close_in();
  if (child.pid < 0) {
    return Error(
        ErrorCode::unsupported,
        fmt::format("the layout cannot be set: the command {} cannot be run ({})", words.front(),
                    std::strerror(child.reason)),  // NOLINT(concurrency-mt-unsafe)
        path);
  }
  PipeReader reader(pipe.out(), longest_striping);
  std::string said;
  std::array<char, 512> part{};
  while (const std::size_t got = reader.read_some(part.data(), part.size())) {
    if (said.size() < part.size()) said.append(part.data(), got);
  }
  constexpr auto to_end_by_itself = std::chrono::seconds(10);
  const ChildEnd end =
      end_child(child.pid, reader.is_late() ? std::chrono::milliseconds(0) : to_end_by_itself);
  const bool done = end.exit_status ? *end.exit_status == 0 : end.ended && end.signal == 0;
  if (done && !reader.is_late()) return {};
  if (reader.is_late()) said = fmt::format("not done after {} s", longest_striping.count());
  if (said.empty() && end.signal != 0) said = fmt::format("signal {} ended it", end.signal);
  said.erase(said.find_last_not_of(" \n") + 1);
  std::replace(said.begin(), said.end(), '\n', ' ');
  return Error(ErrorCode::io, fmt::format("{} setstripe failed: {}", words.front(), said), path);
}

}  // namespace weir::storage
