#include "library/library_run.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "aggregation/byte_file.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective.hpp"
#include "array/distribution.hpp"
#include "array/layout.hpp"
#include "array/regular_distribution.hpp"
#include "library/simulated_job.hpp"
#include "plan/choice.hpp"
#include "plan/file_image.hpp"
#include "rates.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

// Each rank has a context with a stack, and memory of the library.
constexpr std::int64_t most_simulated_ranks = 16'384;

// The engine that the library is told to use, which stands for that of the simulation: `array`
// compares what it reads, which weir-bench refuses with the engine that drops bytes.
plan::Engine engine_of(Workload workload) {
  return workload == Workload::array ? plan::Engine::posix : plan::Engine::null;
}

// Moves the array of a description by the library's inner calls.
class ArrayProgram {
 public:
  ArrayProgram(const Description& asked, const Planned& planned,
               const array::RegularDistribution& held);

  [[nodiscard]] Status run(std::int64_t rank);
  [[nodiscard]] double seconds() const { return ended_ - began_; }

 private:
  [[nodiscard]] aggregation::CollectiveSettings settings() const;
  [[nodiscard]] Status act(std::int64_t rank);
  [[nodiscard]] Status move(aggregation::Collective& session, std::int64_t rank);

  const Description& asked_;
  const Planned& planned_;
  array::RegularDistribution held_;
  plan::SharedDistribution memory_;
  // The payload is as long as the largest part of a rank. All ranks write the same bytes, or read
  // into the same memory, since the simulated storage keeps none.
  std::vector<std::byte> payload_;
  double began_ = 0;
  double ended_ = 0;
};

ArrayProgram::ArrayProgram(const Description& asked, const Planned& planned,
                           const array::RegularDistribution& held)
    : asked_(asked), planned_(planned), held_(held), memory_(array::Distribution(held_)) {
  std::int64_t most = 1;
  for (std::int64_t rank = 0; rank < held_.ranks(); ++rank) {
    most = std::max(most, held_.elements(rank));
  }
  payload_.resize(static_cast<std::size_t>(most));
}

aggregation::CollectiveSettings ArrayProgram::settings() const {
  aggregation::CollectiveSettings settings;
  settings.strategy = planned_.parameters.strategy;
  settings.engine = plan::Engine::null;
  settings.buffer_bytes = asked_.buffer_bytes;
  settings.io_groups = topology::IoGroups(asked_.nodes_per_group);
  if (asked_.network) settings.network = asked_.network->shape;
  settings.placement = asked_.placement;
  settings.rates = rates_of(asked_, planned_.flows.bytes);
  settings.targets = targets_of(asked_);
  settings.aggregators = planned_.aggregators_per_node;
  return settings;
}

Status ArrayProgram::move(aggregation::Collective& session, std::int64_t rank) {
  const auto file = session.open_bytes("simulated", true, targets_of(asked_), {});
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

Status ArrayProgram::act(std::int64_t rank) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  auto session = aggregation::Collective::create(own, settings());
  if (!session) return session.error();
  MPI_Barrier(own);
  began_ = std::max(began_, sg4::Engine::get_clock());
  Status moved = move(*session.value(), rank);
  ended_ = std::max(ended_, sg4::Engine::get_clock());
  session.value().reset();
  MPI_Comm_free(&own);
  return moved;
}

Status ArrayProgram::run(std::int64_t rank) {
  MPI_Init(nullptr, nullptr);
  Status acted = act(rank);
  MPI_Finalize();
  return acted;
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
  const auto topology = topology_of(asked);
  if (!topology) return topology.error();
  plan::Overrides overrides;
  overrides.engines = plan::Engines::only(engine_of(asked.workload));
  overrides.holders = plan::usual_holders(asked.ranks_per_node);
  std::int64_t of_a_node = 0;
  if (asked.aggregators > 0) {
    const std::int64_t nodes = nodes_of_aggregators(asked, topology.value());
    if (asked.aggregators % nodes != 0) {
      return invalid_argument(fmt::format(
          "{} aggregators of an I/O group: the library has the same number on each of its {} "
          "nodes: give a multiple of that",
          asked.aggregators, nodes));
    }
    of_a_node = asked.aggregators / nodes;
    overrides.holders = of_a_node;
  }
  const auto request = request_of(asked);
  if (!request) return request.error();
  auto planned = plan_of(asked, request.value(), overrides);
  if (planned) planned.value().aggregators_per_node = of_a_node;
  return planned;
}

Result<Outcome> run_library(const Description& asked, const Planned& planned) {
  const auto array = array_of(asked);
  if (!array) return array.error();
  if (array.value().type.bytes() != 1) {
    return invalid_argument("the description: the workload library moves bytes: give type uint8");
  }
  ArrayProgram program(asked, planned, array.value().held);
  auto outcome = run_job(
      asked, planned, [&](std::int64_t rank) { return program.run(rank); }, Storage::drops_bytes);
  if (outcome) put_seconds(outcome.value(), program.seconds());
  return outcome;
}

}  // namespace weir::sim
