// A rank that does not come: the others return when it is silent for the deadline, or soon where it
// is known not to come, and the session is broken. A rank that comes late is waited for. Requests
// that nobody waited for when their session is closed.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "parallel.hpp"

namespace weir::test {
namespace {

class Deadlines : public OnRanks {
 protected:
  // Ranks that meet the deadline wait no longer than this for each other. A session is also opened
  // within it, by ranks of which each gets half a processor or, beside other work, less.
  static weir_session_options brief(const char* strategy = nullptr) {
    weir_session_options options = {};
    options.deadline_seconds = 1;
    options.strategy = strategy;
    options.aggregators = size_of_world();  // each of which has pieces to write
    options.buffer_bytes = 4096;
    return options;
  }
  // All calls of the session fail from now on, and none of them waits.
  static void expect_broken(weir_session* session) {
    const Extents shape = {4};
    weir_distribution* none = nullptr;
    EXPECT_EQ(weir_distribution_create(session, 1, shape.data(), "BLOCK", nullptr, &none),
              WEIR_E_BROKEN);
    EXPECT_EQ(weir_session_close(&session), WEIR_E_BROKEN);
  }

  // Computes a tenth of the time: enough for the other ranks to see that this one uses a processor,
  // and little enough to leave the processors to them and to other tests.
  static void compute_for(double seconds) {
    for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end; ::usleep(9'000)) {
      for (const double moment = MPI_Wtime() + 0.001; MPI_Wtime() < moment;) {
      }
    }
  }

  const bool missing_ = rank_of_world() == 1;
  const Extents shape_ = {96, 512};
};

// A session, a distribution and an array, which stay: nothing of a broken session can be freed.
struct OpenedWithRows {
  OpenedWithRows(const weir_session_options& options, const Extents& shape,
                 const std::string& path) {
    EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), 0) << weir_last_error();
    EXPECT_EQ(weir_distribution_create(session, 2, shape.data(), "BLOCK, *", nullptr, &rows), 0);
    EXPECT_EQ(weir_array_create(session, path.c_str(), 2, shape.data(), "float64", nullptr, &array),
              0)
        << weir_last_error();
    part.assign(static_cast<std::size_t>(weir_distribution_elements(rows)), 1);
    transfer.array = array;
    transfer.distribution = rows;
    transfer.data = part.data();
  }

  weir_session* session = nullptr;
  weir_distribution* rows = nullptr;
  weir_array* array = nullptr;
  std::vector<double> part;
  weir_transfer transfer = {};
};

TEST_F(Deadlines, ARankMissingAtAnyCall) {
  const std::vector<int (*)(OpenedWithRows&)> calls = {
      [](OpenedWithRows& opened) {
        const Extents shape = {4};
        return weir_array_create(opened.session, "never made", 1, shape.data(), "int8", nullptr,
                                 &opened.array);
      },
      [](OpenedWithRows& opened) {
        return weir_write(opened.array, opened.rows, opened.part.data());
      },
      [](OpenedWithRows& opened) {
        weir_request* request = nullptr;
        const int begun = weir_write_begin(opened.session, 1, &opened.transfer, &request);
        return begun != 0 ? begun : weir_wait(&request);
      },
      [](OpenedWithRows& opened) { return weir_array_sync(opened.array); },
      [](OpenedWithRows& opened) { return weir_array_close(&opened.array); },
      [](OpenedWithRows& opened) { return weir_session_close(&opened.session); },
  };
  for (std::size_t number = 0; number < calls.size(); ++number) {
    auto* const opened = new OpenedWithRows(brief(), shape_, path("weir-array"));
    if (!missing_) {
      weir_session* const session = opened->session;
      EXPECT_EQ(calls[number](*opened), WEIR_E_DEADLINE) << number << ": " << weir_last_error();
      if (opened->session != nullptr) expect_broken(session);
    } else {
      weir_session_abandon(&opened->session);
    }
    meet();
  }
}

// Storage that answers after two deadlines.
TEST_F(Deadlines, SlowStorageIsWaitedFor) {
  for (const char* const strategy : {"direct", "node", "two-phase"}) {
    for (const int ranks_per_node : {0, 1, 2}) {
      auto options = brief(strategy);
      options.ranks_per_node = ranks_per_node;
      OpenedWithRows opened(options, shape_, path("weir-array"));
      {
        const Fault late("rank=1,call=pwrite,nth=1,effect=late");
        EXPECT_EQ(weir_write(opened.array, opened.rows, opened.part.data()), 0)
            << strategy << ": " << weir_last_error();
      }
      EXPECT_EQ(weir_session_close(&opened.session), 0) << weir_last_error();
      const auto content = content_of<double>(path("weir-array"));
      EXPECT_EQ(content, std::vector<double>(static_cast<std::size_t>(elements_of(shape_)), 1));
    }
  }
}

// A rank that makes its call two deadlines later than the others.
TEST_F(Deadlines, ARankThatComputesIsWaitedFor) {
  for (const int ranks_per_node : {0, 1, 2}) {
    auto options = brief();
    options.ranks_per_node = ranks_per_node;
    OpenedWithRows opened(options, shape_, path("weir-array"));
    if (missing_) compute_for(2 * options.deadline_seconds);
    EXPECT_EQ(weir_write(opened.array, opened.rows, opened.part.data()), 0) << weir_last_error();
    weir_request* request = nullptr;
    if (missing_) compute_for(2 * options.deadline_seconds);
    EXPECT_EQ(weir_write_begin(opened.session, 1, &opened.transfer, &request), 0);
    if (missing_) compute_for(2 * options.deadline_seconds);
    EXPECT_EQ(weir_wait(&request), 0) << weir_last_error();
    EXPECT_EQ(weir_session_close(&opened.session), 0) << weir_last_error();
  }
}

