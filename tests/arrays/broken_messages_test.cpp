// MPI calls that fail on one rank, or messages that come too short: no rank reports success for
// data that are wrong, every rank gets an error with its reason, and none waits for a message that
// will not come. tests/failure/faulty_mpi.c makes the calls fail.
#include <dlfcn.h>

#include <functional>

#include "parallel.hpp"

namespace weir::test {
namespace {

// From the beginning to the end of its scope a call of MPI fails on one rank.
class MessageFault {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe)
  explicit MessageFault(const std::string& fault) {
    static int tries = 0;
    setenv("WEIR_MPI_FAULT", (fault + ",try=" + std::to_string(++tries)).c_str(), 1);
  }
  ~MessageFault() { setenv("WEIR_MPI_FAULT", "", 1); }
  // NOLINTEND(concurrency-mt-unsafe)
  MessageFault(const MessageFault&) = delete;
  MessageFault& operator=(const MessageFault&) = delete;
};

int sum_over_ranks(int mine) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

// Returns how many calls were spoiled on all ranks, by the fault that is set.
int hits_on_all_ranks() {
  using Hits = int (*)();
  const auto hits = reinterpret_cast<Hits>(dlsym(RTLD_DEFAULT, "faulty_mpi_hits"));
  EXPECT_NE(hits, nullptr) << "preload faulty_mpi.so";
  return sum_over_ranks(hits != nullptr ? hits() : 0);
}

class BrokenMessages : public OnRanks {
 protected:
  static weir_session_options options(const char* strategy) {
    weir_session_options options = {};
    options.deadline_seconds = 20;
    options.strategy = strategy;
    options.aggregators = 1;
    options.ranks_per_node = 1;  // so that all goes by messages
    options.buffer_bytes = 4096;
    return options;
  }
};

struct Case {
  const char* strategy = "";
  bool writes = false;
  const char* fault = "";
  bool may_miss_deadline = true;
};

// A session with an array; both stay, as nothing of a broken session can be freed.
struct Opened {
  weir_session* session = nullptr;
  weir_distribution* columns = nullptr;
  weir_array* array = nullptr;
  std::vector<double> part;
};

// Returns what came of one call with the n-th call of MPI failing: whether there was an n-th.
bool one_fault(const Case& tried, const weir_session_options& options, int rank, int nth,
               const std::string& path) {
  const Extents shape = {64, 32};
  auto opened = std::make_unique<Opened>();
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &opened->session), 0) << weir_last_error();
  EXPECT_EQ(weir_distribution_create(opened->session, 2, shape.data(), "*, BLOCK", nullptr,
                                     &opened->columns),
            0);
  EXPECT_EQ(weir_array_create(opened->session, path.c_str(), 2, shape.data(), "float64", nullptr,
                              &opened->array),
            0)
      << weir_last_error();
  const auto elements = static_cast<std::size_t>(weir_distribution_elements(opened->columns));
  opened->part.assign(elements, 7);
  if (!tried.writes) {
    EXPECT_EQ(weir_write(opened->array, opened->columns, opened->part.data()), 0);
    opened->part.assign(elements, 1);
  }
  meet();
  int code = 0;
  std::string text;
  int hits = 0;
  {
    const MessageFault fault("rank=" + std::to_string(rank) + ",nth=" + std::to_string(nth) + "," +
                             tried.fault);
    code = tried.writes ? weir_write(opened->array, opened->columns, opened->part.data())
                        : weir_read(opened->array, opened->columns, opened->part.data());
    text = code == 0 ? "" : weir_last_error();
    hits = hits_on_all_ranks();
  }
  // Where the fault was in the vote about the end, some ranks may have seen it end well: then the
  // data are right, and all ranks learn of it in the next call.
  const int failed = sum_over_ranks(code != 0 ? 1 : 0);
  if (code == 0 && tried.writes && failed == 0) {
    meet();
  }
  if (code == 0) {
    const auto content = tried.writes ? content_of<double>(path) : opened->part;
    EXPECT_EQ(content, std::vector<double>(content.size(), 7));
    EXPECT_FALSE(content.empty());
  } else {
    EXPECT_TRUE(code == WEIR_E_BROKEN || (tried.may_miss_deadline && code == WEIR_E_DEADLINE))
        << code << ": " << text;
  }
  if (hits > 0) {
    EXPECT_GT(failed, 0) << "nobody has noticed";
    const int closed = weir_session_close(&opened->session);
    EXPECT_TRUE(closed == WEIR_E_BROKEN || (code == 0 && closed == WEIR_E_DEADLINE)) << closed;
    [[maybe_unused]] const auto* const kept = opened.release();
  } else {
    EXPECT_EQ(failed, 0) << text;
    EXPECT_EQ(weir_session_close(&opened->session), 0) << weir_last_error();
  }
  meet();
  return hits > 0;
}

