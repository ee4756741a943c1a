// Arguments that cannot be are refused on every rank alike, naming argument and value, before
// anything is written: when all ranks pass them, and when only one does.
#include <dlfcn.h>

#include <functional>
#include <utility>

#include "parallel.hpp"

// Returns the path of the library that stands in for the driver of a GPU.
extern "C" const char* weir_test_driver();

namespace weir::test {
namespace {

// One good call that a case spoils.
struct Call {
  Extents shape = {8, 6};
  std::int32_t dimensions = 2;
  std::string formats = "BLOCK, *";
  std::string type = "float64";
  weir_distribution_options distribution_options = {};
  weir_array_options array_options = {};
};

struct Case {
  const char* name;
  std::function<int()> call;  // wrong on the ranks where `spoil` is set
  const char* text;           // in the error's line
};

class Refusal : public OnRanks {
 protected:
  void SetUp() override {
    OnRanks::SetUp();
    session_.emplace(MPI_COMM_WORLD);
    shape_ = {8, 6};
    rows_.emplace(session_->distribution(shape_, "BLOCK, *"));
    other_.emplace(session_->distribution({8, 7}, "BLOCK, *"));
    array_.emplace(session_->create<double>(path("a"), shape_));
    data_ = numbered_part<double>(*rows_, shape_);
    data_.resize(data_.size() + 1);
    ASSERT_EQ(weir_write(array_->get(), rows_->get(), data_.data()), 0) << weir_last_error();
  }
  void TearDown() override {
    array_->close();
    EXPECT_EQ(content_of<double>(path("a")).back(), 48) << "something was written";
    session_->close();
    OnRanks::TearDown();
  }

  int create_distribution(const Call& call) {
    weir_distribution* made = nullptr;
    const int code =
        weir_distribution_create(session_->get(), call.dimensions, call.shape.data(),
                                 call.formats.c_str(), &call.distribution_options, &made);
    EXPECT_EQ(made == nullptr, code != 0);
    return code;
  }
  int create_array(const Call& call) {
    weir_array* made = nullptr;
    const int code =
        weir_array_create(session_->get(), path("b").c_str(), call.dimensions, call.shape.data(),
                          call.type.c_str(), &call.array_options, &made);
    EXPECT_EQ(made == nullptr, code != 0);
    return code;
  }
  // Spoils a good write of 0 with what `spoil` does to its structs.
  int write(const std::function<void(weir_transfer&, weir_memory&, weir_section&)>& spoil) {
    std::vector<double> zeros(data_.size());
    weir_memory memory = {};
    weir_section section = {};
    weir_transfer transfer = {};
    transfer.array = array_->get();
    transfer.distribution = rows_->get();
    transfer.data = zeros.data();
    transfer.memory = &memory;
    if (spoils_) spoil(transfer, memory, section);
    // The others' sections are as good as can be, so that only the spoilt one is wrong.
    return weir_write_many(session_->get(), 1, &transfer);
  }

