// Collective writing and reading: every strategy, distributions and memory layouts of all kinds,
// sections, tiny buffers. Each element of the files is compared with what it must be, so all
// strategies give the same bytes; each element read back, too, and memory around it is untouched.
//
//   collective_mpi_test DIRECTORY                     all of it
//   collective_mpi_test DIRECTORY --expect-failure STRATEGY
//                                                     a fault is injected: every rank must return
//                                                     the same error, and the next call must work
//   collective_mpi_test DIRECTORY --missing-rank      rank 1 does not come to share memory: all
//                                                     others must say so at their deadline
//   collective_mpi_test DIRECTORY --bound             all of it, by ranks that must be bound to a
//                                                     core each
#include "aggregation/collective.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/array_file.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/node_group.hpp"
#include "aggregation/step_file.hpp"
#include "array/linear_range.hpp"
#include "array/test_random.hpp"
#include "codecs/codec.hpp"
#include "engines/test_faulty_engine.hpp"
#include "rank_checks.hpp"

namespace {

namespace array = weir::array;
using weir::aggregation::ArrayPart;
using weir::aggregation::Collective;
using weir::aggregation::CollectiveSettings;
using weir::aggregation::MemoryPiece;
using weir::plan::SharedDistribution;
using weir::plan::Strategy;
using weir::storage::RawArray;

using namespace weir::test;  // NOLINT(google-build-using-namespace)
constexpr std::int64_t element_bytes = 8;
constexpr std::int64_t untouched = -77;

std::int64_t value_of(const array::Shape& shape, const array::Indices& index, std::int64_t step) {
  return 1000000 * step + 1 + array::linear_number(shape, array::Order::row_major, index);
}

// A rank's part in memory of a random layout: packed in either order, with ghost cells, strided.
struct Memory {
  std::vector<std::vector<std::int64_t>> data;
  std::deque<array::Layout> layouts;
  std::vector<MemoryPiece> pieces;

  Memory(array::Random& random, const array::Distribution& distribution) {
    const std::int64_t kind = random.between(0, 2);
    const array::Order order = random.order();
    if (rank >= distribution.ranks()) return;
    for (std::int64_t number = 0; number < distribution.pieces(rank); ++number) {
      const array::Indices extents = distribution.piece(rank, number).local_extents();
      auto layout = array::Layout::packed(extents, element_bytes, order).value();
      if (kind == 1) {
        const array::GhostCells ghosts{array::Indices(extents.size(), 1),
                                       array::Indices(extents.size(), 2)};
        layout = array::Layout::with_ghosts(extents, element_bytes, order, ghosts).value();
      } else if (kind == 2) {  // every other element
        std::vector<std::int64_t> strides;
        strides.reserve(static_cast<std::size_t>(extents.size()));
        for (int d = 0; d < extents.size(); ++d) strides.push_back(2 * layout.stride(d));
        layout = array::Layout::strided(extents, element_bytes, strides, element_bytes).value();
      }
      std::int64_t elements = layout.bounds().upper / element_bytes;
      if (kind == 1) {
        elements = 1;
        for (const std::int64_t extent : extents) elements *= extent + 3;
      }
      data.emplace_back(static_cast<std::size_t>(elements), untouched);
      layouts.push_back(layout);
      pieces.push_back({&layouts.back(), reinterpret_cast<std::byte*>(data.back().data())});
    }
  }

