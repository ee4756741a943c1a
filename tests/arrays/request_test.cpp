// Requests that are begun: they end in any order of waiting, and tell of failures when they end.
#include <algorithm>
#include <stdexcept>

#include "parallel.hpp"

namespace weir::test {
namespace {

using Requests = OnRanks;

TEST_F(Requests, WriteAndReadByHandles) {
  const Extents shape = {12, 10};
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  const auto columns = session.distribution(shape, "*, BLOCK");
  auto first = session.create<double>(path("first"), shape);
  auto second = session.create<double>(path("second"), shape);
  const auto numbers = numbered_part<double>(rows, shape);
  std::vector<double> taken(columns.elements());
  std::vector<double> also_taken(columns.elements());

  auto writing = session.write_begin({Outgoing(first, rows, numbers)});
  auto writing_too = session.write_begin({Outgoing(second, rows, numbers)});
  auto reading =
      session.read_begin({Incoming(first, columns, taken), Incoming(second, columns, also_taken)});
  // Each rank waits in another order, and some ask often before they wait.
  for (int asked = 0; asked < rank_of_world(); ++asked) static_cast<void>(reading.test());
  if (rank_of_world() % 2 == 0) {
    reading.wait();
    writing.wait();
    writing_too.wait();
  } else {
    writing_too.wait();
    while (!reading.test()) {
    }
    writing.wait();
  }
  EXPECT_TRUE(reading.test());
  EXPECT_EQ(taken, numbered_part<double>(columns, shape));
  EXPECT_EQ(also_taken, taken);
}

TEST_F(Requests, ABlockingCallComesAfterThoseBegun) {
  const Extents shape = {40};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "CYCLIC");
  auto array = session.create<std::int32_t>(path("a"), shape);
  const auto numbers = numbered_part<std::int32_t>(distributed, shape);
  auto writing = session.write_begin({Outgoing(array, distributed, numbers)});
  std::vector<std::int32_t> part(distributed.elements());
  array.read(distributed, part);
  EXPECT_EQ(part, numbers);
  array.sync();
  array.close();
  writing.wait();
  EXPECT_GE(session.figures().bytes_asked, 0);
}

TEST_F(Requests, ARepeatedOneIsPlannedOnce) {
  const Extents shape = {24, 10};
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("steps"), shape);
  const auto numbers = numbered_part<double>(rows, shape);
  array.write(rows, numbers);
  EXPECT_EQ(session.figures().plan_reused, 0);
  array.write(rows, numbers);
  EXPECT_EQ(session.figures().plan_reused, 1);
  auto next = session.create<double>(path("next"), shape);
  next.write(rows, numbers);
  EXPECT_EQ(session.figures().plan_reused, 1);
  std::vector<double> part(rows.elements());
  next.read(rows, part);
  EXPECT_EQ(session.figures().plan_reused, 0);
  EXPECT_EQ(part, numbers);
}

TEST_F(Requests, AreExplainedByEachRankAlone) {
  const Extents shape = {24, 10};
  weir_session_options options = {};
  options.strategy = "server-directed";
  Session forced(MPI_COMM_WORLD, options);
  Session session(MPI_COMM_WORLD);
  for (Session* one : {&session, &forced}) {
    const auto columns = one->distribution(shape, "*, BLOCK");
    auto array = one->create<double>(path("explained"), shape);
    const auto numbers = numbered_part<double>(columns, shape);
    if (rank_of_world() == 0) {
      const std::string text = one->explain_write({Outgoing(array, columns, numbers)});
      for (const char* name : {"\ndirect", "\nnode", "\ntwo-phase", "\nserver-directed"}) {
        EXPECT_NE(text.find(name), std::string::npos) << text;
      }
      const bool by_setting = text.find("because a setting says so") != std::string::npos;
      EXPECT_EQ(by_setting, one == &forced) << text;
    }
    array.write(columns, numbers);
    // The plan that explaining made is used; on other ranks there is none.
    EXPECT_EQ(one->figures().plan_reused, rank_of_world() == 0 ? 1 : 0);
    if (one == &forced) {
      EXPECT_EQ(one->figures().strategy, 4);
    }
  }
}

