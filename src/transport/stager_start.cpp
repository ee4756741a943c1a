#include "transport/stager_start.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/settings.hpp"
#include "system/child_process.hpp"
#include "system/frame_socket.hpp"
#include "system/incomplete.hpp"

namespace weir::transport {
namespace {

constexpr std::size_t longest_complaint = 500;

}  // namespace

std::string default_socket() {
  const auto given = process_environment("WEIR_STAGER_SOCKET");
  return given && !given->empty() ? *given : storage::socket_folder() + "/stager";
}

std::string stager_program() {
  const auto given = process_environment("WEIR_STAGER");
  if (given && !given->empty()) return *given;
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&default_socket), &here) != 0 &&
      here.dli_fname != nullptr) {
    const std::string folder = storage::folder_of(here.dli_fname);
    // Installed beside a program, or beside a library; in a Python environment; where it is built.
    for (const char* const place :
         {"/weir-stager", "/../bin/weir-stager", "/../../../../../bin/weir-stager",
          "/../src/stager/weir-stager", "/../stager/weir-stager", "/../../stager/weir-stager"}) {
      if (::access((folder + place).c_str(), X_OK) == 0) return folder + place;
    }
  }
  return "weir-stager";
}

Status start_stager(const std::string& socket, const std::string& program,
                    const std::vector<std::string>& options, double deadline_seconds) {
  if (storage::FrameSocket::connect(socket).ok()) return {};
  storage::Pipe pipe(program);
  if (!pipe.status().ok()) return pipe.status();
  storage::Program stager;
  stager.words = {program, "--detach", "--stager-socket", socket};
  stager.words.insert(stager.words.end(), options.begin(), options.end());
  stager.in_search_path = program.find('/') == std::string::npos;
  const storage::StartedChild started = storage::start_program(stager, pipe);
  if (started.pid < 0) {
    Error error = system_failure("start", program, -1, started.reason);
    error.message += ": give the path of weir-stager in WEIR_STAGER";
    return error;
  }
  pipe.close_in();
  const auto patience =
      std::chrono::milliseconds(static_cast<std::int64_t>(std::min(deadline_seconds, 1e6) * 1000));
  std::string told(longest_complaint, '\0');
  storage::PipeReader reader(pipe.out(), patience);
  std::size_t bytes = 0;
  for (std::size_t got = 1; got > 0 && bytes < told.size(); bytes += got) {
    got = reader.read_some(told.data() + bytes, told.size() - bytes);
  }
  told.resize(std::min(bytes, told.find('\n')));
  const storage::ChildEnd end = storage::end_child(started.pid, patience);
  if (storage::FrameSocket::connect(socket).ok()) return {};  // another rank may have started it
  if (end.exit_status == 0) return {};
  return Error(ErrorCode::io, fmt::format("the stager of this node did not start: {}",
                                          told.empty() ? "it ended without a reason" : told));
}

}  // namespace weir::transport
