#include "aggregation/stager_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "common/settings.hpp"
#include "ranks/channel.hpp"
#include "ranks/messages.hpp"
#include "ranks/progress.hpp"
#include "ranks/splitting.hpp"
#include "system/available_memory.hpp"
#include "system/descriptor_socket.hpp"
#include "system/process_name.hpp"
#include "transport/messages.hpp"
#include "transport/stager_client.hpp"
#include "transport/stager_start.hpp"

namespace weir::aggregation {
namespace {

using topology::StagerPlacement;
using transport::StagerClient;

constexpr const char* waited_for_division = "the other ranks to divide the ranks";
// A stager ends by itself after so long if none of its ranks connects.
constexpr const char* unused_seconds = "60";
// A stager's rank sleeps so long before it lets MPI make progress.
constexpr int watch_milliseconds = 100;

// The stager to which this process hands over.
struct OwnStager {
  std::string socket;
  std::unique_ptr<StagerClient> client;  // a session of its own: lets the stager live
  int key = MPI_KEYVAL_INVALID;          // an attribute of MPI_COMM_SELF, which MPI_Finalize frees
};

OwnStager& own_stager() {
  static OwnStager one;
  return one;
}

int leave_with_attribute(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  own_stager().client.reset();
  own_stager().socket.clear();
  return MPI_SUCCESS;
}

Status leave_when_mpi_ends() {
  OwnStager& own = own_stager();
  Status made = ranks::status_of(
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_with_attribute, &own.key, nullptr),
      "MPI_Comm_create_keyval");
  if (!made.ok()) return made;
  return ranks::status_of(MPI_Comm_set_attr(MPI_COMM_SELF, own.key, nullptr), "MPI_Comm_set_attr");
}

// A rank tells the others of its node this.
struct Address {
  std::array<char, 108> socket{};  // "": this rank has no stager
  transport::SessionId session{};
};

class Division {
 public:
  Division(MPI_Comm communicator, const StagerPlacement& placement, double deadline_seconds)
      : communicator_(communicator),
        placement_(placement),
        deadline_seconds_(deadline_seconds),
        channel_(communicator) {}
  Division(const Division&) = delete;
  Division& operator=(const Division&) = delete;
  // All messages have ended, so a communicator that is not freed is lost memory and nothing else.
  ~Division() { static_cast<void>(ranks::free_communicator(node_)); }

  // After an error that ends communication, this object must be kept for good.
  Result<DividedRanks> run(std::int64_t ranks_per_node) {
    const auto place = ranks::place_in(communicator_, channel_.revocation());
    if (!place) return give_up(place.error());
    rank_ = place.value().own;
    if (placement_.where() == StagerPlacement::Where::ranks) {
      Status staged = stage(ranks_per_node);
      if (!staged.ok()) return give_up(staged.error());
    }
    const int color = made_.stager ? MPI_UNDEFINED : 0;
    Status made = ranks::split(communicator_, color, rank_, meeting(), made_.program);
    if (made.ok()) made = vote({});  // no rank goes on without the others
    if (!made.ok()) return give_up(made.error());
    return std::move(made_);
  }

 private:
  [[nodiscard]] ranks::Meeting meeting() const {
    return {channel_.revocation(), deadline_seconds_, waited_for_division};
  }
  Status vote(const Status& mine) {
    return agree(channel_, communicator_, {.possible = mine}, deadline_seconds_);
  }
  Error give_up(Error why) {
    if (made_.stager) made_.stager->stop();
    leave_divided();
    if (ranks::ends_communication(why)) channel_.abandon();
    return why;
  }

  Status stage(std::int64_t ranks_per_node) {
    Status split = ranks::split_nodes(communicator_, ranks_per_node, meeting(), node_);
    if (!split.ok()) return split;
    const auto place = ranks::place_in(node_, channel_.revocation());
    if (!place) return place.error();
    ranks_on_node_ = place.value().ranks;
    Status agreed = vote(check());
    if (!agreed.ok()) return agreed;
    const auto role = placement_.role(place.value().own, ranks_on_node_);
    if (agreed = vote(role.is_stager ? start() : Status()); !agreed.ok()) return agreed;
    addresses_.resize(static_cast<std::size_t>(ranks_on_node_));
    ranks::Pending pending;
    Status told = ranks::finish(ranks::gather_at_all(pending, &own_address_, sizeof own_address_,
                                                     addresses_.data(), MPI_BYTE, node_),
                                pending, meeting());
    if (!told.ok()) return told;
    return vote(role.is_stager ? Status() : connect(role.stager));
  }

  Status check() {
    if (!own_stager().socket.empty()) {
      return invalid_argument(
          "the program's ranks have stagers already: call weir_finalize_staging first");
    }
    Status possible = placement_.check(ranks_on_node_);
    if (possible.ok()) return possible;
    return invalid_argument(
        fmt::format("on {}, {}", storage::host_name(), possible.error().message));
  }