  // Calls visit(global index, value) for each element of the rank's part.
  void visit(const array::Distribution& distribution,
             const std::function<void(const array::Indices&, std::int64_t&)>& visit) {
    for (std::size_t number = 0; number < pieces.size(); ++number) {
      const array::Region part = distribution.piece(rank, static_cast<std::int64_t>(number));
      const auto extents = array::Shape::create(part.local_extents()).value();
      for (const array::Indices& local : array::all_elements(extents)) {
        const std::int64_t at = pieces[number].layout->offset_of(local) / element_bytes;
        visit(part.global_index(local), data[number][static_cast<std::size_t>(at)]);
      }
    }
  }
  [[nodiscard]] std::int64_t touched() const {
    std::int64_t count = 0;
    for (const auto& one : data) {
      for (const std::int64_t value : one) count += value == untouched ? 0 : 1;
    }
    return count;
  }
};

array::Distribution random_distribution(array::Random& random, const array::Shape& shape) {
  if (random.chance(25)) {
    // Some of the array's slabs along dimension 0, distributed to any ranks: holes, several boxes,
    // none.
    array::BoxList boxes(shape.dimensions());
    std::vector<std::vector<array::Box>> held(static_cast<std::size_t>(ranks));
    for (std::int64_t at = 0; at < shape.extent(0);) {
      const std::int64_t thick = random.between(1, shape.extent(0) - at);
      array::Box box = shape.box();
      box.lower[0] = at;
      box.extent[0] = thick;
      const auto owner = static_cast<std::size_t>(random.between(0, ranks - 1));
      if (random.chance(80)) held[owner].push_back(box);
      at += thick;
    }
    std::vector<std::int64_t> counts;
    for (const auto& of_rank : held) {
      counts.push_back(static_cast<std::int64_t>(of_rank.size()));
      for (const array::Box& box : of_rank) boxes.push_back(box);
    }
    return array::ExplicitDistribution::create(shape, counts, boxes).value();
  }
  for (int tries = 0; tries < 30; ++tries) {
    const auto regular = random.regular(shape);
    if (regular.ranks() <= ranks) return regular;
  }
  const std::vector<array::DistributionFormat> formats(static_cast<std::size_t>(shape.dimensions()),
                                                       array::DistributionFormat::cyclic_of(2));
  return array::RegularDistribution::create(
             shape, formats, {array::Indices(shape.dimensions(), 1), array::Order::row_major})
      .value();
}

RawArray random_array(array::Random& random, const array::Shape& shape) {
  RawArray array{shape, array::ElementKind::int64};
  array.order = random.order();
  array.offset = random.between(0, 100);
  if (random.chance(50)) {
    array::Indices chunk = shape.extents();
    for (std::int64_t& extent : chunk) extent = random.between(1, extent + 1);
    array.chunk_extents = chunk;
    if (random.chance(50)) {
      array.layout = weir::storage::FileLayout::per_aggregator;
      array.files = random.between(1, 3);
      // As create_array() settles it.
      array.turn =
          array::Declustering::for_grid(array.grid().value(), 1, array.files).turn_per_group();
    }
  }
  return array;
}

std::int64_t element_in_files(const RawArray& array, const std::vector<std::vector<char>>& files,
                              const array::Indices& index) {
  const auto grid = array.grid().value();
  const std::int64_t chunk = grid.chunk_of(index);
  const array::Box box = grid.box(chunk);
  std::int64_t slot = element_bytes;
  for (const std::int64_t extent : grid.chunk_extents()) slot *= extent;
  array::Indices inside = index;
  for (int d = 0; d < inside.size(); ++d) inside[d] -= box.lower[d];
  const auto extents = array::Shape::create(box.extent).value();
  const std::int64_t at = array.offset + chunk / array.files * slot +
                          element_bytes * array::linear_number(extents, array.order, inside);
  const std::vector<char>& file =
      files[static_cast<std::size_t>(array.declustering().holder(chunk))];
  std::int64_t value = -1;
  if (at + element_bytes <= static_cast<std::int64_t>(file.size())) {
    std::memcpy(&value, file.data() + at, element_bytes);
  }
  return value;
}

// One of the arrays of a round: on disk, and as it must be.
class Tested {
 public:
  Tested(array::Random& random, std::string path)
      : path_(std::move(path)), described_(random_array(random, shape_of(random))) {
    reference_.resize(static_cast<std::size_t>(shape().elements()));
  }

  [[nodiscard]] const array::Shape& shape() const { return described_.shape; }
  [[nodiscard]] const RawArray& described() const { return described_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t& at(const array::Indices& index) {
    const auto place = array::linear_number(shape(), array::Order::row_major, index);
    return reference_[static_cast<std::size_t>(place)];
  }

  std::unique_ptr<weir::aggregation::OpenArray> file;

 private:
  static array::Shape shape_of(array::Random& random) {
    array::Shape shape = random.shape();
    while (shape.elements() == 0) shape = random.shape();
    return shape;
  }

  std::string path_;
  RawArray described_;
  std::vector<std::int64_t> reference_;
};

// What this rank passes for one array.
struct Passed {
  SharedDistribution held;
  Memory memory;
  array::Section section;

