#include "library/simulated_job.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "library/simulated_rank.hpp"
#include "operations.hpp"
#include "rates.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

constexpr const char* instance = "library";

// Bytes of a step of all ranks. If a step has more and nobody reads them, they are not copied.
constexpr std::int64_t most_copied_bytes = std::int64_t{256} << 20;

class Job {
 public:
  Job(const Description& asked, const Planned& planned, Storage storage)
      : asked_(asked),
        bytes_(planned.flows.bytes * asked.steps),
        operations_(asked, planned.flows, Machine::Nodes::with_processes),
        nodes_(static_cast<std::size_t>(asked.nodes)) {
    system_.asked = &asked_;
    system_.rates = rates_of(asked, planned.flows.bytes);
    if (storage == Storage::keeps_bytes) system_.kept = storage::make_posix_engine();
    system_.payload_is_unread =
        storage == Storage::drops_bytes && planned.flows.bytes > most_copied_bytes;
    system_.operations = &operations_;
    system_.strategy = planned.parameters.strategy;
    system_.ranks.resize(static_cast<std::size_t>(asked.ranks()));
    for (const Client& client : planned.flows.clients) clients_[client.rank] = &client;
  }

  [[nodiscard]] Result<Outcome> run(sg4::Engine& engine, const RankProgram& program);

 private:
  void act(std::int64_t number, const RankProgram& program);

  const Description& asked_;
  std::int64_t bytes_;  // of the request
  Operations operations_;
  std::map<std::int64_t, const Client*> clients_;  // by ranks
  SimulatedSystem system_;
  std::vector<SimulatedNode> nodes_;
  Status failed_;  // the first failure of a rank
  Moved sent_;
};

void Job::act(std::int64_t number, const RankProgram& program) {
  SimulatedRank own;
  own.system = &system_;
  own.number_of_node = number / asked_.ranks_per_node;
  own.node = &nodes_[static_cast<std::size_t>(own.number_of_node)];
  own.processors = asked_.ranks_per_node;
  const auto client = clients_.find(number);
  if (client != clients_.end()) own.client = client->second;
  set_this_rank(own);
  system_.ranks[static_cast<std::size_t>(number)] = &own;
  Status acted = program(number);
  system_.ranks[static_cast<std::size_t>(number)] = nullptr;
  if (failed_.ok() && !acted.ok()) failed_ = std::move(acted);
  sent_.messages += own.messages;
  sent_.message_bytes += own.message_bytes;
}

Result<Outcome> Job::run(sg4::Engine& engine, const RankProgram& program) {
  SMPI_app_instance_register(instance, nullptr, static_cast<int>(asked_.ranks()));
  for (std::int64_t rank = 0; rank < asked_.ranks(); ++rank) {
    const auto actor = sg4::Actor::init(fmt::format("rank {}", rank),
                                        operations_.machine().node(rank / asked_.ranks_per_node));
    actor->set_property("instance_id", instance);
    actor->set_property("rank", std::to_string(rank));
    actor->start([this, rank, &program] { act(rank, program); });
  }
  engine.run();
  if (!failed_.ok()) return failed_.error();
  Outcome outcome;
  outcome.moved = operations_.moved();
  outcome.moved.bytes = bytes_;
  outcome.moved.messages = sent_.messages;
  outcome.moved.message_bytes = sent_.message_bytes;
  outcome.parts = operations_.part_loads();
  outcome.unused_slow = operations_.machine().unused_slow();
  const auto clients = static_cast<double>(std::max<std::int64_t>(1, outcome.moved.clients));
  outcome.turn_seconds = operations_.turn_seconds() / clients;
  outcome.operation_seconds = operations_.operation_seconds() / clients;
  return outcome;
}

}  // namespace

Result<Outcome> run_job(const Description& asked, const Planned& planned,
                        const RankProgram& program, Storage storage) {
  // SimGrid may keep pointers to the words. Times are those of messages and operations alone: what
  // ranks compute takes no time, and neither does looking for a message.
  static std::vector<std::string> words = common_settings();
  for (const char* const word :
       {"--cfg=contexts/stack-size:512", "--cfg=smpi/simulate-computation:no",
        "--cfg=smpi/host-speed:1Gf", "--cfg=smpi/test:0", "--cfg=smpi/iprobe:0",
        "--cfg=smpi/grow-injected-times:no"}) {
    words.emplace_back(word);
  }
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  sg4::Engine engine(&count, pointers.data());
  // Without this, SMPI's settings have no names yet.
  smpi_init_options();
  sg4::Engine::set_config(fmt::format("smpi/or:0:{}:0", asked.messages.seconds_each));
  SMPI_init();
  auto job = std::make_unique<Job>(asked, planned, storage);
  auto outcome = job->run(engine, program);
  SMPI_finalize();
  return outcome;
}

void put_seconds(Outcome& outcome, double seconds) {
  outcome.seconds = seconds;
  outcome.message_seconds = seconds - outcome.turn_seconds - outcome.operation_seconds;
}

}  // namespace weir::sim
