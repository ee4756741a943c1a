// Checksums beside files: what was damaged is named when it is read, on every rank; what is not
// known is no error.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr std::array<const char*, 4> strategies = {"direct", "node", "two-phase",
                                                   "server-directed"};

class Sums : public OnRanks {
 protected:
  // A block and a part of one.
  const Extents plane = {300, 500};

  [[nodiscard]] static weir_session_options by(const char* strategy) {
    weir_session_options options{};
    options.strategy = strategy;
    options.buffer_bytes = 50000;  // several pieces of a block
    options.ranks_per_node = 2;
    return options;
  }
  [[nodiscard]] static std::vector<double> part_of_step(const Distribution& distributed,
                                                        const Extents& shape, int step) {
    auto part = numbered_part<double>(distributed, shape);
    for (double& one : part) one += 1000000.0 * step;
    return part;
  }
  // "fixed" without steps and "grown" with two, in a file of this format.
  void write(Session& session, const std::string& name, const std::string& format,
             const char* checksum = "crc32c", bool chunked = false) const {
    weir_file_options options{};
    options.format = format.c_str();
    options.checksum = checksum;
    File file = session.create_file(name, options);
    static const std::array<std::int64_t, 2> chunks = {100, 300};
    weir_define_options once{};
    weir_define_options stepped{};
    stepped.steps = 1;
    if (chunked) once.chunks = stepped.chunks = chunks.data();
    Array fixed = file.define<double>("fixed", plane, once);
    Array grown = file.define<double>("grown", plane, stepped);
    const auto rows = session.distribution(plane, "BLOCK, *");
    const auto blocks = session.distribution(plane, "BLOCK, CYCLIC(70)");
    for (int step = 0; step < 2; ++step) {
      file.begin_step();
      if (step == 0) fixed.write(rows, part_of_step(rows, plane, 7));
      grown.write(blocks, part_of_step(blocks, plane, step));
      file.end_step();
    }
    file.close();
  }
  // The message of the failure to read everything, "" when all is as it was written.
  std::string read(Session& session, const std::string& name) const {
    try {
      weir_file_open_options reading{};
      reading.read_only = 1;
      File file = session.open_file(name, reading);
      const auto slabs = session.distribution(plane, "*, BLOCK");
      std::vector<double> part(slabs.elements());
      file.array("fixed").read(slabs, part);
      EXPECT_EQ(part, part_of_step(slabs, plane, 7));
      for (const int step : {1, 0}) {
        file.select_step(step);
        file.array("grown").read(slabs, part);
        EXPECT_EQ(part, part_of_step(slabs, plane, step));
      }
      file.close();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }
  // Changes a byte of the number `value`, wherever it is in one of the files; on rank 0.
  static void damage(const std::string& name, double value) {
    meet();
    if (rank_of_world() == 0) {
      EXPECT_TRUE(damage_alone(name, value)) << value;
    }
    meet();
  }
  static void undo_damage() {
    meet();
    if (rank_of_world() == 0) flip(damaged().first, damaged().second);
    meet();
  }
  static void flip(const std::string& path, std::int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 4));
  }

 private:
  static std::pair<std::string, std::int64_t>& damaged() {
    static std::pair<std::string, std::int64_t> place;
    return place;
  }
  static bool damage_alone(const std::string& name, double value) {
    std::vector<std::filesystem::path> paths = {name};
    if (std::filesystem::is_directory(name)) {
      paths.assign(std::filesystem::recursive_directory_iterator(name), {});
    }
    std::array<char, sizeof(double)> little{};
    std::memcpy(little.data(), &value, sizeof(double));
    std::array<char, sizeof(double)> big = little;
    std::reverse(big.begin(), big.end());
    for (const auto& path : paths) {
      if (!std::filesystem::is_regular_file(path)) continue;
      const auto numbers = content_of<char>(path);
      for (const auto& wanted : {little, big}) {
        const auto found =
            std::search(numbers.begin(), numbers.end(), wanted.begin(), wanted.end());
        if (found == numbers.end()) continue;
        damaged() = {path, found - numbers.begin() + 3};
        flip(damaged().first, damaged().second);
        return true;
      }
    }
    return false;
  }
};