TEST_F(BrokenMessages, AreErrorsOnEveryRank) {
  const std::vector<const char*> faults = {"call=MPI_Isend",
                                           "call=MPI_Issend",
                                           "call=MPI_Irecv",
                                           "call=completion,effect=error",
                                           "call=completion,effect=short",
                                           "call=MPI_Iallreduce",
                                           "call=MPI_Test"};
  int spoilt = 0;
  for (const char* const strategy : {"two-phase", "server-directed"}) {
    for (const bool writes : {true, false}) {
      for (const char* const fault : faults) {
        const Case tried{strategy, writes, fault};
        for (const int rank : {0, size_of_world() - 1}) {
          const std::string name = std::string(strategy) + (writes ? ", write, " : ", read, ") +
                                   fault + ", rank " + std::to_string(rank);
          SCOPED_TRACE(name);
          int nth = 1;
          while (nth < 60 && one_fault(tried, options(strategy), rank, nth, path("weir-array"))) {
            ++spoilt;
            nth += nth < 6 ? 1 : 5;
          }
          ASSERT_FALSE(HasFailure()) << "at call " << nth;
        }
      }
    }
  }
  EXPECT_GT(spoilt, 100);
}

// Two nodes of two ranks: what the second rank of a node sees, the leader of its node tells the
// other node before it leaves its own wait.
TEST_F(BrokenMessages, ReachOtherNodesByTheLeader) {
  int spoilt = 0;
  for (const char* const strategy : {"two-phase", "server-directed"}) {
    weir_session_options two_a_node = options(strategy);
    two_a_node.ranks_per_node = 2;
    for (const char* const fault : {"call=MPI_Issend", "call=MPI_Irecv"}) {
      const Case tried{strategy, true, fault, false};
      for (const int rank : {1, 3}) {
        SCOPED_TRACE(std::string(strategy) + ", " + fault + ", rank " + std::to_string(rank));
        int nth = 1;
        while (nth < 4 && one_fault(tried, two_a_node, rank, nth, path("weir-array"))) {
          ++spoilt;
          ++nth;
        }
        ASSERT_FALSE(HasFailure()) << "at call " << nth;
      }
    }
  }
  EXPECT_GT(spoilt, 4);
}

// Two nodes of two ranks open and close a session.
weir_session_options two_nodes(double deadline_seconds) {
  weir_session_options options = {};
  options.deadline_seconds = deadline_seconds;
  options.ranks_per_node = 2;
  options.aggregators = 1;
  options.buffer_bytes = 4096;
  return options;
}

void expect_broken_or_late(int code) {
  EXPECT_TRUE(code == 0 || code == WEIR_E_BROKEN || code == WEIR_E_DEADLINE)
      << code << ": " << weir_last_error();
}

// Where the fault was in the last agreement of the opening, some ranks may have seen it end well:
// they learn of it in the next call.
TEST_F(BrokenMessages, OfTheOpeningAreErrorsOnEveryRank) {
  struct Call {
    const char* name;
    bool is_made;  // others miss the rank at its next call, and perhaps at their deadline only
    int last_rank;
  };
  const int last = size_of_world() - 1;
  // A rank that alone takes no part in a broadcast of rank 0 keeps nobody.
  const std::vector<Call> calls = {
      {"MPI_Comm_idup", true, last},       {"MPI_Comm_split", true, last},
      {"MPI_Comm_split_type", true, last}, {"MPI_Iallgather", false, last},
      {"MPI_Iallgatherv", false, last},    {"MPI_Iallreduce", false, last},
      {"MPI_Ibarrier", false, last},       {"MPI_Ibcast", false, 0},
      {"MPI_Comm_free", true, last},       {"MPI_Comm_rank", false, last},
      {"MPI_Comm_size", false, last},      {"MPI_Comm_set_errhandler", false, last}};
  for (const Call& call : calls) {
    int spoilt = 0;
    for (int rank = 0; rank <= call.last_rank; rank += last) {
      const weir_session_options options = two_nodes(call.is_made ? 1 : 20);
      for (int nth = 1; nth < 12; nth += nth < 3 ? 1 : 4) {
        SCOPED_TRACE(std::string(call.name) + " " + std::to_string(nth) + ", rank " +
                     std::to_string(rank));
        weir_session* session = nullptr;
        int opened = 0;
        int hits = 0;
        {
          const MessageFault fault("rank=" + std::to_string(rank) + ",nth=" + std::to_string(nth) +
                                   ",call=" + call.name);
          opened = weir_session_open(MPI_COMM_WORLD, &options, &session);
          expect_broken_or_late(opened);
          hits = hits_on_all_ranks();
        }
        const int closed = opened == 0 ? weir_session_close(&session) : 0;
        expect_broken_or_late(closed);
        const int failed = sum_over_ranks(opened != 0 || closed != 0 ? 1 : 0);
        EXPECT_EQ(failed, hits > 0 ? size_of_world() : 0);
        ASSERT_FALSE(HasFailure());
        spoilt += hits;
        if (hits == 0) break;
      }
    }
    EXPECT_GT(spoilt, 0) << call.name;
  }
}

