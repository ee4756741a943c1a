// Opening and closing sessions, and what needs no session.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "capi/extents_argument.hpp"
#include "capi/platform_option.hpp"
#include "capi/session.hpp"
#include "capi/version.hpp"

namespace weir::capi {
namespace {

using aggregation::CollectiveSettings;

constexpr double default_deadline_seconds = 600;
constexpr double longest_deadline_seconds = 1e9;
// Of stripes, lock blocks and alignment, so that their multiples stay numbers.
constexpr std::int64_t largest_block = std::int64_t{1} << 40;
constexpr std::int64_t most_targets = 1 << 20;

Outcome read_strategy(const char* name, std::optional<plan::Strategy>& strategy) {
  if (name == nullptr || name == aggregation::name_of(std::optional<plan::Strategy>())) return {};
  auto known = plan::parse_strategy(name);
  if (known) {
    strategy = known.value();
    return {};
  }
  std::string names(aggregation::name_of(std::optional<plan::Strategy>()));
  for (const plan::Strategy one : plan::all_strategies) {
    names += fmt::format(", {}", plan::name_of(one));
  }
  return bad_argument(fmt::format("options.strategy is '{}': give one of {}", name, names));
}

Outcome read_engine(const char* name, std::optional<plan::Engine>& engine) {
  if (name == nullptr || name == aggregation::name_of(std::optional<plan::Engine>())) return {};
  auto known = plan::parse_engine(name);
  if (known) {
    engine = known.value();
    return {};
  }
  return bad_argument(fmt::format(
      "options.engine is '{}': give one of automatic, posix, io_uring, direct-io, mpi-io", name));
}

// What weir_figures has for an engine.
std::int32_t number_of(plan::Engine engine) { return static_cast<std::int32_t>(engine) + 1; }

// What weir_figures has for a strategy.
std::int32_t number_of(plan::Strategy strategy) {
  switch (strategy) {
    case plan::Strategy::direct:
      return 1;
    case plan::Strategy::node_aggregation:
      return 2;
    case plan::Strategy::two_phase:
      return 3;
    case plan::Strategy::server_directed:
      return 4;
  }
  return 0;
}

// What options say of the session's storage; 0 where they leave it open.
struct StorageOptions {
  std::int64_t alignment_bytes = 0;
  std::int64_t stripe_bytes = 0;
  std::int64_t lock_bytes = 0;
  std::int64_t targets = 0;

