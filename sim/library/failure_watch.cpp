// In place of bench/measurement/failure_watch.cpp: simulated ranks have no threads, and signals and
// deadlines are those of the simulator.
#include <utility>

#include "measurement/failure.hpp"

namespace weir::bench {

void prepare_signals() {}

FailureGuard::FailureGuard(const Job& job, std::string root, std::vector<std::string> slugs)
    : root_(std::move(root)),
      slugs_(std::move(slugs)),
      host_(job.host),
      rank_(job.rank),
      node_rank_(job.node_rank),
      deadline_seconds_(job.deadline_seconds) {}

FailureGuard::~FailureGuard() = default;

void FailureGuard::entering(const char* /*operation*/, const std::string* /*file*/,
                            std::int64_t /*offset*/) {}

void FailureGuard::left() {}

}  // namespace weir::bench