  Status start() {
    const auto secret = storage::new_secret();
    if (!secret) return secret.error();
    own_address_.session = secret.value();
    std::string socket = transport::default_socket() + "-";
    constexpr std::size_t named_bytes = 6;
    for (std::size_t i = 0; i < named_bytes; ++i) {
      socket += fmt::format("{:02x}", std::to_integer<unsigned>(secret.value().at(i)));
    }
    if (socket.size() >= own_address_.socket.size()) {
      return invalid_argument(fmt::format("the path of a socket has at most {} bytes: give a "
                                          "shorter one in WEIR_STAGER_SOCKET",
                                          own_address_.socket.size() - 1),
                              socket);
    }
    auto started =
        StartedStager::start(socket, placement_.stagers_of(ranks_on_node_), deadline_seconds_);
    if (!started) return started.error();
    std::copy(socket.begin(), socket.end(), own_address_.socket.begin());
    made_.stager = std::move(started).value();
    return {};
  }

  Status connect(std::int64_t place) {
    const Address& address = addresses_.at(static_cast<std::size_t>(place));
    OwnStager& own = own_stager();
    own.socket = address.socket.data();
    auto client = StagerClient::connect(
        own.socket, {.session = address.session, .rank = rank_, .program = storage::process_name()},
        deadline_seconds_);
    if (!client) return client.error();
    own.client = std::move(client).value();
    return leave_when_mpi_ends();
  }

  MPI_Comm communicator_;
  StagerPlacement placement_;
  double deadline_seconds_;
  ranks::Channel channel_;
  int rank_ = 0;
  MPI_Comm node_ = MPI_COMM_NULL;
  int ranks_on_node_ = 1;
  Address own_address_;
  std::vector<Address> addresses_;  // of the node's ranks
  DividedRanks made_;
};

// Several stagers of a node share what one would take, if it is not said how much each takes.
std::vector<std::string> options_of_stager(std::int64_t stagers_of_node,
                                           std::int64_t memory_bytes = 0) {
  std::vector<std::string> options = {"--until-programs-end", "--stager-idle-seconds",
                                      unused_seconds};
  if (!process_environment("WEIR_STAGER_MEMORY")) {
    const std::int64_t share = storage::available_memory_bytes() / 4 / stagers_of_node;
    options.insert(options.end(),
                   {"--stager-memory", fmt::format("{}", memory_bytes > 0 ? memory_bytes : share)});
  }
  return options;
}

}  // namespace

Result<StartedStager> StartedStager::start(const std::string& socket, std::int64_t stagers_of_node,
                                           double deadline_seconds) {
  return start_with(socket, options_of_stager(stagers_of_node), deadline_seconds);
}

Result<StartedStager> StartedStager::start_beside(const std::string& name, const Own& own,
                                                  double deadline_seconds) {
  std::vector<std::string> options = options_of_stager(1, own.memory_bytes);
  const auto add = [&](const char* option, std::string value) {
    options.insert(options.end(), {option, std::move(value)});
  };
  if (own.drops) options.emplace_back("--drop");
  if (!own.listen.empty()) add("--stager-listen", own.listen);
  if (!own.rendezvous.empty()) add("--stager-rendezvous", own.rendezvous);
  if (own.receivers > 0) add("--stager-receivers", fmt::format("{}", own.receivers));
  return start_with(transport::default_socket() + "-" + name, options, deadline_seconds);
}

Result<StartedStager> StartedStager::start_with(const std::string& socket,
                                                const std::vector<std::string>& options,
                                                double deadline_seconds) {
  Status started =
      transport::start_stager(socket, transport::stager_program(), options, deadline_seconds);
  if (!started.ok()) return started.error();
  auto watch = storage::FrameSocket::connect(socket);
  if (!watch) return watch.error();
  return StartedStager(socket, std::move(watch).value());
}

Status StartedStager::wait_for_end() {
  ranks::Revocation alone(ranks::Revocation::Local{}, MPI_COMM_SELF);
  while (watch_.next().ok()) {
    watch_.wait(watch_milliseconds);
    ranks::keep_moving(alone);
  }
  // A stager that ends by itself has removed its socket by then.
  const auto left = storage::FrameSocket::connect(socket_);
  if (!left && left.error().system_error == ENOENT) return {};
  return Error(ErrorCode::io,
               fmt::format("the stager of this rank has ended before its programs; what it had not "
                           "yet stored is lost, and {}.log may say why",
                           socket_));
}

void StartedStager::stop() { (void)watch_.send(transport::encode(transport::Stop{})); }

Result<DividedRanks> divide_ranks(MPI_Comm communicator, const StagerPlacement& placement,
                                  std::int64_t ranks_per_node, double deadline_seconds) {
  auto division = std::make_unique<Division>(communicator, placement, deadline_seconds);
  auto divided = division->run(ranks_per_node);
  if (!divided && ranks::ends_communication(divided.error())) {
    [[maybe_unused]] const auto* const kept = division.release();  // messages are still under way
  }
  return divided;
}

std::string socket_of_divided() { return own_stager().socket; }

void leave_divided() {
  int& key = own_stager().key;
  if (key != MPI_KEYVAL_INVALID) {
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
  }
  leave_with_attribute(MPI_COMM_SELF, key, nullptr, nullptr);
}

}  // namespace weir::aggregation
