#include "library/library_run.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/byte_file.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective.hpp"
#include "array/distribution.hpp"
#include "array/layout.hpp"
#include "array/regular_distribution.hpp"
#include "library/simulated_rank.hpp"
#include "library/storage_engine.hpp"
#include "operations.hpp"
#include "plan/file_image.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

// Each rank has a context with a stack, and memory of the library.
constexpr std::int64_t most_simulated_ranks = 16'384;
constexpr const char* instance = "library";
// The library's own limit of ranks of a node with buffers (src/aggregation/rank_layout.cpp).
constexpr std::int64_t most_holders = 16;

// Returns the array as one of bytes, with a dimension for the bytes of an element: all that files
// without a header have.
Result<array::RegularDistribution> bytes_held(const Description& asked) {
  const auto array = array_of(asked);
  if (!array) return array.error();
  const auto& [type, held] = array.value();
  if (type.bytes() == 1) return held;
  array::Indices extents = held.shape().extents();
  auto formats =
      bench::array_io::parse_formats("distribution", asked.array.distribution, extents.size());
  if (!formats) return formats.error();
  extents.push_back(type.bytes());
  formats.value().push_back(array::DistributionFormat::whole_dimension());
  array::ProcessGrid grid = held.grid();
  grid.extents.push_back(1);
  const auto bytes = array::Shape::create(extents);
  if (!bytes) return bytes.error();
  return array::RegularDistribution::create(bytes.value(), formats.value(), grid);
}

class Job {
 public:
  Job(const Description& asked, const Planned& planned, const array::RegularDistribution& held)
      : asked_(asked),
        planned_(planned),
        held_(held),
        memory_(array::Distribution(held_)),
        operations_(asked, planned.flows, Machine::Nodes::with_processes) {
    for (const Client& client : planned.flows.clients) clients_[client.rank] = &client;
  }

  [[nodiscard]] Result<Outcome> run(sg4::Engine& engine);

 private:
  [[nodiscard]] aggregation::CollectiveSettings settings(std::int64_t rank);
  [[nodiscard]] Status act(std::int64_t rank);
  [[nodiscard]] Status move(aggregation::Collective& session, std::int64_t rank);

  const Description& asked_;
  const Planned& planned_;
  array::RegularDistribution held_;
  plan::SharedDistribution memory_;
  Operations operations_;
  std::map<std::int64_t, const Client*> clients_;  // by ranks
  // The payload is as long as the largest part of a rank. All ranks write the same bytes, or read
  // into the same memory, since the simulated storage keeps none.
  std::vector<std::byte> payload_;
  SimulatedSystem system_;
  std::vector<SimulatedNode> nodes_;
  Status failed_;  // the first failure of a rank
  double began_ = 0;
  double ended_ = 0;
  Moved sent_;
};

aggregation::CollectiveSettings Job::settings(std::int64_t rank) {
  aggregation::CollectiveSettings settings;
  settings.strategy = planned_.parameters.strategy;
  settings.engine = plan::Engine::null;
  settings.buffer_bytes = asked_.buffer_bytes;
  settings.io_groups = topology::IoGroups(asked_.nodes_per_group);
  if (asked_.network) settings.network = asked_.network->shape;
  settings.placement = asked_.placement;
  settings.rates.cores_per_node = asked_.ranks_per_node;
  settings.targets = targets_of(asked_);
  settings.aggregators = planned_.aggregators_per_node;
  const auto client = clients_.find(rank);
  settings.before_engine = [this, own = client == clients_.end() ? nullptr : client->second](
                               std::unique_ptr<storage::Engine> /*system's*/) {
    return make_storage_engine(asked_, operations_, own);
  };
  return settings;
}

Status Job::move(aggregation::Collective& session, std::int64_t rank) {
  const auto file = session.open_bytes("simulated", true, targets_of(asked_));
  const array::Region part = held_.part(rank);
  const array::Indices extents = part.local_extents();
  const auto layout = array::Layout::packed(extents, 1, array::Order::row_major);
  if (!layout) return layout.error();
  const aggregation::MemoryPiece piece{&layout.value(), payload_.data()};
  const bool has_part = rank < held_.ranks();
  aggregation::ArrayPart whole;
  whole.memory = &memory_;
  if (has_part) whole.pieces = {&piece, 1};
  Status moved;
  for (std::int64_t step = 0; step < asked_.steps && moved.ok(); ++step) {
    whole.file = &file->array(0, held_.shape(), 0);
    moved = session
                .begin(aggregation::Call::of("simulated"),
                       asked_.read ? Direction::read : Direction::write, {&whole, 1}, nullptr)
                ->wait();
  }
  return moved;
}

Status Job::act(std::int64_t rank) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  auto session = aggregation::Collective::create(own, settings(rank));
  if (!session) return session.error();
  MPI_Barrier(own);
  began_ = std::max(began_, sg4::Engine::get_clock());
  Status moved = move(*session.value(), rank);
  ended_ = std::max(ended_, sg4::Engine::get_clock());
  session.value().reset();
  MPI_Comm_free(&own);
  return moved;
}

