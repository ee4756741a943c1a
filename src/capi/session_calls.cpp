// Calls that open and close sessions, and calls that need no session.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "aggregation/stager_ranks.hpp"
#include "capi/extents_argument.hpp"
#include "capi/io_groups_option.hpp"
#include "capi/platform_option.hpp"
#include "capi/session.hpp"
#include "capi/session_options.hpp"
#include "capi/version.hpp"
#include "ranks/messages.hpp"
#include "stored/file_description.hpp"
#include "system/process_name.hpp"

namespace weir::capi {
namespace {

// Returns the number of an engine in weir_figures.
std::int32_t number_of(plan::Engine engine) { return static_cast<std::int32_t>(engine) + 1; }

// Returns the number of a strategy in weir_figures.
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

// The MPI whose mpi.h this library was compiled with.
#ifdef OPEN_MPI
constexpr bool built_for_open_mpi = true;
#else
constexpr bool built_for_open_mpi = false;
#endif

// Returns, for example, "Open MPI v4.1.4". May be called at any time. The loader may have bound the
// call to another MPI than this library was compiled with, whose text may be longer.
std::string name_of_mpi() {
  constexpr std::size_t mpich_bytes = 8192;
  std::array<char, std::max<std::size_t>(MPI_MAX_LIBRARY_VERSION_STRING, mpich_bytes)> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "this MPI";
  const std::string_view all(text.data());
  std::string name;
  for (const char one : all.substr(0, all.find_first_of(",\n"))) {
    const bool is_space = one == ' ' || one == '\t';
    if (!is_space || (!name.empty() && name.back() != ' ')) name += is_space ? ' ' : one;
  }
  return name;
}

// Checks that the process has the MPI that this library was compiled with: handles of another one
// mean nothing here. Relatives of MPICH share its handles.
Outcome check_mpi(const char* call) {
  const std::string name = name_of_mpi();
  const bool is_open_mpi = name.starts_with("Open MPI");
  const bool is_mpich = name.find("MPICH") != std::string::npos || name.starts_with("Intel");
  if (built_for_open_mpi ? !is_mpich : !is_open_mpi) return {};
  return bad_argument(fmt::format(
      "{}: libweir was built for {}, but this process runs {}: run the program with the MPI of "
      "libweir; mpi4py takes it with MPI4PY_MPIABI={}",
      call, built_for_open_mpi ? "Open MPI" : "MPICH", name,
      built_for_open_mpi ? "openmpi" : "mpich"));
}

Outcome check_mpi_runs(const char* call) {
  if (auto same = check_mpi(call); !same.ok()) return same;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) return {};
  return bad_argument(
      fmt::format("{}: {} is not running: call {} between MPI_Init and MPI_Finalize, in a program "
                  "that is linked with this MPI only",
                  call, name_of_mpi(), call));
}

// Checks that MPI can be called, and that the communicator can be used for a session.
Outcome check_communicator(const char* call, MPI_Comm communicator) {
  if (auto running = check_mpi_runs(call); !running.ok()) return running;
  if (communicator == MPI_COMM_NULL) {
    return bad_argument(fmt::format("{}: communicator is MPI_COMM_NULL", call));
  }
  int inter = 0;
  const Status tested =
      ranks::status_of(MPI_Comm_test_inter(communicator, &inter), "MPI_Comm_test_inter");
  if (!tested.ok()) return outcome_of(tested.error(), call);
  if (inter == 0) return {};
  return bad_argument(
      fmt::format("{}: communicator is an intercommunicator: give an intracommunicator", call));
}

// Opens the communicator of a call, and lets the ranks compare its options, which `chosen` then
// has. Collective. `possible`: whether this rank's other arguments are valid.
Outcome meet_with_options(Ranks& ranks, MPI_Comm communicator, const char* call,
                          const weir_session_options* options, const Outcome& possible,
                          SessionOptions& chosen) {
  Outcome prepared = read_options(options, chosen);
  if (prepared.ok()) prepared = possible;
  auto outcome =
      ranks.open(communicator, prepared.ok() ? opening_deadline(options, process_environment)
                                             : chosen.settings.deadline_seconds);
  if (!outcome.ok()) return outcome;
  const char* const platform = options == nullptr ? nullptr : options->platform;
  return ranks.agree(aggregation::Call::of(
      fmt::format("{}({}, platform {})", call, chosen.text(), quoted(platform)),
      status_of(prepared)));
}

// Returns whether messages may still be under way, so that nothing can be freed.
bool is_broken(const Ranks& ranks, const Outcome& outcome) {
  return ranks.broken() || outcome.code == WEIR_E_DEADLINE || outcome.code == WEIR_E_BROKEN;
}

Outcome open_session(MPI_Comm communicator, const weir_session_options* options,
                     weir_session** result) {
  constexpr const char* call = "weir_session_open";
  if (auto usable = check_communicator(call, communicator); !usable.ok()) return usable;
  auto session = std::make_unique<weir_session>();
  Ranks& ranks = session->opened;
  SessionOptions chosen;
  auto outcome =
      meet_with_options(ranks, communicator, call, options,
                        result == nullptr ? bad_argument("session is null") : Outcome{}, chosen);
  if (outcome.ok()) {
    outcome = outcome_without_throwing([&]() -> Outcome {
      auto read = read_environment(ranks, options, process_environment, chosen);
      const char* const platform = options == nullptr ? nullptr : options->platform;
      if (read.ok()) read = read_platform(ranks, platform, session->platform);
      if (!read.ok()) return read;
      aggregation::CollectiveSettings& settings = chosen.settings;
      if (settings.staging.stages() && settings.engine == plan::Engine::null) {
        return bad_argument(
            "options.engine is 'null', but a stager stores what it gets: set options.staging to "
            "'none'");
      }
      chosen.override(session->platform.targets);
      settings.alignment_bytes = chosen.alignment_bytes;
      settings.rates = session->platform.rates;
      settings.targets = session->platform.targets;
      if (auto grouped = choose_io_groups(ranks, chosen, session->platform.nodes_per_io_group);
          !grouped.ok()) {
        return grouped;
      }
      settings.network = chosen.network ? chosen.network : session->platform.network;
      auto made = aggregation::Collective::create(ranks.communicator(), settings);
      if (!made) return outcome_of(made.error(), call);
      session->collective = std::move(made).value();
      return {};
    });
  }
  if (outcome.ok()) {
    *result = session.release();
  } else if (is_broken(ranks, outcome)) {
    [[maybe_unused]] auto* const kept = session.release();  // its messages are still under way
  } else {
    ranks.free();
  }
  return outcome;
}

// Gives a communicator that Weir made for the program the error handler of the program's own.
void take_error_handler(MPI_Comm made, MPI_Comm from) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (made == MPI_COMM_NULL || MPI_Comm_get_errhandler(from, &handler) != MPI_SUCCESS) return;
  MPI_Comm_set_errhandler(made, handler);
  MPI_Errhandler_free(&handler);
}

