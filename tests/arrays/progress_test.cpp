// What goes on while a rank waits in the library: the program's own messages, and the requests of
// all sessions. Without either, two ranks that MPI's rules allow to wait for each other would miss
// the deadline.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>

#include "parallel.hpp"

namespace weir::test {
namespace {

using Progress = OnRanks;

constexpr double deadline_seconds = 30;

// Long enough for MPI to send it only as the receiver takes it, a part at a time.
constexpr int long_message = 16 << 20;

TEST_F(Progress, OfTheProgramsMessagesInsideANode) {
  if (size_of_world() < 2) GTEST_SKIP() << "needs two ranks";
  const Extents shape = {2048, 512};
  weir_session_options options = {};
  options.deadline_seconds = deadline_seconds;
  options.strategy = "node";
  options.aggregators = 1;
  options.buffer_bytes = 1 << 16;  // of which the request takes many, so each rank waits for others
  Session session(MPI_COMM_WORLD, options);
  const auto columns = session.distribution(shape, "*, BLOCK");
  auto array = session.create<double>(path("a"), shape);
  const auto numbers = numbered_part<double>(columns, shape);
  array.write(columns, numbers);
  // The aggregator receives before it goes on with the request, of which the others want its
  // buffers: they have to move what they send it.
  const int aggregates = session.figures().bytes_stored > 0 ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(size_of_world()));
  MPI_Allgather(&aggregates, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const auto receiver = static_cast<int>(std::find(all.begin(), all.end(), 1) - all.begin());
  const int sender = (receiver + 1) % size_of_world();
  std::vector<char> message(long_message, 'm');
  MPI_Request sending = MPI_REQUEST_NULL;

  auto writing = session.write_begin({Outgoing(array, columns, numbers)});
  // Past the comparison, so that the ranks wait for buffers.
  for (int turn = 0; turn < 4; ++turn) {
    static_cast<void>(writing.test());
    meet();
  }
  if (rank_of_world() == sender) {
    MPI_Isend(message.data(), long_message, MPI_CHAR, receiver, 5, MPI_COMM_WORLD, &sending);
  } else if (rank_of_world() == receiver) {
    MPI_Recv(message.data(), long_message, MPI_CHAR, sender, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  EXPECT_NO_THROW(writing.wait());
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  const auto content = content_of<double>(path("a"));
  ASSERT_EQ(content.size(), static_cast<std::size_t>(elements_of(shape)));
  for (std::size_t k = 0; k < content.size(); ++k)
    ASSERT_EQ(content[k], static_cast<double>(k + 1));
}

// A rank that waits for a comparison has nobody to wake it for MPI.
TEST_F(Progress, OfTheProgramsMessagesInAVote) {
  if (size_of_world() < 2) GTEST_SKIP() << "needs two ranks";
  weir_session_options options = {};
  options.deadline_seconds = deadline_seconds;
  Session session(MPI_COMM_WORLD, options);
  std::vector<char> message(long_message, 'm');
  MPI_Request sending = MPI_REQUEST_NULL;
  if (rank_of_world() == 0) {
    MPI_Isend(message.data(), long_message, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &sending);
  } else if (rank_of_world() == 1) {
    MPI_Recv(message.data(), long_message, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  EXPECT_NO_THROW(static_cast<void>(session.distribution({8}, "BLOCK")));
  EXPECT_NO_THROW(static_cast<void>(session.create<double>(path("a"), {8})));
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

// Two sessions on the same ranks, each with an array and rows of it.
class TwoSessions {
 public:
  TwoSessions(const char* strategy, const std::string& path) {
    weir_session_options options = {};
    options.deadline_seconds = deadline_seconds;
    options.strategy = strategy;
    options.ranks_per_node = 1;  // so that requests need messages, too
    const Extents shape = {64, 512};
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      sessions_[i] = std::make_unique<Session>(MPI_COMM_WORLD, options);
      columns_.push_back(sessions_[i]->distribution(shape, "*, BLOCK"));
      arrays_.push_back(sessions_[i]->create<double>(path + std::to_string(i), shape));
    }
    part_ = numbered_part<double>(columns_[0], shape);
  }
  Request begin(std::size_t i) {
    return sessions_.at(i)->write_begin({Outgoing(arrays_.at(i), columns_.at(i), part_)});
  }
  void write(std::size_t i) { arrays_.at(i).write(columns_.at(i), part_); }
  void close() {
    for (auto& array : arrays_) array.close();
    for (auto& session : sessions_) session->close();
  }
  // Asks for a part of the array that lies outside on the last rank, which all are told.
  Request begin_in_vain(std::size_t i) {
    const Section bad{.start = {0, rank_of_world() == size_of_world() - 1 ? 600 : 0},
                      .count = {1, 1}};
    return sessions_.at(i)->write_begin({Outgoing(arrays_.at(i), columns_.at(i), part_, {}, bad)});
  }

 private:
  std::array<std::unique_ptr<Session>, 2> sessions_;
  std::vector<Distribution> columns_;
  std::vector<Array> arrays_;
  std::vector<double> part_;
};

TEST_F(Progress, OfTheRequestsOfOtherSessions) {
  for (const char* const strategy : {"direct", "two-phase", "server-directed"}) {
    TwoSessions two(strategy, path(strategy));
    auto first = two.begin(0);
    // Waits of even ranks, in the second session, need the others', who wait in the first.
    if (rank_of_world() % 2 == 0) {
      EXPECT_NO_THROW(two.write(1));
      EXPECT_NO_THROW(first.wait());
    } else {
      EXPECT_NO_THROW(first.wait());
      EXPECT_NO_THROW(two.write(1));
    }
    two.close();
  }
}

int code_of(Request& request) {
  try {
    request.wait();
    return 0;
  } catch (const Failure& failure) {
    return failure.code();
  }
}

// What ranks tell each other about a call that they refuse must not wait either.
TEST_F(Progress, OfTheRefusalsOfOtherSessions) {
  TwoSessions two("direct", path("refused"));
  auto first = two.begin_in_vain(0);
  auto second = two.begin_in_vain(1);
  if (rank_of_world() % 2 == 0) {
    EXPECT_EQ(code_of(first), WEIR_E_ARGUMENT);
    EXPECT_EQ(code_of(second), WEIR_E_ARGUMENT);
  } else {
    EXPECT_EQ(code_of(second), WEIR_E_ARGUMENT);
    EXPECT_EQ(code_of(first), WEIR_E_ARGUMENT);
  }
  two.close();
}

// A request that is only begun ends when its session is closed; other sessions' waits do not touch
// what is gone.
TEST_F(Progress, OfASessionThatWasClosedMeanwhile) {
  for (int turn = 0; turn < 3; ++turn) {
    TwoSessions two("two-phase", path("closed"));
    auto first = two.begin(0);
    two.write(1);
    first.wait();
    two.close();
  }
}

// Stops the next program that its parent starts, and lets it go on when the file `told` is there,
// or after a long time. Ends with 0 when it has stopped one and was told.
[[noreturn]] void stop_the_next_program(pid_t parent, const std::string& told) {
  const std::string children =
      "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
  pid_t program = 0;
  for (int look = 0; look < 100000 && program == 0; ++look) {
    std::ifstream listed(children);
    for (pid_t child = 0; listed >> child;) {
      std::ifstream name("/proc/" + std::to_string(child) + "/comm");
      std::string text;
      name >> text;
      // Before it is another program, it is a copy of this one.
      if (child != ::getpid() && text.find("hdf5") != std::string::npos) program = child;
    }
    if (program == 0) ::usleep(100);
  }
  if (program == 0 || ::kill(program, SIGSTOP) != 0) ::_exit(1);
  bool is_told = false;
  for (int look = 0; look < 1200 && !is_told; ++look) {
    ::usleep(25'000);
    is_told = static_cast<bool>(std::ifstream(told));
  }
  ::kill(program, SIGCONT);
  ::_exit(is_told ? 0 : 2);
}

// The program that reads an HDF5 file's header for rank 0 is stopped, and a request of another
// session needs that rank.
TEST_F(Progress, OfOtherSessionsWhileAProgramReadsAHeader) {
  if (size_of_world() < 2) GTEST_SKIP() << "needs two ranks";
  const bool opens = rank_of_world() == 0;
  Session alone(MPI_COMM_SELF);
  const std::string name = path("plot.h5");
  if (opens) {
    auto file = alone.create_file(name);
    auto array = file.define<double>("a", {4});
    file.begin_step();
    file.end_step();
    file.close();
  }
  TwoSessions two("two-phase", path("a"));
  pid_t stopper = -1;
  const pid_t own = ::getpid();
  if (opens) {
    stopper = ::fork();
    if (stopper == 0) stop_the_next_program(own, path("told"));
  }
  auto writing = two.begin(0);
  if (opens) {
    auto file = alone.open_file(name);
    file.close();
  }
  EXPECT_NO_THROW(writing.wait());
  if (rank_of_world() == 1) std::ofstream(path("told")).put('x');
  if (opens) {
    int how = 0;
    EXPECT_EQ(::waitpid(stopper, &how, 0), stopper);
    EXPECT_EQ(how, 0) << "no program was stopped, or nothing moved until it went on";
  }
  two.close();
}

}  // namespace
}  // namespace weir::test