  Passed(array::Random& random, const array::Shape& shape, bool whole)
      : held(random_distribution(random, shape)),
        memory(random, *held),
        section(whole ? array::Section::of(shape.box()) : random.section(shape)) {}
};

using weir::Direction;

weir::Status transfer(Collective& collective, Direction direction, std::vector<Tested>& arrays,
                      std::vector<std::unique_ptr<Passed>>& passed) {
  std::vector<ArrayPart> parts;
  parts.reserve(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    parts.push_back(
        {arrays[i].file.get(), &passed[i]->held, passed[i]->memory.pieces, &passed[i]->section});
  }
  return direction == Direction::write ? collective.write(parts) : collective.read(parts);
}

void write_step(Collective& collective, array::Random& random, std::vector<Tested>& arrays,
                std::int64_t step, const std::string& what) {
  std::vector<std::unique_ptr<Passed>> passed;
  for (Tested& one : arrays) {
    passed.push_back(std::make_unique<Passed>(random, one.shape(), step == 1));
    passed.back()->memory.visit(*passed.back()->held,
                                [&](const array::Indices& index, std::int64_t& value) {
                                  value = value_of(one.shape(), index, step);
                                });
  }
  const weir::Status written = transfer(collective, Direction::write, arrays, passed);
  expect(written.ok(), what + ": write: " + (written ? "" : written.error().text()));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const array::Distribution& held = *passed[i]->held;
    const array::Region section(passed[i]->section);
    for (std::int64_t owner = 0; owner < held.ranks(); ++owner) {
      for (std::int64_t number = 0; number < held.pieces(owner); ++number) {
        const array::Region region = held.piece(owner, number);
        if (region.empty()) continue;
        const auto extents = array::Shape::create(region.local_extents()).value();
        for (const array::Indices& local : array::all_elements(extents)) {
          const array::Indices index = region.global_index(local);
          if (section.contains(index)) {
            arrays[i].at(index) = value_of(arrays[i].shape(), index, step);
          }
        }
      }
    }
  }
}

void compare_files(Tested& tested, const std::string& what) {
  const RawArray& described = tested.described();
  std::vector<std::vector<char>> files;
  for (std::int64_t number = 0; number < described.files; ++number) {
    std::ifstream in(weir::storage::data_path(described, tested.path(), number), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  for (const array::Indices& index : array::all_elements(tested.shape())) {
    expect(element_in_files(described, files, index) == tested.at(index),
           what + ": an element of the files");
  }
}

void read_step(Collective& collective, array::Random& random, std::vector<Tested>& arrays,
               const std::string& what) {
  std::vector<std::unique_ptr<Passed>> passed;
  passed.reserve(arrays.size());
  for (const Tested& one : arrays) {
    passed.push_back(std::make_unique<Passed>(random, one.shape(), random.chance(50)));
  }
  const weir::Status read = transfer(collective, Direction::read, arrays, passed);
  expect(read.ok(), what + ": read: " + (read ? "" : read.error().text()));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::int64_t expected = 0;
    const array::Region section(passed[i]->section);
    passed[i]->memory.visit(
        *passed[i]->held, [&](const array::Indices& index, std::int64_t& value) {
          const bool asked = section.contains(index);
          expected += asked ? 1 : 0;
          expect(value == (asked ? arrays[i].at(index) : untouched), what + ": an element read");
        });
    expect(passed[i]->memory.touched() == expected, what + ": memory around the part");
  }
}

// Two writes (the second of sections) and a read, each of one to three arrays, compared with arrays
// in memory.
void round_trip(Collective& collective, const std::string& path, std::uint64_t seed) {
  const std::string what = fmt::format("round {} of {}", seed,
                                       weir::aggregation::name_of(collective.settings().strategy));
  array::Random random(seed);
  std::vector<Tested> arrays;
  for (std::int64_t count = random.between(1, 3); count > 0; --count) {
    arrays.emplace_back(random, fmt::format("{}-{}", path, count));
    auto created = collective.create_array(arrays.back().path(), arrays.back().described());
    expect(created.ok(), what + ": create: " + (created ? "" : created.error().text()));
    if (!created) return;
    arrays.back().file = std::move(created).value();
  }
  for (std::int64_t step = 1; step <= 2; ++step) {
    write_step(collective, random, arrays, step, what);
  }
  for (Tested& one : arrays) {
    expect(collective.sync(*one.file).ok(), what + ": sync");
    expect(collective.close(*one.file).ok(), what + ": close");
    if (rank == 0) compare_files(one, what);
    auto opened = collective.open_array(one.path(), false);
    expect(opened.ok(), what + ": open: " + (opened ? "" : opened.error().text()));
    if (!opened) return;
    one.file = std::move(opened).value();
  }
  read_step(collective, random, arrays, what);
  for (const Tested& one : arrays) {
    expect(collective.close(*one.file).ok(), what + ": close");
  }
}

// Sums over the ranks.
std::int64_t total(std::int64_t mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

// Every other column of an array is written: where nobody else can write between them in windows of
// the file, which are read before; otherwise one by one. The columns between stay as they were.
void windows(Collective& collective, const std::string& path) {
  constexpr std::int64_t columns = 128;
  const array::Shape shape = array::Shape::create({std::int64_t{2} * ranks, columns}).value();
  const std::vector<array::DistributionFormat> rows = {
      array::DistributionFormat::block_of(), array::DistributionFormat::whole_dimension()};
  const SharedDistribution held(
      array::RegularDistribution::create(shape, rows, {{ranks, 1}, array::Order::row_major})
          .value());
  auto file = collective.create_array(path, {shape, array::ElementKind::int64});
  expect(file.ok(), "windows: create");
  if (!file) return;
  std::vector<std::int64_t> data(2 * columns, 1);
  const array::Layout rows_of_two =
      array::Layout::packed({2, columns}, element_bytes, array::Order::row_major).value();
  const MemoryPiece piece{&rows_of_two, reinterpret_cast<std::byte*>(data.data())};
  const ArrayPart whole{file.value().get(), &held, {&piece, 1}};
  expect(collective.write({&whole, 1}).ok(), "windows: write all");
  const array::Section some{{0, 0}, {shape.extent(0), columns / 2}, {1, 2}};
  const std::int64_t runs = shape.extent(0) * columns / 2;
  const bool through_windows =
      collective.settings().strategy != Strategy::direct &&
      (collective.settings().strategy != Strategy::node_aggregation || collective.nodes() == 1);
  for (const bool twice : {false, true}) {
    data.assign(data.size(), twice ? 3 : 2);
    // An array that occurs twice in a request is written by several aggregators.
    array::Section first = some;
    array::Section second = some;
    if (twice) {
      first.count[0] = 1;
      second.start[0] = 1;
      --second.count[0];
    }
    std::vector<ArrayPart> parts = {whole, whole};
    parts[0].section = &first;
    parts[1].section = &second;
    const auto written = collective.write(std::span(parts).first(twice ? 2 : 1));
    expect(written.ok(), "windows: write columns");
    const std::int64_t fetched = total(collective.figures().bytes_fetched);
    const std::int64_t calls = total(collective.figures().storage_calls);
    if (through_windows && !twice) {
      expect(fetched > 0 && calls < runs / 8, fmt::format("windows: {} calls", calls));
    } else {
      expect(fetched == 0 && calls == runs, fmt::format("no windows: {} calls", calls));
    }
  }
  data.assign(data.size(), 0);
  expect(collective.read({&whole, 1}).ok(), "windows: read");
  for (std::size_t i = 0; i < data.size(); ++i) {
    expect(data[i] == (i % 2 == 0 ? 3 : 1), "windows: an element");
  }
  expect(collective.close(*file.value()).ok(), "windows: close");
}

// The parts of a request for a two-dimensional array distributed by rows.
struct Rows {
  array::Shape shape;
  SharedDistribution held;
  std::vector<std::int64_t> data;
  std::shared_ptr<const array::Layout> layout;
  std::vector<MemoryPiece> pieces;

  explicit Rows(std::int64_t columns)
      : shape(array::Shape::create({std::int64_t{4} * ranks, columns}).value()),
        held(array::RegularDistribution::create(shape,
                                                std::vector<array::DistributionFormat>{
                                                    array::DistributionFormat::block_of(),
                                                    array::DistributionFormat::whole_dimension()},
                                                {{ranks, 1}, array::Order::row_major})
                 .value()),
        data(static_cast<std::size_t>(4 * columns)),
        layout(std::make_shared<array::Layout>(
            array::Layout::packed({4, columns}, element_bytes, array::Order::row_major).value())) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::int64_t>(i) + rank * std::int64_t{1000000};
    }
    pieces.push_back({layout.get(), reinterpret_cast<std::byte*>(data.data())});
  }
  [[nodiscard]] ArrayPart part(weir::aggregation::OpenArray& file) const {
    return {&file, &held, pieces};
  }
};

// Three arrays in one request under a handle, and read back.
void several_arrays(Collective& collective, const std::string& path) {
  std::vector<std::unique_ptr<weir::aggregation::OpenArray>> files;
  std::vector<Rows> rows;
  for (const std::int64_t columns : {3, 50, 7}) {
    rows.emplace_back(columns);
    rows.back().pieces[0].data = reinterpret_cast<std::byte*>(rows.back().data.data());
    RawArray described{rows.back().shape, array::ElementKind::int64};
    auto made = collective.create_array(fmt::format("{}-{}", path, columns), described);
    expect(made.ok(), "several arrays: create");
    if (!made) return;
    files.push_back(std::move(made).value());
  }
  std::vector<ArrayPart> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].pieces[0].data = reinterpret_cast<std::byte*>(rows[i].data.data());
    parts.push_back(rows[i].part(*files[i]));
  }
  {
    const auto request = collective.begin_write(parts);
    while (!request->test()) {
    }
    expect(request->wait().ok(), "several arrays: write");
    expect(request->figures().bytes_asked == 4 * 60 * element_bytes, "several arrays: figures");
  }
  std::vector<std::vector<std::int64_t>> before;
  for (Rows& one : rows) {
    before.push_back(one.data);
    one.data.assign(one.data.size(), 0);
  }
  expect(collective.read(parts).ok(), "several arrays: read");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expect(rows[i].data == before[i], "several arrays: data");
  }
  expect(collective.write({}).ok(), "no array at all");
}