Outcome init_staging(MPI_Comm communicator, const weir_session_options* options,
                     MPI_Comm* program) {
  constexpr const char* call = "weir_init_staging";
  if (auto usable = check_communicator(call, communicator); !usable.ok()) return usable;
  auto ranks = std::make_unique<Ranks>();
  SessionOptions chosen;
  auto outcome =
      meet_with_options(*ranks, communicator, call, options,
                        program == nullptr ? bad_argument("program is null") : Outcome{}, chosen);
  aggregation::DividedRanks divided;
  if (outcome.ok()) {
    outcome = outcome_without_throwing([&]() -> Outcome {
      auto read = read_environment(*ranks, options, process_environment, chosen);
      if (!read.ok()) return read;
      const aggregation::CollectiveSettings& settings = chosen.settings;
      auto made = aggregation::divide_ranks(ranks->communicator(), settings.staging,
                                            settings.ranks_per_node, settings.deadline_seconds);
      if (!made) return outcome_of(made.error(), call);
      divided = std::move(made).value();
      return {};
    });
  }
  if (is_broken(*ranks, outcome)) {
    [[maybe_unused]] const auto* const kept = ranks.release();  // its messages are still under way
    return outcome;
  }
  ranks->free();
  if (!outcome.ok()) return outcome;
  take_error_handler(divided.program, communicator);
  *program = divided.program;
  return divided.stager ? outcome_of(divided.stager->wait_for_end(), call) : outcome;
}

