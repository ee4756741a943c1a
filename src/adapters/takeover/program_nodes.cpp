#include "adapters/takeover/program_nodes.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "adapters/preloaded/record_file.hpp"

namespace weir::takeover {
namespace {

using Clock = std::chrono::steady_clock;

constexpr long longest_meeting_seconds = 60;

bool& has_met() {
  static bool met = false;
  return met;
}

// The greatest tag that the MPI library allows, which programs hardly use.
int tag_of_meeting() {
  int* greatest = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&greatest), &is_there);
  return is_there != 0 ? *greatest : 32767;
}

bool ends_before(Clock::time_point deadline, MPI_Request& request) {
  for (;;) {
    int is_over = 0;
    if (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (is_over != 0) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// Receives one message and sends another, both without content.
bool exchange(int from, int to, int tag, Clock::time_point deadline) {
  MPI_Request receipt = MPI_REQUEST_NULL;
  MPI_Request sending = MPI_REQUEST_NULL;
  MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receipt);
  MPI_Isend(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD, &sending);
  const bool is_received = ends_before(deadline, receipt);
  if (!is_received && receipt != MPI_REQUEST_NULL) {
    MPI_Cancel(&receipt);
    MPI_Wait(&receipt, MPI_STATUS_IGNORE);
  }
  const bool is_sent = ends_before(deadline, sending);
  if (!is_sent && sending != MPI_REQUEST_NULL) MPI_Request_free(&sending);
  return is_received && is_sent;
}

}  // namespace

bool are_all_ranks_on_one_node() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 1) return true;
  const long here = preloaded::number_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  if (here >= 0) return here == ranks;
  return preloaded::number_of({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}) == 1;
}

// In each round a rank hears of twice as many others as before. Nobody ends the last round before
// all have begun the first one.
void meet_all_ranks() {
  if (are_all_ranks_on_one_node()) return;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long told = preloaded::number_of({"WEIR_DEADLINE"});
  const long seconds = told > 0 ? std::min(told, longest_meeting_seconds) : longest_meeting_seconds;
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  const int tag = tag_of_meeting();
  bool met = true;
  for (std::int64_t away = 1; away < ranks && met; away *= 2) {
    const auto to = static_cast<int>((rank + away) % ranks);
    const auto from = static_cast<int>((rank + ranks - away) % ranks);
    met = exchange(from, to, tag, deadline);
  }
  has_met() = met;
  if (!met && rank == 0) {
    fmt::print(stderr,
               "weir: some ranks were started without Weir's libraries, so that no calls of MPI-IO "
               "are taken over: let the launcher pass LD_PRELOAD and the variables WEIR_... on to "
               "all nodes\n");
  }
}

bool do_all_ranks_take_part() { return are_all_ranks_on_one_node() || has_met(); }

}  // namespace weir::takeover
