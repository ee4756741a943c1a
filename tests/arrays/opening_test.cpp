// How many times a file is opened: once for each node whose ranks move bytes of it, and passed to
// those of them that do. Ranks that have the same open file are known by its offset, which
// transfers neither use nor change.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "parallel.hpp"

namespace {

// Calls of fdatasync on this rank.
int synced = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): counted below

}  // namespace

// Stands before libc's (and before what is preloaded, which it calls).
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's is reserved
extern "C" int fdatasync(int descriptor) {
  static const auto real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fdatasync"));
  ++synced;
  return real(descriptor);
}

namespace weir::test {
namespace {

// This process's descriptors for which `is_one` holds.
template <typename IsOne>
std::vector<int> descriptors(const IsOne& is_one) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && is_one(descriptor, target.string())) found.push_back(descriptor);
  }
  return found;
}

std::vector<int> descriptors_of(const std::string& path) {
  const std::string real = std::filesystem::canonical(path);
  return descriptors([&](int, const std::string& target) { return target == real; });
}

std::vector<std::int64_t> all_of(std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size_of_world()));
  MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  return all;
}

struct OpenFiles {
  std::int64_t ranks = 0;      // that have the file open
  std::int64_t each = 0;       // descriptors of these
  std::int64_t different = 0;  // open files
};

// Collective.
OpenFiles opened(const std::string& path) {
  const std::vector<int> mine = descriptors_of(path);
  // In turn, so that of ranks that share an offset the last one's stays.
  for (int rank = 0; rank < size_of_world(); ++rank) {
    meet();
    if (rank != rank_of_world()) continue;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      ::lseek(mine[i], 10 * (rank + 1) + static_cast<int>(i), SEEK_SET);
    }
  }
  meet();
  OpenFiles found;
  std::set<std::int64_t> offsets;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::int64_t offset : all_of(i < mine.size() ? ::lseek(mine[i], 0, SEEK_CUR) : -1)) {
      if (offset >= 0) offsets.insert(offset);
    }
  }
  for (const std::int64_t count : all_of(static_cast<std::int64_t>(mine.size()))) {
    if (count > 0) ++found.ranks;
    found.each = std::max(found.each, count);
  }
  found.different = static_cast<std::int64_t>(offsets.size());
  return found;
}

class Opening : public OnRanks {
 protected:
  // Every rank has rows, and every aggregator pages.
  Opening() : shape_{64 * size_of_world(), 64} {}

  [[nodiscard]] static weir_session_options by(const char* strategy, int ranks_per_node,
                                               const char* engine = "posix") {
    weir_session_options options{};
    options.strategy = strategy;
    options.engine = engine;
    options.ranks_per_node = ranks_per_node;
    options.aggregators = 2;
    options.buffer_bytes = 8192;
    options.deadline_seconds = 60;
    return options;
  }
  // The one that is laid out and has not got its name yet.
  static std::string unpublished(const std::string& path) { return path + ".incomplete"; }

  Extents shape_;
};

TEST_F(Opening, OnceOnEachNodeThatMovesBytes) {
  const int size = size_of_world();
  for (const int ranks_per_node : {0, 2}) {
    const int nodes = ranks_per_node == 0 ? 1 : size / 2;
    for (const char* const strategy : {"direct", "two-phase"}) {
      const bool direct = strategy[0] == 'd';
      SCOPED_TRACE(std::string(strategy) + " on nodes of " + std::to_string(ranks_per_node));
      const std::string name = path("file");
      const std::int64_t movers = direct ? size : 2 * nodes;
      Session session(MPI_COMM_WORLD, by(strategy, ranks_per_node));
      weir_file_options options{};
      options.format = "cdf5";
      options.durability = "step";
      File file = session.create_file(name, options);
      Array array = file.define<double>("a", shape_);
      file.begin_step();
      EXPECT_EQ(opened(unpublished(name)).ranks, 0);
      const auto rows = session.distribution(shape_, "BLOCK, *");
      const auto numbers = numbered_part<double>(rows, shape_);
      // The second time nothing more is opened.
      for (int time = 0; time < 2; ++time) {
        array.write(rows, numbers);
        const OpenFiles found = opened(unpublished(name));
        EXPECT_EQ(found.ranks, movers);
        EXPECT_EQ(found.each, 1);
        EXPECT_EQ(found.different, nodes);
      }
      synced = 0;
      file.end_step();
      std::int64_t syncs = 0;
      for (const std::int64_t count : all_of(synced)) syncs += count;
      EXPECT_GE(syncs, nodes);
      EXPECT_LE(syncs, nodes + 4) << "besides the nodes' own, the commit's";
      file.close();

      File again = session.open_file(name);
      EXPECT_EQ(opened(name).ranks, 0);
      std::vector<double> part(rows.elements());
      again.array("a").read(rows, part);
      EXPECT_EQ(part, numbers);
      const OpenFiles found = opened(name);
      EXPECT_EQ(found.ranks, movers);
      EXPECT_EQ(found.different, nodes);
      again.close();
      EXPECT_EQ(opened(name).ranks, 0);
    }
  }
}

