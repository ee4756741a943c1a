// Requests that are begun: they end in any order of waiting, and tell of failures when they end.
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
  const auto dealt = session.distribution(shape, "CYCLIC");
  auto array = session.create<std::int32_t>(path("a"), shape);
  const auto numbers = numbered_part<std::int32_t>(dealt, shape);
  auto writing = session.write_begin({Outgoing(array, dealt, numbers)});
  std::vector<std::int32_t> part(dealt.elements());
  array.read(dealt, part);
  EXPECT_EQ(part, numbers);
  array.sync();
  array.close();
  writing.wait();
  EXPECT_GE(session.figures().bytes_asked, 0);
}

TEST_F(Requests, FailuresAreToldWhenTheyEnd) {
  const Extents shape = {4, 4};
  Session session(MPI_COMM_WORLD);
  const auto dealt = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("a"), shape);
  const std::vector<double> part(16, 1);
  const bool last = rank_of_world() == size_of_world() - 1;

  // Bad on the last rank; different on it; and a good one in between.
  const Section bad{.start = {last ? 9 : 0, 0}, .count = {1, 1}};
  const Section different{.start = {last ? 1 : 0, 0}, .count = {1, 1}};
  const std::span own(part.data(), dealt.elements());
  auto refused = session.write_begin({Outgoing(array, dealt, own, {}, bad)});
  auto good = session.write_begin({Outgoing(array, dealt, own)});
  auto unlike = session.write_begin({Outgoing(array, dealt, own, {}, different)});
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
    const auto dealt = session.distribution(shape, "BLOCK");
    auto array = session.create<std::int64_t>(path("a"), shape);
    auto numbers = numbered_part<std::int64_t>(dealt, shape);
    weir_transfer transfer = {};
    transfer.array = array.get();
    transfer.distribution = dealt.get();
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

}  // namespace
}  // namespace weir::test