// What one rank passes differently, or wrongly, is refused on all; the next call works.
void refusals(Collective& collective, const std::string& path) {
  Rows rows(10);
  auto made = collective.create_array(path, {rows.shape, array::ElementKind::int64});
  expect(made.ok(), "refusals: create");
  if (!made) return;
  const auto refused = [&](const ArrayPart& part, const std::string& named) {
    const weir::Status status = collective.write({&part, 1});
    expect(!status.ok(), "refusals: " + named + " was not refused");
    if (status.ok()) return;
    expect(status.error().text().find(named) != std::string::npos, status.error().text());
    expect_same(status.error().text(), "refusals");
  };
  const ArrayPart good = rows.part(*made.value());
  ArrayPart bad = good;
  if (rank == ranks - 1) bad.pieces = {};
  refused(bad, "0 pieces of memory");
  bad = good;
  if (ranks > 1) {
    const array::Section corner = array::Section::of(array::Box{{0, 0}, {1, 1}});
    if (rank == 0) bad.section = &corner;
    refused(bad, "section");
    const weir::Status mixed =
        rank == 0 ? collective.sync(*made.value()) : collective.write({&good, 1});
    expect(!mixed.ok() && mixed.error().text().find("call") != std::string::npos,
           "refusals: different calls");
  }
  bad = good;
  const array::Section outside = array::Section::of(array::Box{{0, 0}, {1, 100}});
  bad.section = &outside;
  refused(bad, "100");
  auto missing = collective.open_array(path + "-missing", false);
  expect(!missing.ok(), "refusals: open");
  if (!missing) expect_same(missing.error().text(), "refusals: open");
  expect(collective.write({&good, 1}).ok(), "refusals: the next call");
  expect(collective.close(*made.value()).ok(), "refusals: close");
  expect(!collective.write({&good, 1}).ok(), "refusals: closed");
}

CollectiveSettings settings_of(std::optional<Strategy> strategy, std::int64_t buffer_bytes,
                               std::int64_t aggregators, std::int64_t ranks_per_node) {
  CollectiveSettings settings;
  settings.strategy = strategy;
  settings.buffer_bytes = buffer_bytes;
  settings.aggregators = aggregators;
  settings.ranks_per_node = ranks_per_node;
  settings.deadline_seconds = 60;
  return settings;
}