Outcome finalize_staging(MPI_Comm* program) {
  constexpr const char* call = "weir_finalize_staging";
  if (program == nullptr) return null_argument(call, "program");
  if (auto running = check_mpi_runs(call); !running.ok()) return running;
  aggregation::leave_divided();
  Status freed = ranks::free_communicator(*program);
  *program = MPI_COMM_NULL;
  return outcome_of(freed, call);
}

// Closes every array and file, even after a failure, and returns the first failure.
Outcome close_arrays(weir_session& session) {
  // What became of the steps of files that are closed already is told at the latest here.
  auto first = outcome_of(session.collective->leave_lost_stagers(), "weir_session_close");
  for (const auto& array : session.arrays) {
    auto closed =
        outcome_of(session.collective->close_file(*array->own_file), "weir_session_close");
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
  // The session is kept if its messages are still under way, or if other ranks continue to use
  // theirs: what follows needs all ranks.
  if (session->broken()) session->collective->release_locks();
  if (session->broken() || outcome.code == WEIR_E_MISMATCH) return outcome;
  session->arrays.clear();
  session->files.clear();
  session->collective = nullptr;
  session->opened.free();
  delete session;
  return outcome;
}

// Returns the reason that other ranks get when this rank gives the session up: the step, and why.
std::string told_of_abandoning(const weir_session& session, const char* reason) {
  std::string told = "gave the session up";
  const auto in_step =
      std::find_if(session.files.begin(), session.files.end(),
                   [](const auto& file) { return file->open != nullptr && file->open->in_step(); });
  if (in_step != session.files.end()) {
    told += fmt::format(" in step {} of '{}'", (*in_step)->open->steps(), (*in_step)->path);
  }
  return told + ": " + storage::printable(reason);
}

void abandon(weir_session& session) {
  session.collective->calls().mark_broken("it was abandoned");
  // The memory of the session's requests may soon be freed.
  session.collective->calls().abandon();
  session.collective->release_locks();
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

int weir_init_staging(MPI_Comm communicator, const weir_session_options* options,
                      MPI_Comm* program) {
  if (program != nullptr) *program = MPI_COMM_NULL;
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::init_staging(communicator, options, program); });
}

int weir_finalize_staging(MPI_Comm* program) {
  return weir::capi::report_outcome_of([&] { return weir::capi::finalize_staging(program); });
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
  if (session == nullptr || *session == nullptr) return;
  weir::capi::abandon(*std::exchange(*session, nullptr));
}

void weir_session_abandon_because(weir_session** session, const char* reason) {
  if (session == nullptr || *session == nullptr) return;
  weir_session& abandoned = *std::exchange(*session, nullptr);
  static_cast<void>(weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    // After MPI_Finalize no rank can be reached; a session that is already broken has its reason.
    auto& calls = abandoned.collective->calls();
    if (reason != nullptr && !calls.broken() && calls.check_mpi_runs().ok()) {
      // No more messages come to or from this rank, as after a failure of MPI.
      calls.tell_others(weir::ErrorCode::communication,
                        weir::capi::told_of_abandoning(abandoned, reason));
    }
    return {};
  }));
  weir::capi::abandon(abandoned);
}

int weir_session_figures(const weir_session* session, weir_figures* figures) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (session == nullptr) return weir::capi::null_argument("weir_session_figures", "session");
    if (figures == nullptr) return weir::capi::null_argument("weir_session_figures", "figures");
    if (session->collective->figures() == nullptr) {
      return weir::capi::bad_argument("weir_session_figures: no request has ended yet");
    }
    const auto& measured = *session->collective->figures();
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
    figures->handed_over = static_cast<std::int32_t>(measured.handed_over);
    figures->blocked_ns = measured.blocked_ns;
    figures->blocked_so_far_ns = session->collective->blocked_ns();
    return {};
  });
}

}  // extern "C"