  // Over what the description says.
  void override(topology::FileTargets& described) const {
    if (stripe_bytes > 0) described.stripe_bytes = stripe_bytes;
    if (lock_bytes > 0) described.lock_bytes = lock_bytes;
    if (targets > 0) described.count = targets;
  }
};

Outcome read_options(const weir_session_options& options, CollectiveSettings& settings,
                     StorageOptions& storage) {
  auto outcome = check_reserved("weir_session_options", std::data(options.reserved),
                                std::size(options.reserved));
  if (!outcome.ok()) return outcome;
  if (std::isnan(options.deadline_seconds) || options.deadline_seconds < 0 ||
      options.deadline_seconds > longest_deadline_seconds) {
    return bad_argument(fmt::format("options.deadline_seconds is {}: give 0 to {}",
                                    options.deadline_seconds, longest_deadline_seconds));
  }
  if (options.deadline_seconds > 0) settings.deadline_seconds = options.deadline_seconds;
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const struct {
    const char* name;
    std::int64_t value;
    std::int64_t most;
    std::int64_t* setting;
  } numbers[] = {
      {"aggregators", options.aggregators, any, &settings.aggregators},
      {"buffer_bytes", options.buffer_bytes, any, &settings.buffer_bytes},
      {"buffers", options.buffers, any, &settings.buffers},
      {"ranks_per_node", options.ranks_per_node, any, &settings.ranks_per_node},
      {"alignment_bytes", options.alignment_bytes, largest_block, &storage.alignment_bytes},
      {"stripe_bytes", options.stripe_bytes, largest_block, &storage.stripe_bytes},
      {"lock_bytes", options.lock_bytes, largest_block, &storage.lock_bytes},
      {"targets", options.targets, most_targets, &storage.targets}};
  for (const auto& number : numbers) {
    if (number.value < 0 || number.value > number.most) {
      return bad_argument(fmt::format(
          "options.{} is {}: give 0 for what Weir chooses, or {}", number.name, number.value,
          number.value < 0 ? std::string("more") : fmt::format("at most {}", number.most)));
    }
    *number.setting = number.value;
  }
  if (options.buffers == 1) {
    return bad_argument(
        "options.buffers is 1: give at least 2, one to fill while another is "
        "written");
  }
  auto known = read_strategy(options.strategy, settings.strategy);
  return known.ok() ? read_engine(options.engine, settings.engine) : known;
}

// MPI can be called, and the communicator be used for a session.
Outcome check_communicator(MPI_Comm communicator) {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return bad_argument(
        "weir_session_open: MPI is not running; call between MPI_Init and "
        "MPI_Finalize");
  }
  if (communicator == MPI_COMM_NULL) {
    return bad_argument("weir_session_open: communicator is MPI_COMM_NULL");
  }
  int inter = 0;
  MPI_Comm_test_inter(communicator, &inter);
  if (inter != 0) return bad_argument("weir_session_open: communicator joins two groups of ranks");
  return {};
}

Outcome open_session(MPI_Comm communicator, const weir_session_options* options,
                     weir_session** result) {
  if (auto usable = check_communicator(communicator); !usable.ok()) return usable;
  CollectiveSettings settings;
  settings.deadline_seconds = default_deadline_seconds;
  StorageOptions storage;
  const char* const platform = options == nullptr ? nullptr : options->platform;
  Outcome prepared = options == nullptr ? Outcome{} : read_options(*options, settings, storage);
  if (result == nullptr) prepared = bad_argument("session is null");

  auto session = std::make_unique<weir_session>();
  auto outcome = session->ranks.open(communicator, settings.deadline_seconds);
  if (outcome.ok()) {
    outcome = session->call(
        fmt::format(
            "weir_session_open(deadline_seconds {}, strategy {}, aggregators {}, "
            "buffer_bytes {}, buffers {}, ranks_per_node {}, platform {}, alignment_bytes {}, "
            "stripe_bytes {}, lock_bytes {}, targets {}, engine {})",
            settings.deadline_seconds, aggregation::name_of(settings.strategy),
            settings.aggregators, settings.buffer_bytes, settings.buffers, settings.ranks_per_node,
            quoted(platform), storage.alignment_bytes, storage.stripe_bytes, storage.lock_bytes,
            storage.targets, aggregation::name_of(settings.engine)),
        prepared, [&]() -> Outcome {
          auto read = read_platform(session->ranks, platform, session->platform);
          if (!read.ok()) return read;
          storage.override(session->platform.targets);
          settings.alignment_bytes = storage.alignment_bytes;
          settings.rates = session->platform.rates;
          settings.targets = session->platform.targets;
          auto made = aggregation::Collective::create(session->ranks.details(), settings);
          if (!made) return outcome_of(made.error(), "weir_session_open");
          session->collective = std::move(made).value();
          return {};
        });
  }
  if (outcome.ok()) {
    session->ranks.compare_by(&session->collective->comparisons());
    *result = session.release();
  } else if (session->ranks.broken()) {
    [[maybe_unused]] auto* const kept = session.release();  // its messages are still under way
  } else {
    session->ranks.free();
  }
  return outcome;
}

// Every array and file is closed, whatever happens to those before it; the first failure is told.
Outcome close_arrays(weir_session& session) {
  Outcome first;
  for (const auto& array : session.arrays) {
    auto closed = outcome_of(session.collective->close(*array->file), "weir_session_close");
    if (first.ok()) first = std::move(closed);
  }
  for (const auto& file : session.files) {
    if (file->open == nullptr) continue;
    auto closed = outcome_of(session.collective->close_file(*file->open), "weir_session_close");
    if (first.ok()) first = std::move(closed);
  }
  return first;
}

Outcome close_session(weir_session* session) {
  auto outcome =
      session->call("weir_session_close()", {}, [session] { return close_arrays(*session); });
  // It stays where its messages are still under way, and where other ranks go on with theirs:
  // what follows needs all of them.
  if (session->ranks.broken() || outcome.code == WEIR_E_MISMATCH) return outcome;
  session->arrays.clear();
  session->files.clear();
  session->ranks.compare_by(nullptr);
  session->collective = nullptr;
  session->ranks.free();
  delete session;
  return outcome;
}

}  // namespace
}  // namespace weir::capi

extern "C" {

const char* weir_version(void) { return WEIR_LIBRARY_VERSION; }

const char* weir_last_error(void) { return weir::capi::last_text(); }

int weir_session_open(MPI_Comm communicator, const weir_session_options* options,
                      weir_session** session) {
  if (session != nullptr) *session = nullptr;
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::open_session(communicator, options, session); });
}

int weir_session_close(weir_session** session) {
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr || *session == nullptr) {
      return weir::capi::null_argument("weir_session_close", "session");
    }
    return weir::capi::close_session(std::exchange(*session, nullptr));
  });
}

void weir_session_abandon(weir_session** session) {
  if (session != nullptr) *session = nullptr;
}

int weir_session_figures(const weir_session* session, weir_figures* figures) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (session == nullptr) return weir::capi::null_argument("weir_session_figures", "session");
    if (figures == nullptr) return weir::capi::null_argument("weir_session_figures", "figures");
    if (!session->has_figures) {
      return weir::capi::bad_argument("weir_session_figures: no request has ended yet");
    }
    const auto& measured = session->collective->figures();
    *figures = weir_figures{};
    figures->strategy = weir::capi::number_of(measured.strategy);
    figures->plan_reused = measured.plan_reused ? 1 : 0;
    figures->aggregators = measured.aggregators;
    figures->plan_ns = measured.plan_ns;
    figures->gather_ns = measured.gather_ns;
    figures->storage_ns = measured.storage_ns;
    figures->wait_ns = measured.wait_ns;
    figures->bytes_asked = measured.bytes_asked;
    figures->bytes_stored = measured.bytes_stored;
    figures->bytes_fetched = measured.bytes_fetched;
    figures->bytes_sent = measured.bytes_sent;
    figures->storage_calls = measured.storage_calls;
    figures->engine = weir::capi::number_of(measured.engine);
    return {};
  });
}

}  // extern "C"