void all_cases(const std::string& directory) {
  const std::vector<CollectiveSettings> all = {
      settings_of(Strategy::direct, 0, 0, 0),
      settings_of(Strategy::node_aggregation, 40, 1, 0),
      settings_of(Strategy::node_aggregation, 200, 3, 0),
      settings_of(Strategy::node_aggregation, 1 << 20, 0, 0),
      settings_of(Strategy::node_aggregation, 64, 1, 2),
      settings_of(Strategy::node_aggregation, 1 << 20, 1, 1),
      settings_of(Strategy::two_phase, 72, 2, 2),
      settings_of(Strategy::two_phase, 300, 1, 1),
      settings_of(Strategy::two_phase, 1 << 20, 0, 3),
      settings_of(Strategy::server_directed, 72, 2, 2),
      settings_of(Strategy::server_directed, 300, 1, 1),
      settings_of(Strategy::server_directed, 1 << 20, 0, 3),
      settings_of(std::nullopt, 128, 1, 2)};
  const std::string path = directory + "/weir-collective";
  std::uint64_t kind = 0;
  for (const CollectiveSettings& settings : all) {
    auto collective = Collective::create(MPI_COMM_WORLD, settings);
    expect(collective.ok(), "create: " + (collective ? "" : collective.error().text()));
    if (!collective) continue;
    // The first seeds are the same for all, so that strategies meet the same requests.
    for (std::uint64_t seed = 1; seed <= 3; ++seed) round_trip(*collective.value(), path, seed);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      round_trip(*collective.value(), path, 100 + 10 * kind + seed);
    }
    several_arrays(*collective.value(), path);
    // Buffers of several columns, and strategies that are known.
    if (settings.buffer_bytes == 1 << 20) windows(*collective.value(), path);
    refusals(*collective.value(), path);
    ++kind;
  }
  auto odd =
      Collective::create(MPI_COMM_WORLD, settings_of(Strategy::direct, rank == 0 ? 8 : 9, 0, 0));
  expect(odd.ok() == (ranks == 1), "different settings");
  expect(
      !Collective::create(MPI_COMM_WORLD, settings_of(Strategy::node_aggregation, -1, 0, 0)).ok(),
      "negative settings");
}

// Rank 1's first write fails by an injected fault.
void expect_failure(const std::string& directory, const std::string& strategy) {
  CollectiveSettings settings = settings_of(Strategy::direct, 0, 0, 0);
  if (strategy == "node") settings = settings_of(Strategy::node_aggregation, 64, ranks, 0);
  if (strategy == "two-phase") settings = settings_of(Strategy::two_phase, 64, 1, 1);
  if (strategy == "server-directed") settings = settings_of(Strategy::server_directed, 64, 1, 1);
  auto collective = Collective::create(MPI_COMM_WORLD, settings);
  expect(collective.ok(), "create");
  if (!collective) return;
  Rows rows(200);  // so that rank 1 has pages of the file for its own
  auto made = collective.value()->create_array(directory + "/weir-fault",
                                               {rows.shape, array::ElementKind::int64});
  expect(made.ok(), "create");
  if (!made) return;
  const ArrayPart part = rows.part(*made.value());
  const weir::Status written = collective.value()->write({&part, 1});
  expect(!written.ok(), "the fault was not met");
  const std::string text = written.ok() ? "" : written.error().text();
  expect_same(text, "the error");
  expect(text.find("rank 1: ") == 0, text);
  expect(text.find("No space left on device") != std::string::npos, text);
  expect(text.find("weir-fault, offset ") != std::string::npos, text);
  expect(collective.value()->write({&part, 1}).ok(), "the next write");
  const std::vector<std::int64_t> before = rows.data;
  rows.data.assign(rows.data.size(), 0);
  expect(collective.value()->read({&part, 1}).ok(), "the next read");
  expect(rows.data == before, "what was read");
  expect(collective.value()->close(*made.value()).ok(), "close");
}

// The launcher has bound the ranks, each to one core.
void expect_binding() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  expect(sched_getaffinity(0, sizeof mine, &mine) == 0, "affinity");
  const std::int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
  expect(CPU_COUNT(&mine) < online || online == 1, "the launcher has not bound the ranks");
}

// How many ranks of a node may aggregate, by the cores that its ranks may use together: not by
// those that one of them is bound to, nor by the node that has the fewest ranks.
void holders_follow_cores() {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  expect(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "affinity");
  // The ranks in turn are bound to one core each.
  cpu_set_t one;
  CPU_ZERO(&one);
  std::int64_t skipped = rank % CPU_COUNT(&allowed);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && skipped-- == 0) CPU_SET(core, &one);
  }
  weir::ranks::Revocation opening(weir::ranks::Revocation::Local{}, all);
  for (const bool bound : {false, true}) {
    if (bound) expect(sched_setaffinity(0, sizeof one, &one) == 0, "binding");
    cpu_set_t mine;
    cpu_set_t together;
    CPU_ZERO(&mine);
    CPU_ZERO(&together);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Allreduce(&mine, &together, sizeof(cpu_set_t), MPI_BYTE, MPI_BOR, all);
    const std::int64_t most = std::min<std::int64_t>({CPU_COUNT(&together), ranks, 16});
    const std::string name = bound ? "bound to a core: " : "not bound: ";
    {
      weir::aggregation::NodeGroup group;
      expect(group.create(all, 0, 0, 2, 4096, 60, opening).ok(), name + "group");
      expect(group.holders_per_node() == most && group.holders() == most, name + "holders");
      expect(group.cores_per_node() == CPU_COUNT(&together), name + "cores");
    }
    if (ranks < 3) continue;
    // The last node has one rank where the others have two.
    weir::aggregation::NodeGroup pairs;
    expect(pairs.create(all, 2, 2, 2, 4096, 60, opening).ok(), name + "pairs");
    expect(pairs.holders_per_node() == 2 && pairs.holders() == ranks, name + "holders of pairs");
    expect(pairs.own_holder() == rank % 2, name + "the own holder");
  }
  expect(sched_setaffinity(0, sizeof allowed, &allowed) == 0, "unbinding");
  MPI_Comm_free(&all);
}

