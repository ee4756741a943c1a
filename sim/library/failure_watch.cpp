// In place of bench/measurement/failure_watch.cpp: simulated ranks have no threads, and signals and
// deadlines are those of the simulator.
#include <signal.h>

#include <string_view>
#include <utility>

#include "library/simulated_rank.hpp"
#include "measurement/failure.hpp"
#include "measurement/result.hpp"

namespace weir::bench {

// A limit of the size of files is an error of the write.
void prepare_signals() { signal(SIGXFSZ, SIG_IGN); }

FailureGuard::FailureGuard(const Job& job, std::string root, std::vector<std::string> slugs)
    : root_(std::move(root)),
      slugs_(std::move(slugs)),
      host_(job.host),
      rank_(job.rank),
      node_rank_(job.node_rank),
      deadline_seconds_(job.deadline_seconds) {}

FailureGuard::~FailureGuard() = default;

// Workloads of weir-bench say here which way they move bytes. A job times one way; moves in the
// other prepare it, or read back what was written.
void FailureGuard::entering(const char* operation, const std::string* /*file*/,
                            std::int64_t /*offset*/) {
  sim::SimulatedRank& rank = sim::this_rank();
  const Direction other = rank.system->asked->read ? Direction::write : Direction::read;
  rank.aside = name_of(other) == std::string_view(operation);
}

void FailureGuard::left() { sim::this_rank().aside = false; }

}  // namespace weir::bench
