#include "plan/price.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "plan/meeting_blocks.hpp"
#include "plan/piece_extents.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

// How much of a plan is looked at.
constexpr int sampled_ranks = 3;
constexpr int sampled_aggregators = 2;
constexpr int sampled_pieces = 3;

struct Sample {
  double bytes = 0;
  double calls = 0;
  double pieces = 0;
  double messages = 0;  // contributions
};

array::Layout packed_memory(const Plan& plan, const Slab& slab, std::int64_t rank,
                            std::int64_t part) {
  // Fits: what a rank holds is a part of the array, whose bytes fit into 63 bits.
  return array::Layout::packed(plan.part(slab.array, rank, part).local_extents(),
                               slab.in_file.element_bytes(), array::Order::row_major)
      .value();
}

// Rows: the runs that some ranks' parts have in the file.
Sample sample_rows(const std::shared_ptr<const Plan>& plan, const std::set<std::int64_t>& ranks) {
  Sample sample;
  for (const std::int64_t rank : ranks) {
    RankPieces pieces(plan, rank);
    PieceId id;
    for (int looked = 0; looked < sampled_pieces && pieces.next(id); ++looked) {
      const Piece piece = plan->piece(id);
      MeetingBlocks blocks(*plan, piece, rank);
      for (MeetingBlock block; blocks.next(block);) {
        const Slab& slab = piece.slabs[block.slab];
        const auto copy = memory_to_file(block, packed_memory(*plan, slab, rank, block.part), slab);
        sample.calls += static_cast<double>(copy.runs());
        sample.bytes += static_cast<double>(block.bytes);
      }
    }
  }
  return sample;
}

void add_piece(const Plan& plan, const Piece& piece, Sample& sample) {
  const auto contributors = plan.contributors(piece);
  double held = 0;
  for (const Contributor& one : contributors) held += static_cast<double>(one.bytes);
  if (contributors.empty()) return;
  sample.pieces += 1;
  sample.messages += static_cast<double>(contributors.size());
  sample.bytes += held;
  if (held >= static_cast<double>(piece.bytes)) {
    // Whole: slabs that follow each other in the file are one extent.
    std::int64_t end = -1;
    for (const Slab& slab : piece.slabs) {
      const auto copy = buffer_to_file(slab);
      const std::int64_t runs = copy.runs();
      sample.calls += static_cast<double>(copy.to_offset == end ? runs - 1 : runs);
      end = runs == 1 ? copy.to_offset + copy.bytes : -1;
    }
    return;
  }
  // With holes: what is contiguous only in one contributor's share counts as a run of its own.
  for (const Contributor& one : contributors) {
    MeetingBlocks blocks(plan, piece, one.rank);
    for (MeetingBlock block; blocks.next(block);) {
      sample.calls += static_cast<double>(buffer_to_file(block, piece.slabs[block.slab]).runs());
    }
  }
}

Sample sample_pieces(const std::shared_ptr<const Plan>& plan) {
  Sample sample;
  const std::int64_t aggregators = plan->aggregators();
  std::set<std::int64_t> looked_at;
  for (int i = 0; i < sampled_aggregators; ++i) {
    looked_at.insert(aggregators * i / sampled_aggregators);
  }
  for (const std::int64_t aggregator : looked_at) {
    AggregatorPieces pieces(plan, aggregator);
    Piece piece;
    for (int looked = 0; looked < sampled_pieces && pieces.next(piece); ++looked) {
      add_piece(*plan, piece, sample);
    }
  }
  return sample;
}

std::set<std::int64_t> some_ranks(std::int64_t ranks) {
  std::set<std::int64_t> some;
  for (int i = 0; i < sampled_ranks; ++i) some.insert((ranks - 1) * i / (sampled_ranks - 1));
  return some;
}

double or_infinite(double rate) { return rate > 0 ? rate : HUGE_VAL; }

// Calls and bytes of files: `callers` on each of `nodes` nodes.
void price_files(const Request& request, const PlatformRates& rates, double bytes, double nodes,
                 double callers, Price& price) {
  const double at_once = std::min(callers, static_cast<double>(rates.cores_per_node));
  const auto calls = static_cast<double>(price.calls);
  price.call_seconds = request.direction == Direction::write
                           ? calls / nodes * rates.write_call_seconds
                           : calls / nodes * rates.read_call_seconds / at_once;
  const double node_rate =
      std::min(at_once * rates.core_file_bytes_per_second, rates.node_file_bytes_per_second);
  price.file_seconds = bytes / nodes / node_rate;
}

double storage_seconds(const PlatformRates& rates, double bytes) {
  return bytes / or_infinite(rates.storage_bytes_per_second);
}

}  // namespace