TEST_F(Sums, NameADamagedByteOnEveryRank) {
  int number = 0;
  for (const std::string format : {"hdf5", "hdf5", "cdf5", "zarr"}) {
    const bool chunked = number % 2 == 1 && format != "cdf5";
    const char* const written_by = strategies.at(static_cast<std::size_t>(number % 4));
    const char* const read_by = strategies.at(static_cast<std::size_t>((number + 2) % 4));
    const std::string name = path("file" + std::to_string(number++) + "." + format);
    SCOPED_TRACE(name + " " + written_by + " " + read_by);
    {
      Session session(MPI_COMM_WORLD, by(written_by));
      write(session, name, format, "crc32c", chunked);
    }
    EXPECT_TRUE(std::filesystem::exists(name + ".sums"));
    Session session(MPI_COMM_WORLD, by(read_by));
    EXPECT_EQ(read(session, name), "");
    // In the first block, the middle one, the last one; of each array and step.
    for (const auto& [value, what] :
         {std::pair{7000001.0, "\"fixed\""}, std::pair{1075000.0, "\"grown\", step 1"},
          std::pair{150000.0, "\"grown\", step 0"}}) {
      damage(name, value);
      const std::string message = read(session, name);
      EXPECT_NE(message.find(std::string("array ") + what), std::string::npos) << message;
      EXPECT_NE(message.find("checksum"), std::string::npos) << message;
      EXPECT_NE(message.find("offset"), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      undo_damage();
    }
    EXPECT_EQ(read(session, name), "");
  }
}

// By rank 0; the others wait.
template <typename Do>
void alone(const Do& act) {
  meet();
  if (rank_of_world() == 0) act();
  meet();
}

TEST_F(Sums, ThatAreMissingOrDamagedAreNotKnown) {
  const std::string name = path("file.nc");
  const std::string sums = name + ".sums";
  Session session(MPI_COMM_WORLD);
  write(session, name, "cdf5");
  const auto good = content_of<char>(sums);
  ASSERT_GT(good.size(), 64U);
  const auto replace = [&](const std::vector<char>& bytes) {
    alone([&] {
      std::ofstream file(sums, std::ios::binary | std::ios::trunc);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    });
  };
  for (std::size_t at = 0; at < good.size(); at += 41) {
    auto bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    replace(bytes);
    EXPECT_EQ(read(session, name), "") << at;
    bytes.resize(at);
    replace(bytes);
    EXPECT_EQ(read(session, name), "") << at;
  }
  // What precedes the damage is known.
  auto bytes = good;
  bytes.back() = static_cast<char>(bytes.back() ^ 16);
  replace(bytes);
  damage(name, 150000.0);
  EXPECT_NE(read(session, name).find("step 0"), std::string::npos);
  undo_damage();
  alone([&] { std::filesystem::remove(sums); });
  EXPECT_EQ(read(session, name), "");
}

TEST_F(Sums, OfAStepThatWasNotCommittedSayNothing) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(plane, "BLOCK, *");
  for (const std::string format : {"hdf5", "cdf5"}) {
    SCOPED_TRACE(format);
    const std::string name = path("file." + format);
    weir_file_options options{};
    options.format = format.c_str();
    options.checksum = "crc32c";
    File file = session.create_file(name, options);
    weir_define_options stepped{};
    stepped.steps = 1;
    Array grown = file.define<double>("grown", plane, stepped);
    const auto add = [&](File& to, int step, int value) {
      to.begin_step();
      to.array("grown").write(rows, part_of_step(rows, plane, value));
      to.end_step();
      EXPECT_EQ(to.steps(), step + 1);
    };
    add(file, 0, 0);
    alone([&] {
      std::filesystem::copy(name, name + ".early", std::filesystem::copy_options::recursive);
    });
    add(file, 1, 1);
    file.close();
    // As a run leaves it that was killed before it could commit.
    alone([&] {
      std::filesystem::remove_all(name);
      std::filesystem::rename(name + ".early", name);
    });
    File again = session.open_file(name);
    EXPECT_EQ(again.steps(), 1);
    std::vector<double> part(rows.elements());
    again.array("grown").read(rows, part);
    EXPECT_EQ(part, part_of_step(rows, plane, 0));
    add(again, 1, 5);
    again.close();
    for (const bool damaged : {false, true}) {
      if (damaged) damage(name, 5000001.0);
      File last = session.open_file(name);
      last.select_step(0);
      last.array("grown").read(rows, part);
      last.select_step(1);
      if (damaged) {
        EXPECT_THROW(last.array("grown").read(rows, part), Failure);
      } else {
        last.array("grown").read(rows, part);
        EXPECT_EQ(part, part_of_step(rows, plane, 5));
      }
      last.close();
    }
  }
}

