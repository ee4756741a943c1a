// Ranks on four hosts, which share no memory: what all of them write, fewer of them read, in
// another order and by another strategy, or the other way round. tests/testbed/test_array_hosts.py
// makes the hosts.
#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr int hosts = 4;

int sum(int mine) {
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int size_of(MPI_Comm ranks) {
  int size = 0;
  MPI_Comm_size(ranks, &size);
  return size;
}

// Returns whether this rank is its host's first.
bool leads_its_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_of_world(), MPI_INFO_NULL, &host);
  int rank = 0;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank == 0;
}

class Hosts : public OnRanks {
 protected:
  // All ranks; and the first ranks of all hosts but the first, the last host's before the others.
  void SetUp() override {
    OnRanks::SetUp();
    leads_ = leads_its_host();
    MPI_Comm_dup(MPI_COMM_WORLD, &all_);
    const bool reads = leads_ && rank_of_world() != 0;
    MPI_Comm_split(MPI_COMM_WORLD, reads ? 0 : MPI_UNDEFINED, -rank_of_world(), &few_);
  }
  void TearDown() override {
    for (MPI_Comm* ranks : {&all_, &few_}) {
      if (*ranks != MPI_COMM_NULL) MPI_Comm_free(ranks);
    }
    OnRanks::TearDown();
  }
  static weir_session_options by(const char* strategy) {
    weir_session_options options = {};
    options.strategy = strategy;
    options.aggregators = 1;
    options.buffer_bytes = 16384;
    options.deadline_seconds = 60;
    return options;
  }

  bool leads_ = false;
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm few_ = MPI_COMM_NULL;
  const Extents shape_ = {24, 30, 20};
};

TEST_F(Hosts, WhatOthersWroteIsReadByEveryStrategy) {
  ASSERT_EQ(sum(leads_ ? 1 : 0), hosts);
  const std::vector<const char*> strategies = {"direct", "node", "two-phase", "server-directed"};
  for (std::size_t number = 0; number < strategies.size(); ++number) {
    const std::string name = path(strategies[number]);
    const char* const other = strategies[(number + 1) % strategies.size()];
    const bool all_write = number % 2 == 0;
    int sent = 0;
    if (MPI_Comm writers = all_write ? all_ : few_; writers != MPI_COMM_NULL) {
      Session session(writers, by(strategies[number]));
      const auto distributed = session.distribution(shape_, "*, BLOCK, CYCLIC(3)");
      auto array = session.create<double>(name, shape_);
      array.write(distributed, numbered_part<double>(distributed, shape_));
      const std::int64_t apart = all_write ? hosts : hosts - 1;
      EXPECT_EQ(session.figures().aggregators, number == 0 ? size_of(writers) : apart);
      sent = session.figures().bytes_sent > 0 ? 1 : 0;
    }
    // Between hosts there are messages, and with these strategies only there.
    EXPECT_EQ(sum(sent) > 0, number >= 2) << strategies[number];
    if (MPI_Comm readers = all_write ? few_ : all_; readers != MPI_COMM_NULL) {
      Session session(readers, by(other));
      const auto distributed = session.distribution(shape_, "BLOCK, *, *");
      auto array = session.open(name);
      std::vector<double> part(distributed.elements());
      array.read(distributed, part);
      EXPECT_EQ(part, numbered_part<double>(distributed, shape_)) << strategies[number];
    }
    meet();
  }
}

}  // namespace
}  // namespace weir::test
