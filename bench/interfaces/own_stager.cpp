#include "interfaces/own_stager.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/settings.hpp"

namespace weir::bench {
namespace {

constexpr const char* socket_variable = "WEIR_STAGER_SOCKET";

// Gives a variable of the environment another value for the time of its life. No thread of Weir
// reads the environment meanwhile.
// NOLINTBEGIN(concurrency-mt-unsafe)
class Variable {
 public:
  Variable(const char* name, const std::string& value)
      : name_(name), before_(process_environment(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace

Status OwnStager::start(const Job& job, bool drops) {
  std::array<char, 256> socket{};
  Status status;
  if (job.node_rank == 0) {
    const std::string name = fmt::format("{}-{}", drops ? "drops" : "stores", ::getpid());
    auto started = aggregation::StartedStager::start_beside(name, drops, job.deadline_seconds);
    if (!started) {
      status = started.error();
    } else if (started.value().socket().size() >= socket.size()) {
      started.value().stop();
      status = invalid_argument(fmt::format("the path of a stager's socket has at most {} bytes: "
                                            "give a shorter one in {}",
                                            socket.size() - 1, socket_variable),
                                started.value().socket());
    } else {
      started_ = std::move(started).value();
      std::copy(started_->socket().begin(), started_->socket().end(), socket.begin());
    }
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(socket.data(), static_cast<int>(socket.size()), MPI_CHAR, 0, job.node, &request);
  Status told = wait_for(request, job.deadline_ns(), "the socket of the node's stager");
  socket_ = socket.data();
  return status.ok() ? told : status;
}

Result<std::unique_ptr<Session>> OwnStager::open(const Interface& interface,
                                                 SessionSettings settings) const {
  const Variable chosen(socket_variable, socket_);
  settings.staging = "node";
  return open_session(interface, settings);
}

Status OwnStager::wait_for_end() {
  if (!started_) return {};
  Status ended = started_->wait_for_end();
  started_.reset();
  return ended;
}

}  // namespace weir::bench