Result<Price> price_of(const Request& request, const topology::Topology& topology,
                       const topology::FileTargets& targets, const PlatformRates& rates,
                       const Parameters& parameters) {
  Parameters direct = parameters;
  direct.strategy = Strategy::direct;
  const auto by_rank = Plan::create(request, topology, direct);
  if (!by_rank) return by_rank.error();
  const Sample rows = sample_rows(by_rank.value(), some_ranks(request.ranks()));
  const auto bytes = static_cast<double>(request.bytes());
  Price price;
  price.parameters = parameters;
  if (rows.bytes == 0) return price;  // nobody has anything to transfer, as far as seen
  const double row = rows.bytes / rows.calls;
  price.bytes_per_run = static_cast<std::int64_t>(row);

  const auto nodes = static_cast<double>(topology.nodes());
  const double ranks_per_node = static_cast<double>(topology.ranks()) / nodes;
  const auto lock = static_cast<double>(targets.lock_bytes);
  if (parameters.strategy == Strategy::direct) {
    price.aggregators = request.ranks();
    price.calls = static_cast<std::int64_t>(bytes / row);
    price.bytes_per_call = price.bytes_per_run;
    price_files(request, rates, bytes, nodes, ranks_per_node, price);
    if (lock > 0 && nodes > 1 && request.direction == Direction::write) {
      // Each block goes from writer to writer, as many as have rows in it; different blocks side by
      // side.
      const double writers = std::clamp(lock / row, 1.0, nodes);
      price.lock_seconds = bytes / lock * writers * rates.shared_block_seconds / nodes;
    }
    price.seconds =
        std::max(price.call_seconds + price.file_seconds, storage_seconds(rates, bytes)) +
        price.lock_seconds;
    return price;
  }

  const std::int64_t groups = Plan::groups(topology, parameters.strategy);
  const auto grouped = Plan::create(request, topology, parameters, groups / 2);
  if (!grouped) return grouped.error();
  const Sample pieces = sample_pieces(grouped.value());
  if (pieces.pieces == 0) return price;
  price.aggregators = grouped.value()->aggregators() * groups;
  const auto aggregators = static_cast<double>(price.aggregators);
  const double all_pieces = bytes / (pieces.bytes / pieces.pieces);
  const double messages = all_pieces * pieces.messages / pieces.pieces;
  price.calls = static_cast<std::int64_t>(std::ceil(all_pieces * pieces.calls / pieces.pieces));
  price.bytes_per_call = static_cast<std::int64_t>(pieces.bytes / std::max(1.0, pieces.calls));
  const double writing_nodes = std::min(nodes, aggregators);
  // As many aggregators work at the same time as have something to do.
  const double busy = std::max(1.0, std::min(aggregators, all_pieces));
  const double per_node = std::max(1.0, busy / writing_nodes);
  price_files(request, rates, bytes, std::min(writing_nodes, busy), per_node, price);

  // Copies: one inside a node; between nodes one on each side.
  const bool by_message = parameters.strategy != Strategy::node_aggregation;
  const double in_group = nodes / static_cast<double>(topology.io_groups());
  const double leaving = by_message ? 1 - 1 / std::max(1.0, in_group) : 0;
  double copies = by_message ? 2 : 1;
  if (parameters.strategy == Strategy::two_phase) copies += rates.early_arrivals;
  const double copying = std::min(per_node, static_cast<double>(rates.cores_per_node));
  const double copy_rate =
      std::min(copying * rates.core_copy_bytes_per_second, rates.node_copy_bytes_per_second);
  price.gather_seconds =
      bytes / std::min(writing_nodes, busy) *
      (copies / copy_rate + rates.copy_run_seconds / row / std::max(1.0, copying));
  if (by_message) {
    // A receiver's link carries what its aggregators gather.
    const double handled = parameters.strategy == Strategy::server_directed ? 2 : 1;
    price.exchange_seconds =
        leaving * bytes / std::min(writing_nodes, busy) / rates.link_bytes_per_second +
        handled * messages / busy * rates.message_seconds;
    if (parameters.strategy == Strategy::server_directed) {
      price.exchange_seconds += 2 * rates.message_seconds * all_pieces / busy;
    }
  }
  if (lock > 0 && groups > 1 && request.direction == Direction::write) {
    // Groups write between each other's rows.
    const double extent = std::max(1.0, static_cast<double>(price.bytes_per_call));
    const double writers = std::clamp(lock / extent, 1.0, static_cast<double>(groups));
    price.lock_seconds = bytes / lock * writers * rates.shared_block_seconds / writing_nodes;
  }
  const double gathering = price.gather_seconds + price.exchange_seconds;
  const double writing =
      std::max(price.call_seconds + price.file_seconds, storage_seconds(rates, bytes)) +
      price.lock_seconds;
  price.seconds = std::max(gathering, writing) +
                  (1 - rates.overlap) * std::min(gathering, writing) +
                  all_pieces / busy * rates.piece_seconds;
  return price;
}

}  // namespace weir::plan
