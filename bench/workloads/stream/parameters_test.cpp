#include "workloads/stream/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/stream/ior_options.hpp"

namespace weir::bench::stream {
namespace {

using testing::HasSubstr;

constexpr std::int64_t ranks = 4;

// Says what comes of a command line: the variants' slugs, or why it is refused.
struct Answer {
  std::vector<std::string> slugs;
  std::string refusal;
  Options options;
};

Answer ask(const std::vector<std::string>& arguments) {
  const auto all = declarations();
  const auto words = translate_ior(all, arguments);
  if (!words) return {{}, words.error().message, {}};
  const auto resolved =
      resolve_settings("test", "", all, words.value(), [](const auto&) { return std::nullopt; });
  if (!resolved) return {{}, resolved.error().message, {}};
  const Settings& settings = resolved.value().settings;
  const auto core = core_settings_of(settings);
  if (!core) return {{}, core.error().message, {}};
  const auto options = options_of(settings, ranks);
  if (!options) return {{}, options.error().message, {}};
  const auto variants = variants_of(settings);
  if (!variants) return {{}, variants.error().message, {}};
  Status fits = check_combination(options.value(), core.value(), variants.value(), ranks);
  if (!fits) return {{}, fits.error().message, {}};
  Answer answer{{}, "", options.value()};
  for (const Variant& variant : variants.value()) answer.slugs.push_back(variant.slug);
  return answer;
}

TEST(StreamParameters, DefaultsAreIors) {
  const Answer answer = ask({});
  EXPECT_EQ(answer.slugs, std::vector<std::string>{"posix-shared-segmented-256k"});
  EXPECT_TRUE(answer.options.write);
  EXPECT_TRUE(answer.options.read);
}

TEST(StreamParameters, OneDirectionIsNotTheOther) {
  EXPECT_FALSE(ask({"-w"}).options.read);
  EXPECT_FALSE(ask({"-r", "-o", "x", "-G", "1"}).options.write);
  EXPECT_FALSE(ask({"-wW"}).options.read);
}

TEST(StreamParameters, ListsMultiply) {
  EXPECT_EQ(ask({"-a", "POSIX,MPIIO", "-t", "4k,64k", "-b", "64k"}).slugs,
            (std::vector<std::string>{"posix-shared-segmented-4k", "posix-shared-segmented-64k",
                                      "mpiio-shared-segmented-4k", "mpiio-shared-segmented-64k"}));
  // The depth of a queue multiplies only where there is a queue.
  EXPECT_EQ(ask({"-a", "POSIX,IO_URING", "--queue-depth", "1,8", "-F"}).slugs,
            (std::vector<std::string>{"posix-per-rank-segmented-256k",
                                      "io-uring-per-rank-segmented-256k-depth-1",
                                      "io-uring-per-rank-segmented-256k-depth-8"}));
  EXPECT_THAT(ask({"-t", "4k,4k"}).refusal, HasSubstr("twice"));
}

TEST(StreamParameters, RefusesWhatContradictsItself) {
  const struct {
    std::vector<std::string> arguments;
    const char* said;
  } cases[] = {
      {{"-t", "12"}, "multiple of 8"},
      {{"-t", "1m", "-b", "1000"}, "multiple of the transfer size"},
      {{"-c"}, "POSIX has no collective calls"},
      {{"-B", "-a", "MPIIO"}, "no portable O_DIRECT"},
      {{"-B", "-t", "1000", "-b", "1000"}, "multiple of 4096"},
      {{"-Y", "-a", "IO_URING"}, "use POSIX"},
      {{"-V"}, "applies only to MPIIO"},
      {{"-V", "-z", "-a", "MPIIO"}, "segmented and interleaved"},
      {{"-n"}, "apply only to HDF5"},
      {{"-U", "file"}, "-U (--hints)"},
      {{"-D", "1", "-c", "-a", "MPIIO"}, "the same number of transfers on all ranks"},
      {{"-k"}, "needs -o"},
      {{"-r"}, "name them with -o"},
      {{"-r", "-o", "x"}, "give the seed (-G)"},
      {{"-W"}, "-W (--check-write) without -w"},
      {{"-wk", "-o", "x", "-t", "4k,8k", "-b", "8k"}, "one configuration"},
      {{"-wW", "--no-verify"}, "are both given"},
      {{"-o", "a@b"}, "need a file per rank"},
      {{"-F", "-o", "a@b@c@d@e"}, "5 targets for 4 ranks"},
      {{"-F", "-o", "a@@b"}, "is empty"},
      {{"-u"}, "needs a file per rank"},
      {{"--wear-out"}, "needs a stonewall"},
      {{"-D", "1", "--stonewall-file", "f"}, "one count for all ranks"},
      {{"-C", "--rank-shift", "1"}, "give one"},
      {{"-Q", "1"}, "no effect without -C"},
      {{"-N", "3"}, "-N (--tasks) 3 on 4 ranks"},
      {{"-a", "IO_URING", "--queue-depth", "0"}, "between 1 and 4096"},
      {{"-a", "RADOS"}, "is not a list of POSIX"},
  };
  for (const auto& [arguments, said] : cases) {
    EXPECT_THAT(ask(arguments).refusal, HasSubstr(said)) << arguments.front();
  }
}

TEST(StreamParameters, SizesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(short_size(1000), "1000");
  EXPECT_EQ(short_size(4096), "4k");
  EXPECT_EQ(short_size(3 << 20), "3m");
  EXPECT_EQ(short_size(0), "0");
}

}  // namespace
}  // namespace weir::bench::stream
