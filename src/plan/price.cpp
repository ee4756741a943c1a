#include "plan/price.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "plan/file_windows.hpp"
#include "plan/link_loads.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/operation_queues.hpp"
#include "plan/piece_sample.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/targets_at_once.hpp"
#include "topology/network.hpp"

namespace weir::plan {
namespace {

// Sizes of the sample of a plan.
constexpr int sampled_ranks = 3;
constexpr int sampled_aggregators = 2;
constexpr int sampled_pieces = 3;
constexpr double sampled_shares = 200;           // enough, even if there are few pieces
constexpr std::int64_t sampled_slabs = 1 << 10;  // of a piece
// Limits of the sample by which hops are counted: aggregators, pieces of each, and ranks with a
// share of them, after which no further piece is looked at.
constexpr int hop_aggregators = 4;
constexpr std::int64_t hop_pieces = 16;
constexpr std::int64_t hop_contributions = 1 << 15;
// Shorter transfers do not bypass the page cache.
constexpr std::int64_t least_direct_bytes = 64 << 10;
// An engine replaces another one only for a significant gain.
constexpr double worth_another = 0.98;

struct Sample {
  double bytes = 0;
  double calls = 0;
  double moved = 0;  // bytes moved, including those of holes
  double pieces = 0;
  double shares = 0;    // number of contributions
  double messages = 0;  // one per node, if the aggregators were on other nodes
};

array::Layout packed_memory(const Plan& plan, const Slab& slab, std::int64_t rank,
                            std::int64_t part) {
  // The layout fits: a rank holds a part of the array, whose bytes fit into 63 bits.
  return array::Layout::packed(plan.part(slab.array, rank, part).local_extents(),
                               slab.in_file.element_bytes(), array::Order::row_major)
      .value();
}

// Samples rows: the runs of some ranks' parts in the file.
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

// The calls on files that move some slabs.
struct Windows {
  double calls = 0;   // as if no slab followed another one in the file
  double moved = 0;   // bytes, including those of holes
  double joined = 0;  // slabs that are one extent with the slab before them
};

void add_windows(const array::StridedCopy& to_file, std::int64_t gap, bool writing,
                 Windows& windows) {
  const WindowEstimate estimate = estimate_windows(to_file, gap);
  windows.calls += estimate.windows;
  // A window that is changed is read first.
  windows.moved += estimate.bytes * (writing && !estimate.alone ? 2 : 1);
}

// Without holes, slabs that follow each other in the file are one extent.
void add_slabs(const SlabList& slabs, std::int64_t gap, bool writing, Windows& windows) {
  std::int64_t end = -1;
  for (const Slab& slab : slabs) {
    const auto copy = buffer_to_file(slab);
    add_windows(copy, gap, writing, windows);
    if (copy.to_offset == end) windows.joined += 1;
    end = copy.runs() == 1 ? copy.to_offset + copy.bytes : -1;
  }
}

// With holes, each run that is contiguous in a contributor's share counts separately.
void add_shares(const Plan& plan, const Piece& piece, const std::vector<Contributor>& contributors,
                std::int64_t gap, bool writing, Windows& windows) {
  for (const Contributor& one : contributors) {
    MeetingBlocks blocks(plan, piece, one.rank);
    for (MeetingBlock block; blocks.next(block);) {
      add_windows(buffer_to_file(block, piece.slabs[block.slab]), gap, writing, windows);
    }
  }
}

void add_calls(const Plan& plan, const PieceId& id, const std::vector<Contributor>& contributors,
               std::int64_t held, const PlatformRates& rates, Sample& sample) {
  const std::int64_t gap = widest_gap(plan, id.array, rates);
  const bool writing = plan.request().direction == Direction::write;
  const SlabSample slabs = slab_sample(plan, id, sampled_slabs);
  Windows windows;
  double looked_at = 0;
  for (const Piece& stretch : slabs.stretches) {
    looked_at += static_cast<double>(stretch.slabs.size());
    if (held >= slabs.bytes) {
      add_slabs(stretch.slabs, gap, writing, windows);
    } else if (slabs.times == 1) {
      add_shares(plan, stretch, contributors, gap, writing, windows);
    } else {
      add_shares(plan, stretch, plan.contributors(stretch), gap, writing, windows);
    }
  }
  sample.calls += windows.calls * slabs.times;
  sample.moved += windows.moved * slabs.times;
  if (windows.joined > 0) {
    // The first slab of a stretch may follow another one, too.
    const double pairs = looked_at - static_cast<double>(slabs.stretches.size());
    sample.calls -= windows.joined / pairs * (looked_at * slabs.times - 1);
  }
}

void add_piece(const Plan& plan, const PieceId& id, const PlatformRates& rates, Sample& sample) {
  const auto contributors = plan.contributors(id);
  if (contributors.empty()) return;
  std::int64_t held = 0;
  for (const Contributor& one : contributors) held += one.bytes;
  sample.pieces += 1;
  sample.shares += static_cast<double>(contributors.size());
  std::set<std::int64_t> nodes;
  for (const Contributor& one : contributors) nodes.insert(plan.topology().node_of(one.rank));
  sample.messages += static_cast<double>(nodes.size());
  sample.bytes += static_cast<double>(held);
  add_calls(plan, id, contributors, held, rates, sample);
}

// Samples the first pieces in which a rank of the group has a share.
void add_pieces_of(const std::shared_ptr<const Plan>& plan, std::int64_t rank,
                   const PlatformRates& rates, Sample& sample) {
  RankPieces pieces(plan, rank);
  PieceId id;
  for (int looked = 0; looked < sampled_pieces && pieces.next(id); ++looked) {
    add_piece(*plan, id, rates, sample);
  }
}

Sample sample_pieces(const std::shared_ptr<const Plan>& plan, const PlatformRates& rates) {
  Sample sample;
  const std::int64_t aggregators = plan->aggregators();
  std::set<std::int64_t> looked_at;
  for (int i = 0; i < sampled_aggregators; ++i) {
    looked_at.insert(aggregators * i / sampled_aggregators);
  }
  for (const std::int64_t aggregator : looked_at) {
    AggregatorPieces pieces(plan, aggregator);
    PieceId id;
    for (int looked = 0;
         looked < sampled_pieces && sample.shares < sampled_shares && pieces.next(id); ++looked) {
      add_piece(*plan, id, rates, sample);
    }
  }
  if (sample.pieces > 0 || aggregators == 0) return sample;
  // The group's ranks may hold nothing of what those aggregators have, as with small parts of long
  // rows.
  const topology::Topology& topology = plan->topology();
  const std::int64_t first = plan->rank_of(0);
  const std::int64_t node = topology.node_of(first);
  for (std::int64_t i = 0; i < topology.ranks_on(node) && sample.pieces == 0; ++i) {
    add_pieces_of(plan, topology.rank_on(node, i), rates, sample);
  }
  return sample;
}

// Returns how many links a byte from another node passes, as a mean over pieces in scattered
// places: neighbouring pieces come from neighbouring nodes. 0 if no byte is known to.
double mean_hops(const Plan& plan) {
  const topology::Topology& topology = plan.topology();
  double bytes = 0;
  double hop_bytes = 0;
  std::int64_t looked_at = 0;
  std::set<std::int64_t> aggregators;
  for (int i = 0; i < hop_aggregators; ++i) {
    aggregators.insert(plan.aggregators() * (2 * i + 1) / (2 * hop_aggregators));
  }
  for (const std::int64_t aggregator : aggregators) {
    const std::int64_t to = topology.node_of(plan.rank_of(aggregator));
    for (const SampledPiece& one : piece_sample(plan, aggregator, hop_pieces)) {
      if (looked_at > hop_contributions) break;
      for (const Contributor& from : plan.contributors(one.id)) {
        ++looked_at;
        const std::int64_t node = topology.node_of(from.rank);
        if (node == to) continue;
        const double sent = static_cast<double>(from.bytes) * one.times;
        bytes += sent;
        hop_bytes += sent * static_cast<double>(topology.network()->hops(node, to));
      }
    }
  }
  return bytes > 0 ? hop_bytes / bytes : 0;
}

std::set<std::int64_t> some_ranks(std::int64_t ranks) {
  std::set<std::int64_t> some;
  for (int i = 0; i < sampled_ranks; ++i) some.insert((ranks - 1) * i / (sampled_ranks - 1));
  return some;
}

}  // namespace

Result<Pricing> Pricing::create(const Request& request, const topology::Topology& topology,
                                const topology::FileTargets& targets, const PlatformRates& rates) {
  Parameters direct;
  direct.strategy = Strategy::direct;
  for (const ArrayRequest& one : request.arrays) {
    direct.buffer_bytes = std::max(direct.buffer_bytes, one.image.element_bytes());
  }
  const auto plan = Plan::create(request, topology, direct);
  if (!plan) return plan.error();
  const Sample rows = sample_rows(plan.value(), some_ranks(request.ranks()));
  return Pricing(request, topology, targets, rates, rows.calls > 0 ? rows.bytes / rows.calls : 0);
}

Result<Price> Pricing::price(const Parameters& parameters, Engines engines) const {
  Price price;
  price.parameters = parameters;
  price.engine = *std::find_if(all_engines.begin(), all_engines.end(),
                               [engines](Engine engine) { return engines.has(engine); });
  price.bytes_per_run = static_cast<std::int64_t>(bytes_per_run_);
  if (parameters.strategy == Strategy::direct) {
    // The plan is created only for its errors.
    const auto plan = Plan::create(*request_, *topology_, parameters);
    if (!plan) return plan.error();
    if (bytes_per_run_ > 0) price_direct(engines, price);
    return price;
  }
  if (Status status = price_aggregated(engines, price); !status) return status.error();
  return price;
}

double Pricing::cores() const {
  constexpr std::int64_t unknown = 2;
  return static_cast<double>(rates_->cores_per_node > 0 ? rates_->cores_per_node : unknown);
}

double Pricing::copy_seconds(double copied, double ranks) const {
  const double at_once = std::min(ranks, cores());
  const double rate =
      std::min(at_once * rates_->core_copy_bytes_per_second, rates_->node_copy_bytes_per_second);
  return copied / rate + copied / bytes_per_run_ * rates_->copy_run_seconds / at_once;
}

FileRates Pricing::file_rates(Engine engine) const {
  FileRates rates = writing() ? rates_->write : rates_->read;
  switch (engine) {
    case Engine::posix:
      break;
    case Engine::uring:
      rates.call_seconds += writing() ? rates_->uring_write_seconds : rates_->uring_read_seconds;
      break;
    case Engine::direct: {
      const FileRates& direct = writing() ? rates_->direct_write : rates_->direct_read;
      if (direct.storage_bytes_per_second > 0) return direct;
      break;
    }
    case Engine::mpi_io:
      rates.call_seconds += rates_->mpi_io_seconds;
      break;
    case Engine::null: {
      if (rates_->by_flows) break;
      constexpr double unlimited = std::numeric_limits<double>::infinity();
      return {.call_seconds = 0,
              .core_bytes_per_second = unlimited,
              .node_bytes_per_second = unlimited};
    }
  }
  return rates;
}

double Pricing::storage_seconds(Engine engine) const {
  const double rate = file_rates(engine).storage_bytes_per_second;
  if (rate <= 0) return 0;
  const double cached = engine == Engine::direct ? 0 : rates_->cached_bytes;
  return std::max(0.0, static_cast<double>(request_->bytes()) - cached) / rate;
}

std::optional<double> Pricing::seconds_at_targets(const Parameters& parameters) const {
  if (!rates_->by_flows) return std::nullopt;
  const auto queued = queue_seconds(*request_, *topology_, *targets_, *rates_, parameters);
  return queued ? queued.value() : std::nullopt;
}

// Returns the share of the targets that callers use at a time.
double Pricing::share_of_targets(const Parameters& parameters) const {
  if (!rates_->by_flows || file_rates(Engine::posix).storage_bytes_per_second <= 0) return 1;
  const auto at_once = targets_at_once(*request_, *topology_, *targets_, parameters);
  if (!at_once) return 1;
  return at_once.value() / static_cast<double>(std::max<std::int64_t>(1, targets_->count));
}

// Direct I/O moves whole pages of long transfers; for other transfers it is the same as POSIX.
bool Pricing::is_priced(Engine engine, const Price& price) const {
  if (engine != Engine::direct) return true;
  const FileRates& direct = writing() ? rates_->direct_write : rates_->direct_read;
  return direct.storage_bytes_per_second > 0 && price.bytes_per_call >= least_direct_bytes;
}

// Sets the members that depend on the engine; price_one(price) sets them for price.engine.
template <typename PriceOne>
void Pricing::choose_engine(Engines engines, const PriceOne& price_one, Price& price) const {
  Price best;
  bool any = false;
  for (const bool whatever : {false, true}) {
    for (const Engine engine : all_engines) {
      if (!engines.has(engine) || (!whatever && !is_priced(engine, price))) continue;
      price.engine = engine;
      price_one(price);
      price.seconds_by_engine.at(static_cast<std::size_t>(engine)) = price.seconds;
      if (!any || price.seconds < worth_another * best.seconds) best = price;
      any = true;
    }
    if (any) break;
  }
  const auto by_engine = price.seconds_by_engine;
  price = best;
  price.seconds_by_engine = by_engine;
}

// Adds calls and bytes of files, for `callers` callers on each of `nodes` nodes.
void Pricing::price_files(double nodes, double callers, Price& price) const {
  const FileRates rates = file_rates(price.engine);
  double at_once = std::min(callers, cores());
  if (rates.one_at_a_time) {
    std::int64_t files = 0;
    for (const ArrayRequest& one : request_->arrays) files += one.image.files();
    at_once = std::min(at_once, static_cast<double>(files));
  }
  price.call_seconds = static_cast<double>(price.calls) / nodes * rates.call_seconds / at_once;
  const double node_rate =
      std::min(at_once * rates.core_bytes_per_second, rates.node_bytes_per_second);
  price.file_seconds = static_cast<double>(request_->bytes()) / nodes / node_rate;
  price_ways_out(rates, nodes, price);
}

// Takes the time of calls and bytes on the way out of a node or an I/O group, if it is longer.
void Pricing::price_ways_out(const FileRates& rates, double nodes, Price& price) const {
  const auto bytes = static_cast<double>(request_->bytes());
  const double groups = std::min(nodes, static_cast<double>(topology_->io_groups()));
  const double shared =
      rates.group_bytes_per_second > 0 ? bytes / groups / rates.group_bytes_per_second : 0;
  const double ways = rates.turns.of_io_groups ? groups : nodes;
  const double calls = static_cast<double>(price.calls) / ways * rates.turns.call_seconds;
  const double carried =
      rates.turns.bytes_per_second > 0 ? bytes / ways / rates.turns.bytes_per_second : 0;
  if (std::max(shared, calls + carried) <= price.call_seconds + price.file_seconds) return;
  price.call_seconds = std::min(calls, std::max(shared, calls + carried));
  price.file_seconds = std::max(shared, calls + carried) - price.call_seconds;
}

void Pricing::price_direct(Engines engines, Price& price) const {
  const auto bytes = static_cast<double>(request_->bytes());
  const auto nodes = static_cast<double>(topology_->nodes());
  price.aggregators = request_->ranks();
  price.calls = static_cast<std::int64_t>(bytes / bytes_per_run_);
  price.bytes_per_call = price.bytes_per_run;
  const auto lock = static_cast<double>(targets_->lock_bytes);
  if (lock > 0 && nodes > 1 && request_->direction == Direction::write) {
    // Each block moves from writer to writer, one per node with rows in it; different blocks move
    // in parallel.
    const double writers = std::clamp(lock / bytes_per_run_, 1.0, nodes);
    price.lock_seconds = bytes / lock * writers * rates_->shared_block_seconds / nodes;
  }
  const auto queued = seconds_at_targets(price.parameters);
  const double used = queued ? 1 : share_of_targets(price.parameters);
  const auto price_one = [&](Price& one) {
    price_files(nodes, static_cast<double>(topology_->ranks()) / nodes, one);
    one.seconds = std::max(one.call_seconds + one.file_seconds,
                           queued.value_or(storage_seconds(one.engine) / used)) +
                  one.lock_seconds;
  };
  choose_engine(engines, price_one, price);
}

StagedPrice Pricing::price_staged(const Stagers& stagers, std::int64_t bytes_per_call) const {
  StagedPrice staged{.stagers = stagers};
  if (bytes_per_run_ == 0) return staged;
  const auto bytes = static_cast<double>(request_->bytes());
  const auto nodes = static_cast<double>(topology_->nodes());
  const auto count = static_cast<double>(std::max<std::int64_t>(1, stagers.count));
  staged.copy_seconds =
      copy_seconds(bytes / nodes, static_cast<double>(topology_->ranks()) / nodes);
  if (stagers.on_other_nodes) {
    staged.link_seconds = bytes / std::min(nodes, count) / rates_->link_bytes_per_second;
  }
  // One thread of each stager writes for a program. Stagers of other nodes have these alone.
  const double stager_nodes = stagers.on_other_nodes ? count : std::min(nodes, count);
  Price stored;
  stored.calls = static_cast<std::int64_t>(
      std::ceil(bytes / static_cast<double>(std::max<std::int64_t>(1, bytes_per_call))));
  price_files(stager_nodes, count / stager_nodes, stored);
  staged.store_seconds =
      std::max(stored.call_seconds + stored.file_seconds, storage_seconds(Engine::posix));
  return staged;
}

Status Pricing::price_aggregated(Engines engines, Price& price) const {
  const Strategy strategy = price.parameters.strategy;
  const std::int64_t groups = Plan::groups(*topology_, strategy);
  auto plan = Plan::create(*request_, *topology_, price.parameters, groups / 2);
  if (!plan) return plan.error();
  Sample pieces = sample_pieces(plan.value(), *rates_);
  if (pieces.pieces == 0 && groups > 1) {
    // The ranks of this group may hold nothing, if an array is distributed over fewer ranks.
    plan = Plan::create(*request_, *topology_, price.parameters, 0);
    if (!plan) return plan.error();
    pieces = sample_pieces(plan.value(), *rates_);
  }
  if (bytes_per_run_ == 0) return {};
  if (pieces.pieces == 0) {
    // The sample contains no piece, so the price is unknown and must not look cheaper than known
    // prices.
    price.seconds = std::numeric_limits<double>::infinity();
    return {};
  }

  const auto bytes = static_cast<double>(request_->bytes());
  const auto nodes = static_cast<double>(topology_->nodes());
  price.aggregators = plan.value()->aggregators() * groups;
  const double all_pieces = bytes / (pieces.bytes / pieces.pieces);
  const double messages = all_pieces * pieces.messages / pieces.pieces;
  price.calls = static_cast<std::int64_t>(std::ceil(all_pieces * pieces.calls / pieces.pieces));
  price.bytes_per_call = static_cast<std::int64_t>(pieces.bytes / std::max(1.0, pieces.calls));
  // Only aggregators with a piece to process work at the same time.
  const double busy = std::max(1.0, std::min(static_cast<double>(price.aggregators), all_pieces));
  const auto aggregating = static_cast<double>(plan.value()->aggregating_nodes() * groups);
  const double busy_nodes = std::min({nodes, busy, aggregating});
  const double per_node = busy / busy_nodes;

  // Fraction of the data that comes from nodes other than the aggregator's.
  const bool by_message = strategy != Strategy::node_aggregation;
  const double in_group = nodes / static_cast<double>(topology_->io_groups());
  const double leaving = by_message ? 1 - 1 / std::max(1.0, in_group) : 0;
  // Ranks of a node copy into the buffers by themselves. Data from other nodes are packed there and
  // unpacked by the aggregator, and pass through the aggregator's link.
  price.gather_seconds =
      copy_seconds(bytes / nodes, static_cast<double>(topology_->ranks()) / nodes);
  if (leaving > 0) {
    const bool asked = strategy == Strategy::server_directed;
    const bool asks = asked && request_->direction == Direction::write;
    const double again = asked ? 0 : rates_->early_arrivals;
    price.gather_seconds += copy_seconds(leaving * bytes / busy_nodes * (1 + again), per_node);
    price.exchange_seconds =
        leaving * bytes / busy_nodes / rates_->link_bytes_per_second +
        leaving * (asks ? 2 * messages : messages) / busy * rates_->message_seconds;
    if (topology_->network() != nullptr && rates_->hop_bytes_per_second > 0) {
      price.mean_hops = mean_hops(*plan.value());
      if (!rates_->by_flows) {
        price.hop_seconds = std::max(0.0, price.mean_hops - 1) * leaving * bytes / busy_nodes /
                            rates_->hop_bytes_per_second;
      }
      // The messages of all aggregators are under way meanwhile, and the busiest link has its share
      // of them all.
      price.link_seconds = share_of_busiest_link(*plan.value()) * leaving * bytes /
                           static_cast<double>(groups) / rates_->hop_bytes_per_second;
      price.exchange_seconds =
          std::max(price.exchange_seconds + price.hop_seconds, price.link_seconds);
    }
  }
  const auto lock = static_cast<double>(targets_->lock_bytes);
  if (lock > 0 && groups > 1 && request_->direction == Direction::write) {
    // Groups write between each other's rows.
    const double extent = std::max(1.0, static_cast<double>(price.bytes_per_call));
    const double writers = std::clamp(lock / extent, 1.0, static_cast<double>(groups));
    price.lock_seconds = bytes / lock * writers * rates_->shared_block_seconds / busy_nodes;
  }
  const double gathering = price.gather_seconds + price.exchange_seconds;
  // While one aggregator of a node writes, ranks copy to another one. (128 MiB from 4 ranks on two
  // cores took a tenth longer with one aggregator than with two.)
  const double ranks_per_node = static_cast<double>(topology_->ranks()) / nodes;
  const double overlap =
      rates_->by_flows
          ? rates_->overlap
          : rates_->overlap *
                std::min(1.0, per_node / std::max(1.0, std::min(cores(), ranks_per_node)));
  // While an aggregator's first piece arrives and its last one leaves, not all links are busy: of
  // four links, the fractions 0.61, 0.80 and 0.94 were used with 4, 8 and 16 pieces per aggregator.
  const double ends_seconds = price.exchange_seconds / std::max(2.0, all_pieces / busy);
  const auto queued = seconds_at_targets(price.parameters);
  const double used = queued ? 1 : share_of_targets(price.parameters);
  const auto price_one = [&](Price& one) {
    price_files(busy_nodes, per_node, one);
    one.file_seconds *= std::max(1.0, pieces.moved / pieces.bytes);
    const double writing = std::max(one.call_seconds + one.file_seconds,
                                    queued.value_or(storage_seconds(one.engine) / used)) +
                           one.lock_seconds;
    one.seconds = std::max(gathering, writing) + (1 - overlap) * std::min(gathering, writing) +
                  ends_seconds + all_pieces / busy * rates_->piece_seconds;
  };
  choose_engine(engines, price_one, price);
  return {};
}

}  // namespace weir::plan
