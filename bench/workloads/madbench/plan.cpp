#include "workloads/madbench/plan.hpp"

#include <nlohmann/json.hpp>

#include "measurement/busy_work.hpp"
#include "measurement/target_directories.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/madbench/full/full_work.hpp"
#include "workloads/madbench/message_work.hpp"
#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

// Counts the transfers of a phase that have no computation to hide behind: the first read of a
// function and its last write. With gangs, only the first of a unit's reads begins before a
// computation; the others overlap the remapping of the previous read.
struct Overlap {
  std::int64_t operations = 0;
  std::int64_t exposed = 1;
  double computations = 0;  // busy-work operations that hide one transfer
};

Overlap overlap_of(const Size& size, const PhaseKey& key, double alpha) {
  const auto function = static_cast<Function>(key.function);
  const std::int64_t gang = size.no_pe / size.no_gang;
  const std::int64_t ranks = compute_level(function) == GangLevel::all_ranks ? size.no_pe : gang;
  const auto own = static_cast<double>(
      busy_work_operations(size.no_pix, compute_exponent(function), alpha, ranks));
  Overlap overlap;
  const bool gang_reads = function == Function::W && key.direction == Direction::read;
  overlap.operations =
      function == Function::S || gang_reads ? size.no_bin : size.no_bin / size.no_gang;
  overlap.computations = own;
  if (gang_reads && size.no_gang > 1) {
    // This is the average over a unit: one read is hidden by the computation, the others by
    // remappings.
    const auto remap = static_cast<double>(busy_work_operations(size.no_pix, 2, alpha, size.no_pe));
    const auto parts = static_cast<double>(size.no_gang);
    overlap.computations = (own + (parts - 1) * remap) / parts;
  }
  return overlap;
}

constexpr double operations_per_multipole = 4;
constexpr double operations_per_multiply_add = 0.125;

Overlap full_overlap_of(const Size& size, const PhaseKey& key) {
  const auto function = static_cast<Function>(key.function);
  const auto pixels = static_cast<double>(size.no_pix);
  const double ranks = static_cast<double>(size.no_pe);
  const double gangs = static_cast<double>(size.no_gang);
  const double gang = ranks / gangs;
  Overlap overlap = overlap_of(size, key, 0);
  if (function == Function::S) {
    overlap.computations = operations_per_multipole * multipoles_per_bin * pixels * pixels / ranks;
  } else if (function == Function::W) {
    overlap.computations = operations_per_multiply_add * pixels * pixels * pixels / gang;
    // One of a unit's reads is hidden by the product, the others by remappings.
    if (key.direction == Direction::read) overlap.computations /= gangs;
  } else {
    const std::int64_t units = size.no_bin / size.no_gang;
    overlap.operations = units * (units + 1) / 2;
    overlap.computations = pixels * pixels / gang * gangs;
  }
  return overlap;
}

// Returns the part of each directory. Each phase moves whole matrices, of which the ranks have
// shares in proportion to those of one matrix over all ranks.
ordered_json targets_json(const Layout& layout, const std::vector<PlannedPhase>& phases,
                          const Size& size, const std::vector<std::string>& directories) {
  ordered_json targets = ordered_json::array();
  std::int64_t matrices = 0;
  for (const PlannedPhase& phase : phases) {
    matrices += phase.bytes_total / (size.no_pix * size.no_pix * 8);
  }
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const auto ranks = ranks_of_directory(i, directories.size(), size.no_pe);
    std::int64_t share = 0;
    for (const std::int64_t rank : ranks) share += layout.share_bytes(GangLevel::all_ranks, rank);
    targets.push_back({{"directory", directories[i]},
                       {"ranks", ranks},
                       {"files", ranks.size()},
                       {"bytes_total", share * matrices}});
  }
  return targets;
}

}  // namespace

std::vector<PhaseKey> phases_of(const Variant& variant) {
  if (variant.mode == Mode::none) return {};
  return {{static_cast<std::int8_t>(Function::S), Direction::write},
          {static_cast<std::int8_t>(Function::W), Direction::read},
          {static_cast<std::int8_t>(Function::W), Direction::write},
          {static_cast<std::int8_t>(Function::C), Direction::read}};
}

std::int64_t memory_bytes_per_rank(const Layout& layout, Calculation calculation) {
  const bool sends = calculation == Calculation::messages;
  return layout.memory_bytes_per_rank() + (sends ? message_buffers * message_bytes : 0);
}

Result<ordered_json> plan_json(const Size& size, const Variant& variant, double alpha,
                               Calculation calculation,
                               const std::vector<std::string>& directories) {
  const Result<Layout> created = Layout::create(size, variant.file_type);
  if (!created) return created.error();
  const Layout& layout = created.value();
  const bool transfers = variant.mode != Mode::none;
  std::vector<PlannedPhase> phases;
  for (const PhaseKey& key : phases_of(variant)) {
    const auto function = static_cast<Function>(key.function);
    const GangLevel level =
        key.direction == Direction::read ? read_level(function) : write_level(function);
    const bool analysis = calculation == Calculation::full || calculation == Calculation::madcap;
    const Overlap overlap = analysis ? full_overlap_of(size, key) : overlap_of(size, key, alpha);
    // The sum of every rank's share is whole matrices, as many at a time as there are gangs.
    const std::int64_t at_once = level == GangLevel::all_ranks ? 1 : size.no_gang;
    phases.push_back(
        {.function = name_of(function),
         .direction = key.direction,
         .operations_per_rank = overlap.operations,
         .bytes_per_operation = layout.largest_share_bytes(level),
         .bytes_total = overlap.operations * at_once * size.no_pix * size.no_pix * 8,
         .computations_per_operation = calculation == Calculation::messages
                                           ? std::nullopt
                                           : std::optional<double>(overlap.computations),
         .exposed_operations_per_rank = overlap.exposed});
  }
  const std::int64_t files = variant.file_type == FileType::unique ? size.no_pe : 1;
  ordered_json plan =
      planned(size.no_pe, transfers ? files : 0, memory_bytes_per_rank(layout, calculation),
              transfers ? layout.disk_bytes() : 0, phases);
  if (transfers) plan["targets"] = targets_json(layout, phases, size, directories);
  return plan;
}

}  // namespace weir::bench::madbench
