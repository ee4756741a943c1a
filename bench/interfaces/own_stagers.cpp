#include "interfaces/own_stagers.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/settings.hpp"
#include "system/network_address.hpp"

namespace weir::bench {
namespace {

constexpr const char* socket_variable = "WEIR_STAGER_SOCKET";
// Memory of each stager of a service. It is small, because a job may have several services.
constexpr std::int64_t service_memory_bytes = std::int64_t{256} << 20;

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

std::string name_of(bool drops) {
  return fmt::format("{}-{}", drops ? "drops" : "stores", ::getpid());
}

}  // namespace

Status OwnStagers::start_on_nodes(const Job& job, bool drops) {
  std::array<char, 256> socket{};
  Status status;
  if (job.node_rank == 0) {
    auto started = aggregation::StartedStager::start_beside(name_of(drops), {.drops = drops},
                                                            job.deadline_seconds);
    if (!started) {
      status = started.error();
    } else if (started.value().socket().size() >= socket.size()) {
      started.value().stop();
      status = invalid_argument(fmt::format("the path of a stager's socket has at most {} bytes: "
                                            "give a shorter one in {}",
                                            socket.size() - 1, socket_variable),
                                started.value().socket());
    } else {
      started_.push_back(std::move(started).value());
      const std::string& path = started_.back().socket();
      std::copy(path.begin(), path.end(), socket.begin());
    }
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(socket.data(), static_cast<int>(socket.size()), MPI_CHAR, 0, job.node, &request);
  Status told = wait_for(request, job.deadline_ns(), "the socket of the node's stager");
  socket_ = socket.data();
  return status.ok() ? told : status;
}

Status OwnStagers::start_service(const Job& job, bool drops, const Service& service) {
  rendezvous_ = service.folder;
  if (job.node_rank != 0) return {};
  std::string address = "127.0.0.1";
  if (job.nodes > 1) {
    const auto addresses = storage::own_addresses();
    if (addresses.empty()) {
      return invalid_argument("this node has no address at which other nodes reach its stager");
    }
    address = addresses.front().host();
  }
  for (std::int64_t number = job.node_index; number < service.stagers; number += job.nodes) {
    const std::string name = fmt::format("{}-{}-{}", name_of(drops), service.name, number);
    auto started = aggregation::StartedStager::start_beside(name,
                                                            {.drops = drops,
                                                             .listen = address,
                                                             .rendezvous = service.folder,
                                                             .receivers = service.receivers,
                                                             .memory_bytes = service_memory_bytes},
                                                            job.deadline_seconds);
    if (!started) return started.error();
    started_.push_back(std::move(started).value());
  }
  return {};
}

Result<std::unique_ptr<Session>> OwnStagers::open(const Interface& interface,
                                                  SessionSettings settings) const {
  if (!rendezvous_.empty()) {
    settings.staging = "service:" + rendezvous_;
    return open_session(interface, settings);
  }
  const Variable chosen(socket_variable, socket_);
  settings.staging = "node";
  return open_session(interface, settings);
}

Status OwnStagers::wait_for_end() {
  Status status;
  for (aggregation::StartedStager& one : started_) {
    Status ended = one.wait_for_end();
    if (ended.ok()) {
      std::error_code ignored;
      std::filesystem::remove(one.socket() + ".log", ignored);
    }
    if (status.ok()) status = std::move(ended);
  }
  started_.clear();
  return status;
}

}  // namespace weir::bench