TEST_F(Sums, GoWithTheFileThatTheyAreOf) {
  const std::string name = path("file.nc");
  Session session(MPI_COMM_WORLD);
  write(session, name, "cdf5");
  write(session, name, "cdf5", nullptr);
  EXPECT_FALSE(std::filesystem::exists(name + ".sums"));
  EXPECT_EQ(read(session, name), "");
  write(session, name, "cdf5", "crc32c");
  const auto rows = session.distribution(plane, "BLOCK, *");
  // Written in place, it is not known; what has steps is.
  weir_file_open_options reading{};
  reading.read_only = 1;
  File early = session.open_file(name, reading);
  weir_file_open_options rewriting{};
  rewriting.rewrite = 1;
  File file = session.open_file(name, rewriting);
  file.array("fixed").write(rows, part_of_step(rows, plane, 3));
  std::vector<double> part(rows.elements());
  file.array("fixed").read(rows, part);
  EXPECT_EQ(part, part_of_step(rows, plane, 3));
  // A process that opened the file before knows the sums of what was there.
  early.array("fixed").read(rows, part);
  EXPECT_EQ(part, part_of_step(rows, plane, 3));
  early.close();
  file.array("fixed").write(rows, part_of_step(rows, plane, 7));
  file.close();
  EXPECT_EQ(read(session, name), "");
  damage(name, 1000001.0);
  EXPECT_NE(read(session, name).find("checksum"), std::string::npos);
}

// Sums whose parts do not fit together are of what is in the file.
TEST_F(Sums, OfWhatIsWrittenSeveralTimesAreOfTheLast) {
  for (const char* const strategy : strategies) {
    const std::string name = path(std::string(strategy) + ".h5");
    SCOPED_TRACE(strategy);
    Session session(MPI_COMM_WORLD, by(strategy));
    const auto rows = session.distribution(plane, "BLOCK, *");
    const auto distributed = session.distribution(plane, "CYCLIC(3), BLOCK");
    weir_file_options options{};
    options.checksum = "crc32c";
    File file = session.create_file(name, options);
    Array fixed = file.define<double>("fixed", plane);
    file.begin_step();
    const auto wrong = part_of_step(distributed, plane, 1);
    fixed.write(distributed, wrong);
    const auto right = part_of_step(rows, plane, 7);
    for (const std::int64_t first : {0, 1}) {
      const Section lines{{0, first}, {300, 250}, {1, 2}};
      session.write_many({Outgoing(fixed, rows, right, {}, lines)});
    }
    file.end_step();
    file.close();
    for (const bool damaged : {false, true}) {
      if (damaged) damage(name, 7075000.0);
      File again = session.open_file(name);
      std::vector<double> part(rows.elements());
      if (damaged) {
        EXPECT_THROW(again.array("fixed").read(rows, part), Failure);
      } else {
        again.array("fixed").read(rows, part);
        EXPECT_EQ(part, right);
      }
      again.close();
    }
  }
}

// Blocks that were read again before the commit leave nothing open under the name until then.
TEST_F(Sums, OfAFileLeaveTheNextOneOfThatPathAlone) {
  const std::string name = path("file.h5");
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(plane, "BLOCK, *");
  const auto distributed = session.distribution(plane, "CYCLIC(3), BLOCK");
  const auto content = [&] {
    Session other(MPI_COMM_WORLD);  // has nothing open
    File file = other.open_file(name);
    const auto same = other.distribution(plane, "BLOCK, *");
    std::vector<double> part(same.elements());
    file.array("fixed").read(same, part);
    file.close();
    return part;
  };
  weir_file_options options{};
  options.checksum = "crc32c";
  for (const int value : {1, 2}) {
    File file = session.create_file(name, options);
    Array fixed = file.define<double>("fixed", plane);
    file.begin_step();
    fixed.write(distributed, part_of_step(distributed, plane, 9));
    const auto right = part_of_step(rows, plane, value);
    for (const std::int64_t first : {0, 1}) {
      const Section lines{{0, first}, {300, 250}, {1, 2}};
      session.write_many({Outgoing(fixed, rows, right, {}, lines)});
    }
    if (value == 2) {
      EXPECT_EQ(content(), part_of_step(rows, plane, 1));
    }
    file.end_step();
    file.close();
    EXPECT_EQ(content(), right);
  }
}

}  // namespace
}  // namespace weir::test
