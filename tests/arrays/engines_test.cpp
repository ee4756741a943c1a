// Every engine, with aggregators and without: what one writes the next one reads, in files of
// formats whose numbers are swapped and whose chunks are tables.
#include <array>

#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr std::array<const char*, 4> engines = {"posix", "io_uring", "direct-io", "mpi-io"};
constexpr std::array<const char*, 2> engine_strategies = {"direct", "two-phase"};

class Engines : public OnRanks {
 protected:
  [[nodiscard]] static weir_session_options by(const char* engine, const char* strategy) {
    weir_session_options options{};
    options.engine = engine;
    options.strategy = strategy;
    options.ranks_per_node = 2;
    // Long enough for whole pages to go past the page cache.
    options.buffer_bytes = 200'000;
    return options;
  }
  // Not every kernel has io_uring, and containers often forbid it.
  [[nodiscard]] static bool is_there(const char* engine) {
    const weir_session_options options = by(engine, "automatic");
    weir_session* session = nullptr;
    const int code = weir_session_open(MPI_COMM_WORLD, &options, &session);
    EXPECT_TRUE(code == WEIR_OK || code == WEIR_E_UNSUPPORTED) << weir_last_error();
    if (code == WEIR_OK) weir_session_close(&session);
    return code == WEIR_OK;
  }
  static void expect_engine(const Session& session, std::size_t engine) {
    weir_figures figures{};
    ASSERT_EQ(weir_session_figures(session.get(), &figures), WEIR_OK) << weir_last_error();
    EXPECT_EQ(figures.engine, static_cast<std::int32_t>(engine) + 1);
  }

  const Extents shape_ = {61, 1013};
};

TEST_F(Engines, ReadWhatOthersWrote) {
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    if (is_there(engines.at(i))) there.push_back(i);
  }
  for (const char* const strategy : engine_strategies) {
    for (std::size_t i = 0; i < there.size(); ++i) {
      const std::string format = (i + (strategy[0] == 'd' ? 1 : 0)) % 2 == 0 ? "cdf5" : "hdf5";
      SCOPED_TRACE(format + " by " + engines.at(there[i]) + ", " + strategy);
      const std::string name = path("file");
      {
        Session session(MPI_COMM_WORLD, by(engines.at(there[i]), strategy));
        weir_file_options options{};
        options.format = format.c_str();
        options.durability = "step";
        File file = session.create_file(name, options);
        weir_define_options growing{};
        const std::array<std::int64_t, 2> chunk = {20, 400};
        growing.steps = 1;
        if (format == "hdf5") growing.chunks = chunk.data();
        Array array = file.define<double>("a", shape_, growing);
        const auto blocks = session.distribution(shape_, "BLOCK, BLOCK");
        auto numbers = numbered_part<double>(blocks, shape_);
        for (int step = 0; step < 2; ++step) {
          file.begin_step();
          array.write(blocks, numbers);
          expect_engine(session, there[i]);
          file.end_step();
          for (double& number : numbers) number += 0.5;
        }
        file.close();
      }
      const std::size_t next = there[(i + 1) % there.size()];
      Session session(MPI_COMM_WORLD, by(engines.at(next), strategy));
      File file = session.open_file(name);
      const auto columns = session.distribution(shape_, "*, CYCLIC(100)");
      auto expected = numbered_part<double>(columns, shape_);
      std::vector<double> part(expected.size());
      Array array = file.array("a");
      for (int step = 0; step < 2; ++step) {
        file.select_step(step);
        array.read(columns, part);
        expect_engine(session, next);
        ASSERT_EQ(part, expected) << "step " << step;
        for (double& number : expected) number += 0.5;
      }
      file.close();
    }
  }
}

// The engine `null` does everything but storage: the file has its header, and reads as the fill.
TEST_F(Engines, NullDropsWhatIsWritten) {
  for (const char* const strategy : {"direct", "node", "two-phase", "server-directed"}) {
    SCOPED_TRACE(strategy);
    const std::string name = path("file");
    {
      Session session(MPI_COMM_WORLD, by("null", strategy));
      weir_file_options options{};
      options.format = "hdf5";
      File file = session.create_file(name, options);
      weir_define_options fixed{};
      Array array = file.define<double>("a", shape_, fixed);
      const auto blocks = session.distribution(shape_, "BLOCK, BLOCK");
      auto numbers = numbered_part<double>(blocks, shape_);
      file.begin_step();
      array.write(blocks, numbers);
      weir_figures figures{};
      ASSERT_EQ(weir_session_figures(session.get(), &figures), WEIR_OK) << weir_last_error();
      EXPECT_EQ(figures.engine, 5);
      file.end_step();
      array.read(blocks, numbers);
      file.close();
    }
    Session session(MPI_COMM_WORLD, by("posix", strategy));
    File file = session.open_file(name);
    const auto blocks = session.distribution(shape_, "BLOCK, BLOCK");
    auto part = numbered_part<double>(blocks, shape_);
    file.array("a").read(blocks, part);
    EXPECT_EQ(part, std::vector<double>(part.size(), 0.0));
    file.close();
  }
}

TEST_F(Engines, NullRefusesAStager) {
  weir_session_options options = by("null", "automatic");
  options.staging = "node";
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("options.engine is 'null', but a stager stores"),
            std::string::npos)
      << weir_last_error();
}

TEST_F(Engines, AreToldByExplanations) {
  Session session(MPI_COMM_WORLD, by("automatic", "automatic"));
  auto array = session.create<double>(path("a"), shape_);
  const auto rows = session.distribution(shape_, "BLOCK, *");
  auto numbers = numbered_part<double>(rows, shape_);
  weir_transfer transfer{};
  transfer.array = array.get();
  transfer.distribution = rows.get();
  transfer.data = numbers.data();
  const char* text = nullptr;
  ASSERT_EQ(weir_session_explain(session.get(), WEIR_WRITE, 1, &transfer, &text), WEIR_OK)
      << weir_last_error();
  EXPECT_NE(std::string(text).find("\nengine: posix ("), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("mpi-io "), std::string::npos) << text;
  array.close();
}

}  // namespace
}  // namespace weir::test