// One rank is stopped, and the others write.
void expect_stopped_rank_to_be_named(OpenedWithRows* opened, int stopped) {
  std::int64_t process = ::getpid();
  MPI_Bcast(&process, 1, MPI_INT64_T, stopped, MPI_COMM_WORLD);
  if (rank_of_world() == stopped) {
    // A child wakes its parent again, as nobody else does.
    const pid_t child = ::fork();
    if (child == 0) {
      ::usleep(4'000'000);
      ::kill(static_cast<pid_t>(process), SIGCONT);
      ::_exit(0);
    }
    ::raise(SIGSTOP);
    // The others have given the session up meanwhile.
    EXPECT_LT(weir_write(opened->array, opened->rows, opened->part.data()), 0);
    ::waitpid(child, nullptr, 0);
  } else {
    EXPECT_EQ(weir_write(opened->array, opened->rows, opened->part.data()), WEIR_E_DEADLINE);
    const std::string text = weir_last_error();
    const std::string name = "rank " + std::to_string(stopped) + " (process ";
    EXPECT_NE(text.find(name + std::to_string(process) + " on host "), std::string::npos) << text;
    EXPECT_NE(text.find("is stopped"), std::string::npos) << text;
  }
  meet();
}

TEST_F(Deadlines, AStoppedRankIsNamed) {
  auto* const opened = new OpenedWithRows(brief(), shape_, path("weir-array"));
  expect_stopped_rank_to_be_named(opened, 1);
  if (!missing_) expect_broken(opened->session);
}

// A rank of its node tells the other node, which would wait for many deadlines.
TEST_F(Deadlines, AStoppedLeaderIsNamedOnOtherNodes) {
  auto options = brief();
  options.ranks_per_node = 2;
  expect_stopped_rank_to_be_named(new OpenedWithRows(options, shape_, path("weir-array")), 2);
}

// Nobody on its node sees it: the neighbouring nodes no longer hear of it.
TEST_F(Deadlines, ARankThatIsStoppedAloneOnItsNodeIsNamed) {
  auto options = brief();
  options.ranks_per_node = 1;
  expect_stopped_rank_to_be_named(new OpenedWithRows(options, shape_, path("weir-array")), 2);
}

// Only the ranks of its own node see that it does not come: rank 0 tells those of the other one.
TEST_F(Deadlines, RanksOfOtherNodesAreTold) {
  auto options = brief();
  options.ranks_per_node = 2;
  auto* const opened = new OpenedWithRows(options, shape_, path("weir-array"));
  if (missing_) {
    weir_session_abandon(&opened->session);
  } else {
    EXPECT_LT(weir_write(opened->array, opened->rows, opened->part.data()), 0);
    const std::string text = weir_last_error();
    EXPECT_NE(text.find("rank 1 (process "), std::string::npos) << text;
    EXPECT_NE(text.find("has given the session up"), std::string::npos) << text;
  }
  meet();
}

// One rank lives and computes, but never makes the call.
TEST_F(Deadlines, NoRankIsWaitedForForEver) {
  auto options = brief();
  options.deadline_seconds = 0.1;
  auto* const opened = new OpenedWithRows(options, shape_, path("weir-array"));
  if (!missing_) {
    EXPECT_EQ(weir_write(opened->array, opened->rows, opened->part.data()), WEIR_E_DEADLINE);
    expect_broken(opened->session);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // computes while it waits, as meet() does not
}

TEST_F(Deadlines, ClosingASessionEndsItsRequests) {
  const weir_session_options patient = {};
  OpenedWithRows opened(patient, shape_, path("weir-array"));
  weir_request* request = nullptr;
  ASSERT_EQ(weir_write_begin(opened.session, 1, &opened.transfer, &request), 0);
  ASSERT_EQ(weir_session_close(&opened.session), 0) << weir_last_error();
  const auto content = content_of<double>(path("weir-array"));
  EXPECT_EQ(content, std::vector<double>(static_cast<std::size_t>(elements_of(shape_)), 1));
}

// Started by a launcher that lets the others go on: they say so, and end without MPI, which would
// wait for the lost one.
TEST_F(Deadlines, ALostRankIsNamedLongBeforeTheDeadline) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* const lost = std::getenv("WEIR_TEST_LOSES_A_RANK");
  if (lost == nullptr) GTEST_SKIP() << "the job would end";
  weir_session_options patient = {};  // 600 s
  // Rank 2 leads the second of two nodes; ranks 2 and 3 are all of it.
  if (*lost == '2') patient.ranks_per_node = 2;
  auto* const opened = new OpenedWithRows(patient, shape_, path("weir-array"));
  const bool lost_here =
      std::string(lost).find(std::to_string(rank_of_world())) != std::string::npos;
  if (lost_here) ::raise(SIGKILL);
  const int code = weir_write(opened->array, opened->rows, opened->part.data());
  std::printf("rank %d: %d: %s\n", rank_of_world(), code, weir_last_error());
  std::fflush(stdout);
  ::_exit(0);
}

// The last test of the program: making communicators of MPI_COMM_WORLD is under way for good.
TEST_F(Deadlines, ZARankMissingAtTheOpening) {
  if (missing_) return;
  const auto options = brief();
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_DEADLINE);
  EXPECT_EQ(session, nullptr);
}

}  // namespace
}  // namespace weir::test
