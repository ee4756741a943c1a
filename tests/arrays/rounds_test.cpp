// How often all ranks vote in a call: in a request once before anything moves, and once at its end;
// once when an array or file is opened or closed, or a step ends. Each rank is a node of its own,
// so that each vote is one MPI_Iallreduce, which the preloaded library
// (tests/failure/faulty_mpi.c) counts.
#include <dlfcn.h>

#include "parallel.hpp"

namespace weir::test {
namespace {

class Rounds : public OnRanks {
 protected:
  void SetUp() override {
    OnRanks::SetUp();
    count_ = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "faulty_mpi_calls"));
    ASSERT_NE(count_, nullptr) << "preload faulty_mpi.so";
  }
  // Returns how many votes this rank takes part in during `call`.
  template <typename Call>
  long rounds_of(const Call& call) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    setenv("WEIR_MPI_FAULT", ("call=MPI_Iallreduce,nth=-1,try=" + std::to_string(++tries_)).c_str(),
           1);
    call();
    const long rounds = count_();
    setenv("WEIR_MPI_FAULT", "", 1);  // NOLINT(concurrency-mt-unsafe)
    return rounds;
  }
  static Session open_session(const char* strategy) {
    weir_session_options options = {};
    options.strategy = strategy;
    options.buffer_bytes = 4096;
    options.ranks_per_node = 1;
    return Session(MPI_COMM_WORLD, options);
  }

  const Extents shape_ = {24, 50};

 private:
  using Count = long (*)();
  Count count_ = nullptr;
  int tries_ = 0;
};

TEST_F(Rounds, AreTwoForEachRequest) {
  for (const char* strategy : {"direct", "node", "two-phase", "server-directed"}) {
    SCOPED_TRACE(strategy);
    Session session = open_session(strategy);
    const Distribution rows = session.distribution(shape_, "BLOCK, *");
    Array array = session.create<double>(path(strategy), shape_);
    const auto numbers = numbered_part<double>(rows, shape_);
    std::vector<double> read(rows.elements());
    for (int repeated = 0; repeated < 2; ++repeated) {
      EXPECT_EQ(rounds_of([&] { array.write(rows, numbers); }), 2);
      EXPECT_EQ(rounds_of([&] { array.read(rows, read); }), 2);
    }
    EXPECT_EQ(read, numbers);
    EXPECT_EQ(rounds_of([&] {
                auto first = session.write_begin({Outgoing(array, rows, numbers)});
                auto second = session.read_begin({Incoming(array, rows, read)});
                first.wait();
                second.wait();
              }),
              4);
    EXPECT_EQ(rounds_of([&] { array.close(); }), 1);
  }
}

TEST_F(Rounds, AreTwoForEachRequestOfAStep) {
  for (const char* format : {"hdf5", "cdf5", "zarr", "raw"}) {
    SCOPED_TRACE(format);
    Session session = open_session(nullptr);
    const Distribution rows = session.distribution(shape_, "BLOCK, *");
    weir_file_options options = {};
    options.format = format;
    File file = session.create_file(path(format), options);
    weir_define_options steps = {};
    steps.steps = 1;
    Array first = file.define<double>("first", shape_, steps);
    Array second = file.define<double>("second", shape_, steps);
    const auto numbers = numbered_part<double>(rows, shape_);
    for (int step = 0; step < 2; ++step) {
      file.begin_step();
      EXPECT_EQ(
          rounds_of([&] {
            session.write_many({Outgoing(first, rows, numbers), Outgoing(second, rows, numbers)});
          }),
          2);
      EXPECT_EQ(rounds_of([&] { file.end_step(); }), 1);
    }
    std::vector<double> read(rows.elements());
    EXPECT_EQ(rounds_of([&] { second.read(rows, read); }), 2);
    EXPECT_EQ(read, numbers);
    EXPECT_EQ(rounds_of([&] { file.close(); }), 1);
  }
}

// The regions of all ranks are gathered once, in two more rounds and a message between nodes: the
// second round, which only writes have, finds out whether regions overlap.
TEST_F(Rounds, AreTwoForRegionsThatAllRanksKnow) {
  Session session = open_session("two-phase");
  Array array = session.create<double>(path("regions"), shape_);
  const std::int64_t rows = shape_[0] / size_of_world();
  const Region own{.lower = {rows * rank_of_world(), 0}, .extent = {rows, shape_[1]}};
  const std::vector<double> data(static_cast<std::size_t>(rows * shape_[1]), rank_of_world());
  std::vector<double> read(data.size());
  EXPECT_EQ(rounds_of([&] { array.write_region(own, data); }), 5);
  for (int repeated = 0; repeated < 2; ++repeated) {
    EXPECT_EQ(rounds_of([&] { array.write_region(own, data); }), 2);
    EXPECT_EQ(rounds_of([&] { array.read_region(own, read); }), 2);
  }
  EXPECT_EQ(read, data);
}

TEST_F(Rounds, AreOneForEachArrayThatIsOpened) {
  Session session = open_session(nullptr);
  std::optional<Array> array;
  EXPECT_EQ(rounds_of([&] { array.emplace(session.create<double>(path("opened"), shape_)); }), 1);
  array->close();
  EXPECT_EQ(rounds_of([&] { array.emplace(session.open(path("opened"))); }), 1);
  array->close();
}

// What one rank alone does wrong is found in the only vote.
TEST_F(Rounds, AreOneForARequestThatIsRefused) {
  Session session = open_session("two-phase");
  const Distribution rows = session.distribution(shape_, "BLOCK, *");
  Array array = session.create<double>(path("refused"), shape_);
  const auto numbers = numbered_part<double>(rows, shape_);
  const bool odd = rank_of_world() == size_of_world() - 1;
  EXPECT_EQ(rounds_of([&] {
              EXPECT_EQ(weir_write(array.get(), rows.get(), odd ? nullptr : numbers.data()),
                        WEIR_E_ARGUMENT);
            }),
            1);
  EXPECT_TRUE(is_same_on_all_ranks(weir_last_error()));
}

}  // namespace
}  // namespace weir::test
