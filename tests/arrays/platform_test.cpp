// A session's platform: described in a file that rank 0 alone reads, named by an option or in rank
// 0's environment.
#include <cstdlib>

#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr const char* variable = "WEIR_PLATFORM";

class Platform : public OnRanks {
 protected:
  void TearDown() override {
    ::unsetenv(variable);  // NOLINT(concurrency-mt-unsafe): the only thread
    OnRanks::TearDown();
  }
  // Written by rank 0 for itself; the others are given a name that is none.
  std::string describe(const std::string& text) {
    const std::string file = path("platform.toml");
    if (rank_of_world() == 0) std::ofstream(file) << text;
    return file;
  }
  static std::string with_calls_of(const char* seconds) {
    return std::string("format = 'weir-platform'\nformat_version = 1\nname = 'test'\n") +
           "[latencies_seconds]\nshared_write = " + seconds + "\n";
  }
  // Bytes of a chunk that is chosen for a typical request.
  std::string chunks_under(const weir_session_options& options) {
    Session session(MPI_COMM_WORLD, options);
    const Extents request = {512, 512};
    weir_array_options chunks = {};
    chunks.typical_request = request.data();
    session.create<double>(path("a"), {4096, 4096}, chunks).close();
    session.close();
    std::ifstream document(path("a.json"));
    std::string text((std::istreambuf_iterator<char>(document)), {});
    const auto at = text.find("chunk_shape");
    return text.substr(at, text.find(']', at) - at);
  }
  static void expect_refused(const weir_session_options& options, const std::string& text) {
    weir_session* session = nullptr;
    EXPECT_NE(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_OK);
    EXPECT_EQ(session, nullptr);
    const std::string line = weir_last_error();
    EXPECT_NE(line.find(text), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
};

TEST_F(Platform, PricesChunks) {
  weir_session_options options = {};
  const std::string dear = describe(with_calls_of("0.1"));
  options.platform = "";
  const std::string estimated = chunks_under(options);
  options.platform = dear.c_str();
  const std::string described = chunks_under(options);
  EXPECT_NE(described, estimated);

  // Rank 0's environment counts, and an option more.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  if (rank_of_world() == 0) ::setenv(variable, dear.c_str(), 1);
  options.platform = nullptr;
  EXPECT_EQ(chunks_under(options), described);
  options.platform = "";
  EXPECT_EQ(chunks_under(options), estimated);
}

TEST_F(Platform, PricesStrategiesAndAlignsFileDomains) {
  const Extents shape = {64, 64};
  weir_session_options options = {};
  const std::string dear = describe(with_calls_of("0.1"));
  options.platform = dear.c_str();
  options.stripe_bytes = 3 << 20;
  options.lock_bytes = 2 << 20;
  const auto explained = [&](const std::string& name) {
    Session session(MPI_COMM_WORLD, options);
    const auto held = session.distribution(shape, "BLOCK, BLOCK");
    auto array = session.create<double>(path(name), shape);
    const auto numbers = numbered_part<double>(held, shape);
    std::string text = session.explain_write({Outgoing(array, held, numbers)});
    array.write(held, numbers);
    array.close();
    session.close();
    return text;
  };
  const std::string striped = explained("striped");
  EXPECT_NE(striped.find("at multiples of 6 MiB"), std::string::npos) << striped;
  EXPECT_NE(striped.find("\nrates: platform test (" + dear), std::string::npos) << striped;
  options.alignment_bytes = 1 << 16;
  const std::string given = explained("given");
  EXPECT_NE(given.find("at multiples of 64 KiB"), std::string::npos) << given;
  if (rank_of_world() == 0) {
    EXPECT_EQ(content_of<double>(path("striped")), content_of<double>(path("given")));
  }
}

TEST_F(Platform, IsRefusedOnEveryRankAlike) {
  weir_session_options options = {};
  const std::string missing = path("missing.toml");
  options.platform = missing.c_str();
  expect_refused(options, "rank 0: options.platform: open failed: No such file");
  const std::string wrong = describe(with_calls_of("-1"));
  options.platform = wrong.c_str();
  expect_refused(options, "latencies_seconds.shared_write is -1: give 0 to");
  describe("\x01[[[[");
  expect_refused(options, "line 1 is not TOML");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  if (rank_of_world() == 0) ::setenv(variable, missing.c_str(), 1);
  options.platform = nullptr;
  expect_refused(options, "WEIR_PLATFORM: open failed");
}

}  // namespace
}  // namespace weir::test