TEST_F(Requests, ExplainingRefusesWhatARequestWould) {
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution({8}, "BLOCK");
  auto array = session.create<double>(path("refused"), {8});
  weir_transfer transfer = {};
  const char* text = nullptr;
  EXPECT_EQ(weir_session_explain(session.get(), WEIR_WRITE, 1, &transfer, &text), WEIR_E_ARGUMENT);
  EXPECT_EQ(text, nullptr);
  transfer.array = array.get();
  transfer.distribution = distributed.get();
  EXPECT_EQ(weir_session_explain(session.get(), 2, 1, &transfer, &text), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_session_explain(session.get(), WEIR_READ, 1, &transfer, nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_session_explain(nullptr, WEIR_READ, 1, &transfer, &text), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_session_explain(session.get(), WEIR_READ, 1, &transfer, &text), WEIR_OK);
  EXPECT_NE(text, nullptr);
}

TEST_F(Requests, FailuresAreToldWhenTheyEnd) {
  const Extents shape = {4, 4};
  Session session(MPI_COMM_WORLD);
  const auto distributed = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("a"), shape);
  const std::vector<double> part(16, 1);
  const bool last = rank_of_world() == size_of_world() - 1;

  // Bad on the last rank; different on it; and a good one in between.
  const Section bad{.start = {last ? 9 : 0, 0}, .count = {1, 1}};
  const Section different{.start = {last ? 1 : 0, 0}, .count = {1, 1}};
  const std::span own(part.data(), distributed.elements());
  auto refused = session.write_begin({Outgoing(array, distributed, own, {}, bad)});
  auto good = session.write_begin({Outgoing(array, distributed, own)});
  auto unlike = session.write_begin({Outgoing(array, distributed, own, {}, different)});
  const auto code_of = [](Request& request) {
    try {
      request.wait();
      return 0;
    } catch (const Failure& failure) {
      return failure.code();
    }
  };
  EXPECT_EQ(code_of(unlike), size_of_world() > 1 ? WEIR_E_MISMATCH : 0);
  EXPECT_EQ(code_of(refused), WEIR_E_ARGUMENT);
  EXPECT_EQ(code_of(good), 0);
}

TEST_F(Requests, ClosingASessionEndsThem) {
  const Extents shape = {30};
  const auto write = [&] {
    Session session(MPI_COMM_WORLD);
    const auto distributed = session.distribution(shape, "BLOCK");
    auto array = session.create<std::int64_t>(path("a"), shape);
    auto numbers = numbered_part<std::int64_t>(distributed, shape);
    weir_transfer transfer = {};
    transfer.array = array.get();
    transfer.distribution = distributed.get();
    transfer.data = numbers.data();
    weir_request* request = nullptr;
    ASSERT_EQ(weir_write_begin(session.get(), 1, &transfer, &request), 0) << weir_last_error();
    session.close();
  };
  write();
  const auto file = content_of<std::int64_t>(path("a"));
  ASSERT_EQ(file.size(), 30U);
  for (std::size_t k = 0; k < 30; ++k) EXPECT_EQ(file[k], static_cast<std::int64_t>(k + 1));
}

// An exception that leaves the scope of a request, of all ranks or of one.
struct Left : std::runtime_error {
  Left() : std::runtime_error("the computation failed") {}
};

TEST_F(Requests, AReadLeftByAnExceptionTouchesNoMemoryAnyMore) {
  const Extents shape = {16, 1024};
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("a"), shape);
  array.write(rows, std::vector<double>(rows.elements(), 1.5));
  // The memory stays, so that what a late read does to it is seen.
  std::vector<double> left(rows.elements(), 7);
  try {
    auto reading = session.read_begin({Incoming(array, rows, left)});
    throw Left();
  } catch (const Left& left_by) {
    EXPECT_STREQ(left_by.what(), "the computation failed");
  }
  array.sync();  // carries the request out
  EXPECT_EQ(left, std::vector<double>(rows.elements(), 7));
  std::vector<double> read(rows.elements());
  array.read(rows, read);
  EXPECT_EQ(read, std::vector<double>(rows.elements(), 1.5));
}