// Past the page cache a file is open twice: for whole pages, and for what is at their edges.
TEST_F(Opening, IsPassedWhateverTheEngine) {
  const std::string name = path("file");
  for (const char* const engine : {"posix", "io_uring", "direct-io", "mpi-io"}) {
    SCOPED_TRACE(engine);
    const weir_session_options options = by("direct", 0, engine);
    weir_session* probe = nullptr;
    if (weir_session_open(MPI_COMM_WORLD, &options, &probe) == WEIR_E_UNSUPPORTED) continue;
    weir_session_close(&probe);
    Session session(MPI_COMM_WORLD, options);
    weir_file_options raw{};
    raw.format = "cdf5";
    File file = session.create_file(name, raw);
    Array array = file.define<double>("a", shape_);
    file.begin_step();
    const auto rows = session.distribution(shape_, "BLOCK, *");
    array.write(rows, numbered_part<double>(rows, shape_));
    const OpenFiles found = opened(unpublished(name));
    EXPECT_EQ(found.ranks, size_of_world());
    if (std::string(engine) == "mpi-io") {
      EXPECT_GE(found.different, size_of_world());
    } else {
      EXPECT_EQ(found.different, found.each);
    }
    file.end_step();
    file.close();
    File again = session.open_file(name);
    std::vector<double> part(rows.elements());
    again.array("a").read(rows, part);
    EXPECT_EQ(part, numbered_part<double>(rows, shape_));
    again.close();
  }
}

TEST_F(Opening, WhoCannotTakeADescriptorOpensByItself) {
  const auto is_socket = [](int descriptor, const std::string&) {
    int domain = 0;
    int type = 0;
    socklen_t bytes = sizeof domain;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) return false;
    bytes = sizeof type;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && domain == AF_UNIX &&
           type == SOCK_DGRAM;
  };
  const auto before = descriptors(is_socket);
  Session session(MPI_COMM_WORLD, by("direct", 0));
  if (rank_of_world() == 1) {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int socket : descriptors(is_socket)) {
      if (std::find(before.begin(), before.end(), socket) != before.end()) continue;
      ASSERT_EQ(::dup2(nothing, socket), socket);
    }
    ::close(nothing);
  }
  const std::string name = path("file");
  weir_file_options options{};
  options.format = "cdf5";
  File file = session.create_file(name, options);
  Array array = file.define<double>("a", shape_);
  file.begin_step();
  const auto rows = session.distribution(shape_, "BLOCK, *");
  array.write(rows, numbered_part<double>(rows, shape_));
  const OpenFiles found = opened(unpublished(name));
  EXPECT_EQ(found.ranks, size_of_world());
  EXPECT_EQ(found.different, 2);
  file.end_step();
  file.close();
  File again = session.open_file(name);
  std::vector<double> part(rows.elements());
  again.array("a").read(rows, part);
  EXPECT_EQ(part, numbered_part<double>(rows, shape_));
  again.close();
}

TEST_F(Opening, OfAMissingFileIsOneErrorOnAllRanks) {
  const std::string name = path("array");
  Session session(MPI_COMM_WORLD, by("direct", 2));
  const auto text_of = [&](const auto& act) -> std::string {
    try {
      act();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  const auto expect_one = [&](const std::string& text) {
    EXPECT_NE(text.find("No such file"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    const auto digest = static_cast<std::int64_t>(std::hash<std::string>()(text));
    for (const std::int64_t other : all_of(digest)) EXPECT_EQ(other, digest) << text;
  };
  expect_one(text_of([&] { (void)session.open_file(name); }));

  Array array = session.create<double>(name, shape_);
  // The file goes between its being opened and the first transfer.
  if (rank_of_world() == 0) std::filesystem::remove(name);
  meet();
  const auto rows = session.distribution(shape_, "BLOCK, *");
  expect_one(text_of([&] { array.write(rows, numbered_part<double>(rows, shape_)); }));
  array.close();
}

}  // namespace
}  // namespace weir::test