// A rank that does not know which one it is still tells the others why it left.
TEST_F(BrokenMessages, OfAPlaceThatIsNotToldEndTheOpeningBeforeTheDeadline) {
  constexpr double longer_than_the_test = 3600;
  for (const char* const call : {"MPI_Comm_rank", "MPI_Comm_size"}) {
    for (int rank = 0; rank < size_of_world(); ++rank) {
      int nth = 1;
      for (bool spoilt = true; spoilt; ++nth) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(nth) + ", rank " +
                     std::to_string(rank));
        const weir_session_options options = two_nodes(longer_than_the_test);
        weir_session* session = nullptr;
        {
          const MessageFault fault("rank=" + std::to_string(rank) + ",nth=" + std::to_string(nth) +
                                   ",call=" + call);
          const int opened = weir_session_open(MPI_COMM_WORLD, &options, &session);
          const std::string text = opened == 0 ? "" : weir_last_error();
          spoilt = hits_on_all_ranks() > 0;
          EXPECT_EQ(opened, spoilt ? WEIR_E_BROKEN : 0) << text;
          EXPECT_EQ(text.find(call) != std::string::npos, spoilt) << text;
        }
        if (session != nullptr) weir_session_close(&session);
        ASSERT_FALSE(HasFailure());
      }
      EXPECT_GT(nth, 3) << "the communicator of the program, and that of the session";
    }
  }
}

// What MPI does not tell one rank of a call's arguments, no rank goes on without.
TEST_F(BrokenMessages, OfADistributionAreErrorsOnEveryRank) {
  const weir_session_options options = two_nodes(20);
  const Extents shape = {64, 32};
  for (const int rank : {0, size_of_world() - 1}) {
    SCOPED_TRACE(rank);
    weir_session* session = nullptr;
    ASSERT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), 0) << weir_last_error();
    weir_distribution* blocks = nullptr;
    {
      const MessageFault fault("rank=" + std::to_string(rank) + ",call=MPI_Dims_create");
      EXPECT_EQ(
          weir_distribution_create(session, 2, shape.data(), "BLOCK, BLOCK", nullptr, &blocks),
          WEIR_E_BROKEN);
      EXPECT_NE(std::string(weir_last_error()).find("MPI_Dims_create"), std::string::npos)
          << weir_last_error();
      EXPECT_EQ(hits_on_all_ranks(), 1);
    }
    EXPECT_EQ(blocks, nullptr);
    EXPECT_EQ(weir_session_close(&session), WEIR_E_BROKEN);
  }
}

// A rank that is set apart for a stager returns from the call, too.
TEST_F(BrokenMessages, WhileRanksAreSetApartAreErrorsOnEveryRank) {
  const int last = size_of_world() - 1;
  weir_session_options options = two_nodes(20);
  options.staging = "ranks";
  for (const char* const call : {"MPI_Iallgather", "MPI_Iallreduce", "MPI_Ibarrier",
                                 "MPI_Comm_split", "MPI_Comm_split_type"}) {
    int spoilt = 0;
    for (const int rank : {0, last}) {
      for (int nth = 1; nth < 12; nth += nth < 3 ? 1 : 3) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(nth) + ", rank " +
                     std::to_string(rank));
        MPI_Comm program = MPI_COMM_NULL;
        int hits = 0;
        int failed = 0;
        {
          const MessageFault fault("rank=" + std::to_string(rank) + ",nth=" + std::to_string(nth) +
                                   ",call=" + call);
          const int code = weir_init_staging(MPI_COMM_WORLD, &options, &program);
          expect_broken_or_late(code);
          EXPECT_EQ(weir_finalize_staging(&program), 0) << weir_last_error();
          failed = sum_over_ranks(code != 0 ? 1 : 0);
          hits = hits_on_all_ranks();
        }
        EXPECT_EQ(failed, hits > 0 ? size_of_world() : 0);
        ASSERT_FALSE(HasFailure());
        spoilt += hits;
        if (hits == 0) break;
      }
    }
    EXPECT_GT(spoilt, 0) << call;
  }
}

// All is in the files when ranks end: that one does not hear of it is that one's error.
TEST_F(BrokenMessages, OfTheClosingKeepNobody) {
  const weir_session_options options = two_nodes(20);
  for (const char* const call : {"MPI_Iallreduce", "MPI_Test"}) {
    for (const int rank : {0, size_of_world() - 2}) {
      SCOPED_TRACE(std::string(call) + ", rank " + std::to_string(rank));
      weir_session* session = nullptr;
      ASSERT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), 0) << weir_last_error();
      // Otherwise one rank's failed closing could reach a rank that has not returned from opening.
      meet();
      int closed = 0;
      int hits = 0;
      {
        const MessageFault fault("rank=" + std::to_string(rank) + ",call=" + call);
        closed = weir_session_close(&session);
        expect_broken_or_late(closed);
        hits = hits_on_all_ranks();
      }
      EXPECT_EQ(hits, 1);
      EXPECT_GE(sum_over_ranks(closed != 0 ? 1 : 0), 1);
    }
  }
}

}  // namespace
}  // namespace weir::test