TEST_F(Requests, AWriteLeftByAnExceptionOnOneRankIsCarriedOut) {
  const Extents shape = {12, 100};
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("a"), shape);
  const auto numbers = numbered_part<double>(rows, shape);
  // With a column of ghost cells, so that the copy is not one run.
  const std::size_t own = rows.elements() / 100;
  std::vector<double> ghosted(own * 101, -1);
  for (std::size_t k = 0; k < numbers.size(); ++k) ghosted[k / 100 * 101 + k % 100] = numbers[k];
  Memory memory;
  memory.ghost_lower = {0, 0};
  memory.ghost_upper = {0, 1};
  try {
    auto writing = session.write_begin({Outgoing(array, rows, ghosted, memory)});
    if (rank_of_world() == 0) throw Left();
    writing.wait();
  } catch (const Left&) {
    std::fill(ghosted.begin(), ghosted.end(), 99);  // as other data would
  }
  array.close();
  const auto file = content_of<double>(path("a"));
  ASSERT_EQ(file.size(), 1200U);
  for (std::size_t k = 0; k < file.size(); ++k) ASSERT_EQ(file[k], static_cast<double>(k + 1));
}

TEST_F(Requests, MayBeDetachedAtAnyPoint) {
  const Extents shape = {30, 500};
  for (const char* strategy : {"direct", "node", "two-phase", "server-directed"}) {
    SCOPED_TRACE(strategy);
    weir_session_options options = {};
    options.strategy = strategy;
    options.buffer_bytes = 4096;
    options.ranks_per_node = 2;
    Session session(MPI_COMM_WORLD, options);
    const auto rows = session.distribution(shape, "BLOCK, *");
    const auto columns = session.distribution(shape, "*, BLOCK");
    auto array = session.create<double>(path(strategy), shape);
    const auto numbers = numbered_part<double>(rows, shape);
    for (int tests = 0; tests < 4; ++tests) {
      auto given = numbers;
      std::vector<double> target(columns.elements(), 7);
      auto writing = session.write_begin({Outgoing(array, rows, given)});
      auto reading = session.read_begin({Incoming(array, columns, target)});
      for (int asked = 0; asked < tests; ++asked) static_cast<void>(reading.test());
      writing.detach();
      std::fill(given.begin(), given.end(), 99);
      const bool is_read = reading.test();
      reading.detach();
      const auto then = target;
      array.sync();
      EXPECT_EQ(target, then) << is_read;
      std::vector<double> read(columns.elements());
      array.read(columns, read);
      EXPECT_EQ(read, numbered_part<double>(columns, shape));
    }
  }
  weir_request* none = nullptr;
  EXPECT_EQ(weir_request_detach(&none), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_request_detach(nullptr), WEIR_E_ARGUMENT);
}

// Writes a file by a request that its destructor waits for.
struct WritesWhenDestroyed {
  std::string path;
  explicit WritesWhenDestroyed(std::string given) : path(std::move(given)) {}
  WritesWhenDestroyed(const WritesWhenDestroyed&) = delete;
  WritesWhenDestroyed& operator=(const WritesWhenDestroyed&) = delete;
  ~WritesWhenDestroyed() {
    Session session(MPI_COMM_WORLD);
    const auto distributed = session.distribution({40}, "BLOCK");
    auto array = session.create<double>(path, {40});
    const auto numbers = numbered_part<double>(distributed, {40});
    auto writing = session.write_begin({Outgoing(array, distributed, numbers)});
  }
};

TEST_F(Requests, ASessionInADestructorIsClosedWhileAnExceptionIsUnderWay) {
  try {
    const WritesWhenDestroyed writes(path("a"));
    throw Left();
  } catch (const Left& left_by) {
    EXPECT_STREQ(left_by.what(), "the computation failed");
  }
  const auto file = content_of<double>(path("a"));
  ASSERT_EQ(file.size(), 40U);
  for (std::size_t k = 0; k < file.size(); ++k) EXPECT_EQ(file[k], static_cast<double>(k + 1));
}

TEST_F(Requests, CharactersAreInt8OnEveryMachine) {
  EXPECT_EQ(element_type_of<char>(), "int8");
  EXPECT_EQ(element_type_of<signed char>(), "int8");
  EXPECT_EQ(element_type_of<unsigned char>(), "uint8");
}

}  // namespace
}  // namespace weir::test