// The engine of some rank loses a transfer and says that all went well: every rank gets an error,
// and with a good engine the bytes are what they were.
void bytes_that_go_nowhere(const std::string& directory) {
  using weir::storage::Fault;
  const std::string path = directory + "/weir-lost";
  const std::vector<CollectiveSettings> all = {settings_of(Strategy::direct, 0, 0, 0),
                                               settings_of(Strategy::node_aggregation, 640, 2, 0),
                                               settings_of(Strategy::two_phase, 640, 1, 2),
                                               settings_of(Strategy::server_directed, 640, 1, 2)};
  for (const CollectiveSettings& settings : all) {
    auto good = Collective::create(MPI_COMM_WORLD, settings);
    for (const bool is_chunked : {false, true}) {
      for (const auto operation : {Fault::Operation::write, Fault::Operation::read}) {
        CollectiveSettings losing = settings;
        losing.before_engine = [&](std::unique_ptr<weir::storage::Engine> engine) {
          const Fault fault{.operation = operation, .number = 1, .is_dropped = true};
          return rank == 0 ? make_faulty_engine(std::move(engine), fault) : std::move(engine);
        };
        auto bad = Collective::create(MPI_COMM_WORLD, losing);
        expect(good.ok() && bad.ok(), "lost bytes: create");
        if (!good || !bad) return;
        Rows rows(200);
        RawArray described{rows.shape, array::ElementKind::int64};
        if (is_chunked) {
          described.chunk_extents = array::Indices{3, 50};
        }
        auto made = good.value()->create_array(path, described);
        expect(made.ok(), "lost bytes: create the array");
        if (!made) return;
        const ArrayPart part = rows.part(*made.value());
        expect(good.value()->write({&part, 1}).ok(), "lost bytes: write");
        auto opened = bad.value()->open_array(path, true);
        expect(opened.ok(), "lost bytes: open");
        if (!opened) return;
        Rows again(200);
        const ArrayPart lost = again.part(*opened.value());
        const weir::Status status = operation == Fault::Operation::write
                                        ? bad.value()->write({&lost, 1})
                                        : bad.value()->read({&lost, 1});
        const std::string text = status.ok() ? "" : status.error().text();
        expect(text.find("rank 0: bytes went astray") == 0, "lost bytes: '" + text + "'");
        expect_same(text, "lost bytes");
        expect(bad.value()->close(*opened.value()).ok(), "lost bytes: close");
        const std::vector<std::int64_t> before = rows.data;
        rows.data.assign(rows.data.size(), 0);
        expect(good.value()->read({&part, 1}).ok(), "lost bytes: read");
        expect(rows.data == before,
               fmt::format("lost bytes: data ({}, {}, {})",
                           weir::aggregation::name_of(settings.strategy),
                           is_chunked ? "chunks" : "contiguous",
                           operation == Fault::Operation::write ? "write" : "read"));
        expect(good.value()->close(*made.value()).ok(), "lost bytes: close");
      }
    }
  }
}

// What the ranks vote on when a call ends: no rank has failed, and bytes are missing all the same.
void sums_over_all_ranks() {
  weir::ranks::Channel between_nodes(MPI_COMM_WORLD);
  auto pairs = Collective::create(MPI_COMM_WORLD, settings_of(Strategy::direct, 0, 0, 2));
  auto one_node = Collective::create(MPI_COMM_WORLD, settings_of(Strategy::direct, 0, 0, 0));
  expect(pairs.ok() && one_node.ok(), "sums: create");
  if (!pairs || !one_node) return;
  for (weir::ranks::Channel* const channel :
       {&between_nodes, &pairs.value()->comparisons(), &one_node.value()->comparisons()}) {
    // What one rank stored too much, another one was asked for.
    for (const std::int64_t astray : {0, 8, -8}) {
      std::int64_t unstored = rank == ranks - 1 ? astray : 0;
      unstored += rank == 0 ? 1000 : 0;
      unstored -= rank == ranks / 2 ? 1000 : 0;
      const weir::Status agreed =
          weir::aggregation::agree(*channel, MPI_COMM_WORLD, {}, {}, 60, unstored);
      const std::string text = agreed.ok() ? "" : agreed.error().text();
      expect(agreed.ok() == (astray == 0), "sums: '" + text + "'");
      expect_same(text, "sums");
      const std::string told = astray > 0 ? "8 bytes fewer" : "8 bytes more";
      expect(agreed.ok() || text.find(told) != std::string::npos, "sums: '" + text + "'");
    }
  }
}

// What all ranks tell rank 0, in one round and in many: as many as fit, one more, and so many that
// each rank tells one number in a round.
void gathers_in_rounds() {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  {
    weir::ranks::Revocation opening(weir::ranks::Revocation::Local{}, all);
    weir::aggregation::CollectiveState state;
    state.communicator = all;
    state.rank = rank;
    state.ranks = ranks;
    state.settings.deadline_seconds = 60;
    state.group = std::make_unique<weir::aggregation::NodeGroup>();
    expect(state.group->create(all, 2, 1, 2, 4096, 60, opening).ok(), "gathering: group");
    // Rank 1 has more than all others together, and rank 2 has none.
    const auto numbers_of = [](int of) {
      std::vector<std::int64_t> numbers(of == 1   ? 500
                                        : of == 2 ? 0
                                                  : 7 * static_cast<std::size_t>(of) + 3);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = 1000 * of + static_cast<std::int64_t>(i);
      }
      return numbers;
    };
    std::vector<std::int64_t> wanted;
    for (int of = 0; of < ranks; ++of) {
      const auto numbers = numbers_of(of);
      wanted.insert(wanted.end(), numbers.begin(), numbers.end());
    }
    const auto total = static_cast<std::int64_t>(wanted.size());
    if (rank != 0) wanted.clear();
    for (const std::int64_t together : {weir::aggregation::most_gathered_together, total, total - 1,
                                        total / 2, std::int64_t{20}, std::int64_t{1}}) {
      const auto gathered = weir::aggregation::gather_at_rank_0(
          state, numbers_of(rank), "the test", std::max<std::int64_t>(1, together));
      expect(gathered.ok() && gathered.value() == wanted,
             fmt::format("gathering {} numbers by {}", total, together));
      const auto nothing = weir::aggregation::gather_at_rank_0(state, {}, "the test", together);
      expect(nothing.ok() && nothing.value().empty(), "gathering nothing");
    }
  }
  MPI_Comm_free(&all);
}