Result<Outcome> Job::run(sg4::Engine& engine) {
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < held_.ranks(); ++rank) {
    most = std::max(most, held_.elements(rank));
  }
  payload_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, most)));
  nodes_.resize(static_cast<std::size_t>(asked_.nodes));
  system_.ranks.resize(static_cast<std::size_t>(asked_.ranks()));
  SMPI_app_instance_register(instance, nullptr, static_cast<int>(asked_.ranks()));
  for (std::int64_t rank = 0; rank < asked_.ranks(); ++rank) {
    const auto actor = sg4::Actor::init(fmt::format("rank {}", rank),
                                        operations_.machine().node(rank / asked_.ranks_per_node));
    actor->set_property("instance_id", instance);
    actor->set_property("rank", std::to_string(rank));
    actor->start([this, rank] {
      SimulatedRank own;
      own.system = &system_;
      own.node = &nodes_[static_cast<std::size_t>(rank / asked_.ranks_per_node)];
      own.processors = asked_.ranks_per_node;
      MPI_Init(nullptr, nullptr);
      set_this_rank(own);
      system_.ranks[static_cast<std::size_t>(rank)] = &own;
      Status acted = act(rank);
      system_.ranks[static_cast<std::size_t>(rank)] = nullptr;
      if (failed_.ok() && !acted.ok()) failed_ = std::move(acted);
      sent_.messages += own.messages;
      sent_.message_bytes += own.message_bytes;
      MPI_Finalize();
    });
  }
  engine.run();
  if (!failed_.ok()) return failed_.error();
  Outcome outcome;
  outcome.seconds = ended_ - began_;
  outcome.moved = operations_.moved();
  outcome.moved.messages = sent_.messages;
  outcome.moved.message_bytes = sent_.message_bytes;
  outcome.parts = operations_.part_loads();
  outcome.unused_slow = operations_.machine().unused_slow();
  const auto clients = static_cast<double>(std::max<std::int64_t>(1, outcome.moved.clients));
  outcome.turn_seconds = operations_.turn_seconds() / clients;
  outcome.operation_seconds = operations_.operation_seconds() / clients;
  outcome.message_seconds = outcome.seconds - outcome.turn_seconds - outcome.operation_seconds;
  return outcome;
}

Status check(const Description& asked) {
  if (asked.ranks() > most_simulated_ranks) {
    return invalid_argument(
        fmt::format("{} ranks: the library is simulated on at most {}; give fewer, or --level plan",
                    asked.ranks(), most_simulated_ranks));
  }
  if (asked.exchange.aggregators_on_first_nodes > 0 || !asked.ahead) {
    return invalid_argument(
        "the library does not exchange like this strategy: give one of its own, such as two-phase");
  }
  if (asked.buffer_bytes == 0) {
    return invalid_argument("the library gathers pieces: give their bytes (--buffer)");
  }
  return {};
}

}  // namespace

Result<Planned> plan_for_library(const Description& asked) {
  if (Status possible = check(asked); !possible.ok()) return possible.error();
  const auto held = bytes_held(asked);
  if (!held) return held.error();
  const auto topology = topology_of(asked);
  if (!topology) return topology.error();
  plan::Overrides overrides;
  overrides.engines = plan::Engines::only(plan::Engine::null);
  overrides.holders = std::min(asked.ranks_per_node, most_holders);
  Description by_node = asked;
  by_node.aggregators = 0;
  const bool of_groups = asked.strategy != plan::Strategy::direct &&
                         asked.strategy != plan::Strategy::node_aggregation;
  if (asked.aggregators > 0) {
    const std::int64_t nodes = of_groups ? topology.value().nodes_in_group(0) : 1;
    if (asked.aggregators % nodes != 0) {
      return invalid_argument(fmt::format(
          "{} aggregators of an I/O group: the library has the same number on each of its {} "
          "nodes: give a multiple of that",
          asked.aggregators, nodes));
    }
    overrides.aggregators_per_node = asked.aggregators / nodes;
    overrides.holders = *overrides.aggregators_per_node;
  }
  const auto image = plan::FileImage::create(held.value().shape(), array::ElementKind::uint8,
                                             array::Order::row_major, 0);
  if (!image) return image.error();
  const plan::Request request{asked.read ? Direction::read : Direction::write,
                              {{image.value(),
                                {array::Distribution(held.value())},
                                array::Section::of(held.value().shape().box()),
                                0}}};
  auto planned = plan_of(by_node, request, overrides);
  if (planned) {
    planned.value().aggregators_per_node = overrides.aggregators_per_node.value_or(0);
  }
  return planned;
}

Result<Outcome> run_library(const Description& asked, const Planned& planned) {
  const auto held = bytes_held(asked);
  if (!held) return held.error();
  // SimGrid may keep pointers to the words. Times are those of messages and operations alone: what
  // ranks compute takes no time, and neither does looking for a message.
  static std::vector<std::string> words = common_settings();
  for (const char* const word :
       {"--cfg=contexts/stack-size:256", "--cfg=smpi/simulate-computation:no",
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
  // SMPI's own choice would send messages of all with all. The names are known only now.
  smpi_init_options();
  for (const char* const algorithm : {"smpi/allreduce:rdb", "smpi/barrier:mpich",
                                      "smpi/allgather:mpich", "smpi/allgatherv:mpich"}) {
    sg4::Engine::set_config(algorithm);
  }
  sg4::Engine::set_config(fmt::format("smpi/or:0:{}:0", asked.messages.seconds_each));
  SMPI_init();
  auto job = std::make_unique<Job>(asked, planned, held.value());
  auto outcome = job->run(engine);
  SMPI_finalize();
  return outcome;
}

}  // namespace weir::sim
