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
#include "plan/file_image.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

// Each rank has a context with a stack, and memory of the library.
constexpr std::int64_t most_simulated_ranks = 16'384;
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
  settings.rates.cores_per_node = asked_.ranks_per_node;
  settings.targets = targets_of(asked_);
  settings.aggregators = planned_.aggregators_per_node;
  return settings;
}

Status ArrayProgram::move(aggregation::Collective& session, std::int64_t rank) {
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
  ArrayProgram program(asked, planned, held.value());
  auto outcome = run_job(asked, planned, [&](std::int64_t rank) { return program.run(rank); });
  if (outcome) put_seconds(outcome.value(), program.seconds());
  return outcome;
}

}  // namespace weir::sim
