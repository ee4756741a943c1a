// Adds steps to a file through the library until it is killed: what killed_steps.py starts, kills
// and reads back. Or adds so many durable ones: what test_lost_writes.py records.
//
//     killed_writer PATH FORMAT LOG [STEPS]
//
// FORMAT is hdf5, zarr and so on, or hdf5-encoded, zarr-encoded: with compressed chunks; "array":
// an array by itself, which is written and synced STEPS times. The log gets a line for each rank's
// process, "rank RANK PID", and one for each step that a rank was told to have ended, "ended
// STEPS". A file that is there is opened to add steps.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>
#include <weir/weir.hpp>

namespace {

using weir::Extents;

constexpr std::int64_t endless = INT64_MAX;

// Element after element its number in the array, from 1, and the step.
template <typename Element>
std::vector<Element> part_of(const weir::Distribution& distributed, const Extents& shape,
                             std::int64_t step) {
  std::vector<Element> part;
  for (std::int64_t piece = 0; piece < distributed.pieces(); ++piece) {
    const Extents extents = distributed.shape(piece);
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents) elements *= extent;
    for (std::int64_t k = 0; k < elements; ++k) {
      Extents local(extents.size());
      std::int64_t rest = k;
      for (std::size_t d = extents.size(); d-- > 0;) {
        local[d] = rest % extents[d];
        rest /= extents[d];
      }
      std::int64_t number = 0;
      const Extents global = distributed.global_index(local, piece);
      for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + global[d];
      part.push_back(static_cast<Element>(number + 1 + 1000 * step));
    }
  }
  return part;
}

void append_line(const std::string& log, std::string line) {
  line += '\n';
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ::write(file, line.data(), line.size()) < 0) std::abort();
  ::close(file);
}

// `most`: how many steps, none of which is durable where there is no end of them.
void add_steps(const std::string& path, const std::string& kind, const std::string& log,
               std::int64_t most) {
  const std::string format = kind.substr(0, kind.find('-'));
  const bool encoded = format != kind;
  const Extents plane = {24, 30};
  const Extents small = {7, 5};
  const Extents line = {16};
  weir::Session session(MPI_COMM_WORLD);
  const auto planes = session.distribution(plane, "BLOCK, BLOCK");
  const auto smalls = session.distribution(small, "CYCLIC(2), *");
  const auto lines = session.distribution(line, "BLOCK");
  weir_file_options as{};
  as.format = format.c_str();
  // Without an end a crash of the program alone is what happens.
  as.durability = most == endless ? "none" : "step";
  const Extents plane_chunks = {12, 10};
  const Extents plane_shards = {24, 20};
  const Extents small_chunks = {4, 5};
  weir_define_options planar{};
  planar.steps = 1;
  weir_define_options stepped = planar;
  if (encoded) {
    planar.codec = stepped.codec =
        format == "hdf5" ? "shuffle,deflate:1,fletcher32" : "gzip:1,crc32c";
    planar.chunks = plane_chunks.data();
    stepped.chunks = small_chunks.data();
    if (format == "zarr") planar.shards = plane_shards.data();
  }
  const bool there = std::filesystem::exists(path);
  weir_file_open_options adding{};
  adding.durability = as.durability;
  MPI_Barrier(MPI_COMM_WORLD);
  auto file = there ? session.open_file(path, adding) : session.create_file(path, as);
  auto density = there ? file.array("density") : file.define<double>("density", plane, planar);
  auto count = there ? file.array("count") : file.define<std::int32_t>("count", small, stepped);
  auto mesh = there ? file.array("mesh") : file.define<double>("mesh", line);
  const std::int64_t first = there ? file.steps() : 0;
  for (std::int64_t step = first; step - first < most; ++step) {
    file.begin_step();
    if (step == 0) mesh.write(lines, part_of<double>(lines, line, 0));
    density.write(planes, part_of<double>(planes, plane, step));
    count.write(smalls, part_of<std::int32_t>(smalls, small, step));
    file.end_step();
    append_line(log, "ended " + std::to_string(step + 1));
  }
}

// Writes an array by itself so many times, each with numbers of its own, and syncs it each time.
void sync_array(const std::string& path, const std::string& log, std::int64_t times) {
  const Extents shape = {24, 30};
  weir::Session session(MPI_COMM_WORLD);
  const auto planes = session.distribution(shape, "BLOCK, BLOCK");
  auto array = session.create<double>(path, shape);
  for (std::int64_t number = 0; number < times; ++number) {
    array.write(planes, part_of<double>(planes, shape, number));
    array.sync();
    append_line(log, "ended " + std::to_string(number + 1));
  }
  array.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  append_line(argv[3], "rank " + std::to_string(rank) + " " + std::to_string(::getpid()));
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    const std::int64_t most = argc == 5 ? std::stoll(argv[4]) : endless;
    if (std::string(argv[2]) == "array") {
      sync_array(argv[1], argv[3], most);
    } else {
      add_steps(argv[1], argv[2], argv[3], most);
    }
  } catch (const weir::Failure& error) {
    append_line(argv[3], std::string("error ") + error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