  void expect_refused(const Case& wrong) {
    SCOPED_TRACE(wrong.name);
    for (const bool everywhere : {true, false}) {
      SCOPED_TRACE(everywhere ? "on all ranks" : "on the last rank");
      const int last = size_of_world() - 1;
      spoils_ = everywhere || rank_of_world() == last;
      EXPECT_EQ(wrong.call(), WEIR_E_ARGUMENT) << weir_last_error();
      const std::string line = weir_last_error();
      EXPECT_NE(line.find(wrong.text), std::string::npos) << line;
      const std::string rank = "rank " + std::to_string(everywhere ? 0 : last) + ": ";
      EXPECT_EQ(line.find(rank), 0U) << line;
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
  }

  // The call with `change` made to it on ranks that are to be wrong.
  Call spoilt(const std::function<void(Call&)>& change) const {
    Call call;
    if (spoils_) change(call);
    return call;
  }

  bool spoils_ = false;
  Extents shape_;
  std::optional<Session> session_;
  std::optional<Distribution> rows_;
  std::optional<Distribution> other_;
  std::optional<Array> array_;
  std::vector<double> data_;
};

TEST_F(Refusal, Distributions) {
  const auto with = [&](const std::function<void(Call&)>& change) {
    return [this, change] { return create_distribution(spoilt(change)); };
  };
  const Extents grid = {0, 1};
  const Extents large = {64, 1};
  const std::vector<Case> cases = {
      {"dimensions", with([](Call& c) { c.dimensions = 17; }), "dimensions is 17"},
      {"no dimension", with([](Call& c) { c.dimensions = 0; }), "dimensions is 0"},
      {"extent", with([](Call& c) { c.shape[1] = -3; }), "extent -3 of dimension 1"},
      {"words", with([](Call& c) { c.formats = "BLOCK"; }),
       "'BLOCK', which has 1 words for 2 dimensions"},
      {"format", with([](Call& c) { c.formats = "BLOCK, ROUND"; }), "ROUND"},
      {"grid", with([&](Call& c) { c.distribution_options.grid = grid.data(); }), "0 processes"},
      {"ranks", with([&](Call& c) { c.distribution_options.grid = large.data(); }), "64 x 1"},
      {"grid order", with([](Call& c) { c.distribution_options.grid_order = 2; }),
       "grid_order is 2"},
      {"reserved", with([](Call& c) { c.distribution_options.reserved[5] = 1; }), "reserved"},
  };
  for (const Case& wrong : cases) expect_refused(wrong);

  const auto boxes = [&](std::int64_t count, Extents lower) {
    return [this, count, lower] {
      const Extents good = {0, 0};
      const Extents extent = {1, 2};
      weir_distribution* made = nullptr;
      return weir_distribution_from_boxes(session_->get(), 2, shape_.data(), spoils_ ? count : 1,
                                          spoils_ ? lower.data() : good.data(), extent.data(),
                                          &made);
    };
  };
  expect_refused({"count of boxes", boxes(-1, {0, 0}), "boxes is -1"});
  constexpr std::int64_t most_boxes = std::int64_t{1} << 26;
  expect_refused({"more boxes", boxes(most_boxes + 1, {0, 0}), "boxes is 67108865"});
  // As many as there may be are looked at, and are not there.
  const auto missing = [this] {
    const Extents lower = {0, 0};
    const Extents extent = {1, 2};
    weir_distribution* made = nullptr;
    return weir_distribution_from_boxes(session_->get(), 2, shape_.data(), spoils_ ? most_boxes : 1,
                                        spoils_ ? nullptr : lower.data(), extent.data(), &made);
  };
  expect_refused({"most boxes", missing, "lower is null"});
  expect_refused({"box", boxes(1, {0, 5}), "box 0: a box from 5 with extent 2 along dimension 1"});
}

TEST_F(Refusal, Arrays) {
  const auto with = [&](const std::function<void(Call&)>& change) {
    return [this, change] { return create_array(spoilt(change)); };
  };
  const Extents chunks = {4, 0};
  const Extents good_chunks = {4, 3};
  const char* const upwards = "a/../..";
  const std::vector<Case> cases = {
      {"type", with([](Call& c) { c.type = "double"; }), "'double'"},
      {"record", with([](Call& c) { c.type = "record[0]"; }), "element type 'record[0]'"},
      {"extent", with([](Call& c) { c.shape[0] = -1; }), "extent -1"},
      {"bytes", with([](Call& c) {
         c.shape = {std::int64_t{1} << 31, std::int64_t{1} << 31};
       }),
       "2147483648 x 2147483648"},
      {"order", with([](Call& c) { c.array_options.order = -1; }), "order is -1"},
      {"files", with([](Call& c) { c.array_options.files = 3; }), "files is 3"},
      {"no chunks", with([](Call& c) { c.array_options.files = 1; }),
       "only chunks can be stored in several files"},
      {"chunk", with([&](Call& c) { c.array_options.chunks = chunks.data(); }), "chunks"},
      {"hints", with([&](Call& c) { c.array_options.typical_request = chunks.data(); }),
       "typical_request"},
      {"two kinds of chunks", with([&](Call& c) {
         c.array_options.typical_request = c.array_options.chunks = chunks.data();
       }),
       "give one"},
      {"natural", with([&](Call& c) { c.array_options.natural_chunks = other_->get(); }), "8 x 7"},
      {"directories", with([](Call& c) { c.array_options.directory_count = 2; }),
       "options.directories is null"},
      {"directories of a shared file", with([&](Call& c) {
         c.array_options.directories = &upwards;
         c.array_options.directory_count = 1;
       }),
       "WEIR_SHARED_FILE"},
      {"directory", with([&](Call& c) {
         c.array_options.chunks = good_chunks.data();
         c.array_options.files = WEIR_FILE_PER_RANK;
         c.array_options.directories = &upwards;
         c.array_options.directory_count = 1;
       }),
       "'a/../..': a name may not lead upwards"},
      {"reserved", with([](Call& c) { c.array_options.reserved[0] = 7; }), "reserved"},
  };
  for (const Case& wrong : cases) expect_refused(wrong);
  EXPECT_FALSE(std::filesystem::exists(path("b"))) << "something was written";
}

TEST_F(Refusal, Requests) {
  using Transfer = weir_transfer;
  const auto with = [&](const std::function<void(Transfer&, weir_memory&, weir_section&)>& spoil) {
    return [this, spoil] { return write(spoil); };
  };
  static const Extents start = {6, 0};
  static const Extents count = {3, 1};
  static const Extents stride = {1, 0};
  static const Extents one = {1, 1};
  static const Extents ghosts = {0, -2};
  static const Extents strides = {8, 8};
  static const Extents odd_shape = {99, 6};
  const std::vector<Case> cases = {
      {"array", with([](Transfer& t, auto&, auto&) { t.array = nullptr; }), "array is null"},
      {"distribution", with([](Transfer& t, auto&, auto&) { t.distribution = nullptr; }),
       "distribution is null"},
      {"shape", with([&](Transfer& t, auto&, auto&) { t.distribution = other_->get(); }),
       "distribution has the shape 8 x 7"},
      {"data", with([](Transfer& t, auto&, auto&) { t.data = nullptr; }), "data is null"},
      {"bytes", with([](Transfer& t, auto&, auto&) { t.data_bytes = 8; }), "data_bytes is 8"},
      {"type", with([](Transfer& t, auto&, auto&) { t.data_type = "int64"; }),
       "data_type is 'int64'"},
      {"extents", with([](Transfer& t, auto&, auto&) { t.data_shape = odd_shape.data(); }),
       "data_shape[0] is 99"},
      {"dimensions", with([](Transfer& t, auto&, auto&) { t.dimensions = 3; }), "dimensions is 3"},
      {"order", with([](auto&, weir_memory& m, auto&) { m.order = 5; }), "memory.order is 5"},
      {"ghosts", with([](auto&, weir_memory& m, auto&) { m.ghost_upper = ghosts.data(); }),
       "memory.ghost_upper[1] is -2"},
      {"ghosts and strides",
       with([](auto&, weir_memory& m, auto&) { m.ghost_lower = m.strides = strides.data(); }),
       "ghost cells are both given"},
      {"section outside", with([](Transfer& t, auto&, weir_section& s) {
         s = {start.data(), count.data(), nullptr};
         t.section = &s;
       }),
       "from 6 with count 3"},
      {"stride", with([](Transfer& t, auto&, weir_section& s) {
         s = {one.data(), one.data(), stride.data()};
         t.section = &s;
       }),
       "stride 0 along dimension 1"},
      {"no start", with([](Transfer& t, auto&, weir_section& s) { t.section = &s; }),
       "section.start is null"},
      {"reserved", with([](Transfer& t, auto&, auto&) { t.reserved[3] = 1; }), "reserved"},
      {"count",
       [this] {
         weir_transfer transfer = {};
         transfer.array = array_->get();
         transfer.distribution = rows_->get();
         transfer.data = data_.data();
         return weir_read_many(session_->get(), spoils_ ? 0 : 1, &transfer);
       },
       "count is 0"},
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST_F(Refusal, MemoryOfAGpu) {
  // The library has looked for a driver before the program loads one.
  std::vector<double> read(data_.size());
  EXPECT_EQ(weir_read(array_->get(), rows_->get(), read.data()), 0) << weir_last_error();
  void* const driver = ::dlopen(weir_test_driver(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << weir_test_driver();
  void* const device = ::dlsym(driver, "weir_test_device_memory");
  void* const managed = ::dlsym(driver, "weir_test_managed_memory");
  // The memory of the second of two arrays, which is described as the first one's is.
  const auto write_two = [&] {
    std::vector<double> zeros(data_.size());
    weir_transfer transfer = {};
    transfer.array = array_->get();
    transfer.distribution = rows_->get();
    transfer.data = zeros.data();
    std::vector<weir_transfer> both(2, transfer);
    auto second = session_->create<double>(path("second"), shape_);
    both[1].array = second.get();
    if (spoils_) both[1].data = device;
    const int code = weir_write_many(session_->get(), 2, both.data());
    const std::string line = weir_last_error();
    second.close();
    return std::pair(code, line);
  };
  const Extents lower = {0, 0};
  const Extents extent = {1, 6};
  weir_region region = {};
  region.lower = lower.data();
  region.extent = extent.data();
  region.data = device;
  const auto write_region = [&] {
    return weir_write_region(array_->get(), spoils_ ? &region : nullptr);
  };
  expect_refused({"region", write_region, "data is in the memory of a GPU"});
  spoils_ = rank_of_world() == 1;
  const auto [code, line] = write_two();
  EXPECT_EQ(code, WEIR_E_ARGUMENT);
  EXPECT_EQ(line.find("rank 1: "), 0U) << line;
  EXPECT_NE(line.find("data is in the memory of a GPU"), std::string::npos) << line;
  EXPECT_EQ(weir_read(array_->get(), rows_->get(), managed), 0) << weir_last_error();
  EXPECT_EQ(*static_cast<double*>(managed), data_.front());
  ::dlclose(driver);
}

TEST_F(Refusal, ReadingIntoMemoryThatOverlapsItself) {
  static const Extents strides = {8, 8};
  const auto call = [&] {
    weir_memory memory = {};
    memory.strides = spoils_ ? strides.data() : nullptr;
    weir_transfer transfer = {};
    transfer.array = array_->get();
    transfer.distribution = rows_->get();
    transfer.data = data_.data();
    transfer.memory = &memory;
    return weir_read_many(session_->get(), 1, &transfer);
  };
  expect_refused({"strides", call, "memory.strides are 8 x 8"});
}

TEST_F(Refusal, WritingWhatIsOpenForReading) {
  weir_open_options options = {};
  options.read_only = 1;
  auto array = session_->open(path("a"), options);
  EXPECT_EQ(weir_write(array.get(), rows_->get(), data_.data()), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("is open read-only"), std::string::npos);
}

TEST_F(Refusal, SessionOptions) {
  const auto open = [&](const std::function<void(weir_session_options&)>& spoil) {
    return [this, spoil] {
      weir_session_options options = {};
      options.deadline_seconds = 20;
      weir_session* session = nullptr;
      if (spoils_) spoil(options);
      const int code = weir_session_open(MPI_COMM_WORLD, &options, &session);
      EXPECT_EQ(session, nullptr);
      return code;
    };
  };
  const std::vector<Case> cases = {
      {"deadline", open([](auto& o) { o.deadline_seconds = -1; }), "deadline_seconds is -1"},
      {"strategy", open([](auto& o) { o.strategy = "best"; }), "strategy is 'best'"},
      {"engine", open([](auto& o) { o.engine = "fast"; }), "engine is 'fast'"},
      {"aggregators", open([](auto& o) { o.aggregators = -2; }), "aggregators is -2"},
      {"buffers", open([](auto& o) { o.buffers = 1; }), "buffers is 1"},
      {"reserved", open([](auto& o) { o.reserved[0] = 1; }), "reserved"},
      {"staging_lost", open([](auto& o) { o.staging_lost = "retry"; }),
       "options.staging_lost is 'retry': give one of fail, direct"},
      {"durability", open([](auto& o) { o.durability = "disk"; }),
       "options.durability is 'disk': give one of step, operation, none, journal"},
      {"staging", open([](auto& o) { o.staging = "disk"; }),
       "options.staging is 'disk': give none, node, ranks (the last rank of each node), "
       "ranks:2"},
      {"io_groups", open([](auto& o) { o.io_groups = "0,2"; }),
       "options.io_groups is '0,2': there is a group 2 but no group 1"},
      {"aggregator_placement", open([](auto& o) { o.aggregator_placement = "last"; }),
       "options.aggregator_placement is 'last': give one of spread, nearest, first, priced"},
      {"stripe", open([](auto& o) { o.stripe_bytes = -4; }), "stripe_bytes is -4"},
      {"alignment", open([](auto& o) { o.alignment_bytes = INT64_MAX; }),
       "alignment_bytes is 9223372036854775807: give 0 to let Weir choose, or at most"},
  };
  for (const Case& wrong : cases) expect_refused(wrong);
}

TEST(NullHandles, AreRefusedByThemselves) {
  EXPECT_EQ(weir_session_close(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_session_open(MPI_COMM_NULL, nullptr, nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_write(nullptr, nullptr, nullptr), WEIR_E_ARGUMENT);
  EXPECT_STREQ(weir_last_error(), "weir_write: array is null");
  EXPECT_EQ(weir_read_many(nullptr, 1, nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_array_sync(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_array_close(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_array_dimensions(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_array_element_type(nullptr), nullptr);
  EXPECT_EQ(weir_distribution_elements(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_wait(nullptr), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_test(nullptr, nullptr), WEIR_E_ARGUMENT);
  weir_distribution_free(nullptr);
  weir_session_abandon(nullptr);
}

TEST_F(Refusal, AnAbandonedSessionRefusesWhatIsLeftOfIt) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution({4, 3}, "BLOCK, *");
  session.abandon();
  EXPECT_THROW(static_cast<void>(rows.elements()), Failure);
  EXPECT_THROW(session.close(), Failure);
  EXPECT_EQ(version(), weir_version());
}

}  // namespace
}  // namespace weir::test