// A file with steps, into which one rank loses bytes: the step ends with one error on all ranks,
// and when it is begun again it holds all.
struct LosingStep {
  const char* format = "";
  const char* codec = "";
  bool in_shards = false;
  bool alone = false;  // each rank writes its own rows without the others

  [[nodiscard]] std::string name() const {
    return fmt::format("losing step ({} '{}' {}{}): ", format, codec, in_shards ? "in shards " : "",
                       alone ? "alone" : "together");
  }
  [[nodiscard]] weir::storage::FileDescription described(const Rows& rows) const {
    weir::storage::ArrayDescription array{
        .name = "a",
        .shape = array::Shape::create({1, rows.shape.extent(0), rows.shape.extent(1)}).value()};
    array.type = array::ElementKind::int64;
    array.grows = true;
    if (*codec != '\0') {
      array.chunk_extents = array::Indices{1, 3, 50};
      array.codecs = weir::storage::parse_pipeline(codec).value();
      if (in_shards) array.shard_extents = array::Indices{1, 6, 100};
    }
    return {.arrays = {array}};
  }
  weir::Status write(Collective& collective, weir::aggregation::StepFile& file,
                     const Rows& rows) const {
    if (!alone) {
      const ArrayPart part = rows.part(file.array(0));
      return collective.write({&part, 1});
    }
    return collective.move_alone(
        file.array(0), weir::Direction::write,
        {{{std::int64_t{4} * rank, 0}, {4, rows.shape.extent(1)}, {1, 1}}, rows.pieces});
  }
};

void steps_that_lose_bytes(const std::string& directory) {
  using weir::storage::Fault;
  const std::vector<LosingStep> all = {{.format = "hdf5", .alone = true},
                                       {.format = "cdf5", .alone = true},
                                       {.format = "hdf5", .codec = "deflate:1"},
                                       {.format = "zarr", .codec = "gzip:1"},
                                       {.format = "zarr", .codec = "gzip:1", .in_shards = true}};
  for (const LosingStep& one : all) {
    const std::string path = fmt::format("{}/weir-losing.{}", directory, &one - all.data());
    CollectiveSettings settings = settings_of(Strategy::two_phase, 640, 1, 2);
    // The first byte of one transfer goes, and the others do not.
    const Fault fault{.number = 2, .is_once = true, .is_dropped = true, .moved = 1};
    if (rank == 0) settings.slice_mover = weir::storage::make_faulty_mover(fault);
    auto collective = Collective::create(MPI_COMM_WORLD, settings);
    expect(collective.ok(), one.name() + "create");
    if (!collective) return;
    Rows rows(200);
    auto file = collective.value()->create_file(
        path, one.described(rows),
        {.format = one.format, .durability = weir::storage::StepDurability::none});
    expect(file.ok(), one.name() + (file.ok() ? "" : file.error().text()));
    if (!file) return;
    weir::aggregation::StepFile& steps = *file.value();
    for (std::int64_t step = 0; step < 3; ++step) {
      if (step > 0) {
        expect(collective.value()->begin_step(steps).ok(), one.name() + "begin a step");
      }
      if (one.alone) {  // the first of the two that the rank makes
        expect(one.write(*collective.value(), steps, rows).ok(), one.name() + "write");
      }
      // What a rank was asked for went nowhere, and nobody has noticed.
      auto& account = *dynamic_cast<weir::aggregation::OpenArray&>(steps.array(0)).origin().account;
      if (step == 2 && rank == ranks - 1) account.ask(8);
      const weir::Status written = one.write(*collective.value(), steps, rows);
      const weir::Status ended = collective.value()->end_step(steps);
      const std::string text = ended.ok() ? "" : ended.error().text();
      expect_same(text, one.name() + "end of the step");
      expect(ended.ok() == (step == 1), one.name() + "end: '" + text + "'");
      if (step == 0 && (rank == 0 || !one.alone)) {
        expect(!written.ok() && written.error().text().find("went astray") != std::string::npos,
               one.name() + "write: '" + (written.ok() ? "" : written.error().text()) + "'");
      }
      if (step == 2) {
        expect(written.ok() && text.find("8 bytes fewer") != std::string::npos,
               one.name() + "'" + text + "'");
      }
      expect(steps.steps() == (step == 0 ? 0 : 1), one.name() + "steps");
    }
    expect(collective.value()->close_file(steps).ok(), one.name() + "close");
    auto opened = collective.value()->open_file(path, {}, false);
    expect(opened.ok() && opened.value()->steps() == 1, one.name() + "open");
    if (!opened) return;
    const std::vector<std::int64_t> before = rows.data;
    rows.data.assign(rows.data.size(), 0);
    const ArrayPart part = rows.part(opened.value()->array(0));
    expect(collective.value()->read({&part, 1}).ok(), one.name() + "read");
    expect(rows.data == before, one.name() + "data");
    expect(collective.value()->close_file(*opened.value()).ok(), one.name() + "close again");
  }
}

// Where the caches of nodes are not coherent, rank 0's node moves all bytes of a file that is
// written: engines that fail on all other nodes are not noticed. What would use those is refused.
void caches_that_are_not_coherent(const std::string& directory) {
  using weir::storage::Fault;
  const std::string path = directory + "/weir-not-coherent";
  constexpr int ranks_per_node = 2;
  const auto fails_elsewhere = [](std::unique_ptr<weir::storage::Engine> engine) {
    if (rank < ranks_per_node) return engine;
    for (const auto operation : {Fault::Operation::write, Fault::Operation::read}) {
      engine = make_faulty_engine(std::move(engine), {.operation = operation, .system_error = EIO});
    }
    return engine;
  };
  for (const auto strategy : {std::optional<Strategy>(), std::optional(Strategy::two_phase),
                              std::optional(Strategy::server_directed)}) {
    for (const bool is_coherent : {false, true}) {
      CollectiveSettings settings = settings_of(strategy, 640, 2, ranks_per_node);
      settings.targets.coherent_caches = is_coherent;
      settings.before_engine = fails_elsewhere;
      auto collective = Collective::create(MPI_COMM_WORLD, settings);
      expect(collective.ok(), "not coherent: create");
      if (!collective) return;
      for (const bool is_chunked : {false, true}) {
        Rows rows(200);
        RawArray described{rows.shape, array::ElementKind::int64};
        if (is_chunked) described.chunk_extents = array::Indices{3, 50};
        auto made = collective.value()->create_array(path, described);
        expect(made.ok(), "not coherent: create the array");
        if (!made) return;
        const ArrayPart part = rows.part(*made.value());
        const bool all_here = ranks <= ranks_per_node;
        const weir::Status written = collective.value()->write({&part, 1});
        expect(written.ok() == (all_here || !is_coherent),
               "not coherent: write: " + (written.ok() ? "ok" : written.error().text()));
        if (!written.ok()) continue;
        const std::vector<std::int64_t> before = rows.data;
        rows.data.assign(rows.data.size(), 0);
        expect(collective.value()->read({&part, 1}).ok(), "not coherent: read");
        expect(rows.data == before, "not coherent: data");
        const weir::Status alone = collective.value()->move_alone(
            *made.value(), weir::Direction::read,
            {{{std::int64_t{4} * rank, 0}, {4, 200}, {1, 1}}, rows.pieces});
        expect(alone.ok() == (all_here || is_coherent), "not coherent: alone");
        expect(collective.value()->close(*made.value()).ok(), "not coherent: close");
      }
    }
  }
  CollectiveSettings settings = settings_of(Strategy::direct, 640, 0, ranks_per_node);
  settings.targets.coherent_caches = false;
  auto direct = Collective::create(MPI_COMM_WORLD, settings);
  expect(direct.ok(), "not coherent: create");
  if (!direct) return;
  Rows rows(200);
  auto made = direct.value()->create_array(path, {rows.shape, array::ElementKind::int64});
  expect(made.ok(), "not coherent: create for direct");
  if (!made) return;
  const ArrayPart part = rows.part(*made.value());
  const weir::Status written = direct.value()->write({&part, 1});
  const std::string text = written.ok() ? "" : written.error().text();
  expect(written.ok() == (ranks <= ranks_per_node), "not coherent: written directly");
  expect(written.ok() || text.find("strategy direct: several nodes") != std::string::npos, text);
  expect_same(text, "not coherent: refusal");
  expect(direct.value()->close(*made.value()).ok(), "not coherent: close");
  // What nobody writes is read by all.
  auto opened = direct.value()->open_array(path, false);
  expect(opened.ok(), "not coherent: open");
  if (!opened) return;
  const ArrayPart again = rows.part(*opened.value());
  expect(direct.value()->read({&again, 1}).ok(), "not coherent: read by all");
  expect(direct.value()->close(*opened.value()).ok(), "not coherent: close what was read");
}

// Rank 1 has gone on to the end of main.
void missing_rank() {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  if (rank == 1) return;
  weir::aggregation::NodeGroup group;
  weir::ranks::Revocation revocation(all);
  const weir::Status made = group.create(all, 0, 1, 2, 4096, 0.5, revocation);
  expect(!made.ok() && made.error().code == weir::ErrorCode::deadline, "a rank that does not come");
  group.abandon();
}

}  // namespace

int main(int argc, char** argv) {
  start_checks(argc, argv);
  const std::string base = argc > 1 ? argv[1] : ".";
  const std::string directory =
      fmt::format("{}/collective-{}-{}", base, ranks, argc > 3 ? argv[3] : "all");
  if (rank == 0) std::filesystem::create_directories(directory);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 3 && std::string(argv[2]) == "--expect-failure") {
    expect_failure(directory, argv[3]);
  } else if (argc > 2 && std::string(argv[2]) == "--missing-rank") {
    missing_rank();
  } else {
    if (argc > 2 && std::string(argv[2]) == "--bound") expect_binding();
    holders_follow_cores();
    all_cases(directory);
    bytes_that_go_nowhere(directory);
    sums_over_all_ranks();
    gathers_in_rounds();
    steps_that_lose_bytes(directory);
    caches_that_are_not_coherent(directory);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::filesystem::remove_all(directory);
  return end_checks();
}
