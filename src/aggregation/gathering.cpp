#include "aggregation/gathering.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/block_copy.hpp"
#include "array/runs.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// From this length on a run is moved by a call of its own; shorter ones with what lies between.
constexpr std::int64_t long_run_bytes = 16 << 10;

}  // namespace

Gathering::Gathering(const ExchangeContext& context, std::vector<PartDuty> duties)
    : context_(context),
      duties_(std::move(duties)),
      buffers_(static_cast<std::size_t>(context.buffers)) {}

Gathering::~Gathering() = default;

bool Gathering::step() {
  bool moved = false;
  if (next_ < duties_.size()) {
    const std::int64_t number = duties_[next_].duty.turn % context_.buffers;
    Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
    if (!buffer.busy) {
      buffer.duty = next_++;
      open(number, buffer);
      moved = true;
    }
  }
  for (std::int64_t number = 0; number < context_.buffers && busy_ > 0; ++number) {
    Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
    if (!buffer.busy || !is_complete(number, buffer)) continue;
    if (context_.way == Way::write) transfer(number, buffer, Way::write);
    buffer.busy = false;
    --busy_;
    return true;
  }
  return moved;
}

void Gathering::open(std::int64_t number, Buffer& buffer) {
  const PartDuty& duty = duties_[buffer.duty];
  const PlannedPart& part = context_.parts[duty.part];
  const array::Distribution& memory = *part.asked.part->memory;
  buffer.busy = true;
  ++busy_;
  buffer.box = part.domains.grid().box(duty.duty.piece);
  const array::Region wanted = part.asked.part->section.clipped(buffer.box);
  buffer.messages.clear();
  buffer.from_node = 0;
  std::int64_t held = 0;
  if (context_.group.nodes() == 1) {
    held = plan::elements_held(memory, wanted);
    buffer.from_node = held;
  } else {
    for (const plan::RankElements& one : plan::elements_by_rank(memory, wanted)) {
      if (context_.group.is_on_node(one.rank)) {
        buffer.from_node += one.elements;
      } else {
        buffer.messages.push_back({one.rank, one.elements, 0, false});
      }
      held += one.elements;
    }
  }
  bool merge = false;
  find_ranges(buffer, wanted, held, merge);
  if (context_.way == Way::read || merge) transfer(number, buffer, Way::read);
  start_messages(number, buffer, part.domains.grid().element_bytes());
  BufferControl& control = context_.group.control(context_.group.own_aggregator(), number);
  control.arrived.store(0, std::memory_order_relaxed);
  control.open.store(context_.ticket(duty.duty.turn), std::memory_order_release);
}

void Gathering::find_ranges(Buffer& buffer, const array::Region& wanted, std::int64_t held,
                            bool& merge) {
  const plan::PieceGrid& grid = context_.parts[duties_[buffer.duty].part].domains.grid();
  const array::Layout layout = grid.buffer_layout(buffer.box);
  buffer.ranges.clear();
  merge = false;
  if (held >= buffer.box.elements() && wanted.elements() == buffer.box.elements()) {
    buffer.ranges.push_back({0, layout.bounds().upper});
    return;
  }
  if (held == wanted.elements()) {
    bool all_long = true;
    array::UniformRegions uniforms(wanted);
    for (array::UniformRegion uniform; uniforms.next(uniform) && all_long;) {
      const auto runs = array::Runs::of(array::relative_to(uniform, buffer.box), layout);
      all_long = runs.bytes >= long_run_bytes || runs.count() == 1;
      array::RunOffsets offsets(runs);
      for (std::int64_t at = 0; all_long && offsets.next(at);) {
        buffer.ranges.push_back({at, runs.bytes});
      }
    }
    if (all_long) return;
    buffer.ranges.clear();
  }
  // From the first element to the last: in a packed layout those of the bounding box's corners.
  const array::Box hull = wanted.bounding_box();
  array::Indices lower;
  array::Indices upper;
  for (int d = 0; d < hull.dimensions(); ++d) {
    lower.push_back(hull.lower[d] - buffer.box.lower[d]);
    upper.push_back(hull.upper(d) - 1 - buffer.box.lower[d]);
  }
  const std::int64_t first = layout.offset_of(lower);
  buffer.ranges.push_back({first, layout.offset_of(upper) + layout.element_bytes() - first});
  merge = context_.way == Way::write;
}

void Gathering::start_messages(std::int64_t number, Buffer& buffer, std::int64_t element_bytes) {
  buffer.requests.assign(buffer.messages.size(), MPI_REQUEST_NULL);
  std::int64_t elements = 0;
  for (Message& message : buffer.messages) {
    message.at = elements * element_bytes;
    elements += message.elements;
  }
  const auto bytes = static_cast<std::size_t>(elements * element_bytes);
  if (buffer.message_data.size() < bytes) buffer.message_data.resize(bytes);
  for (std::size_t i = 0; i < buffer.messages.size(); ++i) {
    const Message& message = buffer.messages[i];
    std::byte* const data = buffer.message_data.data() + message.at;
    const auto count = static_cast<int>(message.elements * element_bytes);
    if (context_.way == Way::write) {
      MPI_Irecv(data, count, MPI_BYTE, static_cast<int>(message.rank), message_tag,
                context_.communicator, &buffer.requests[i]);
    } else {
      copy_message(number, buffer, message);
      MPI_Isend(data, count, MPI_BYTE, static_cast<int>(message.rank), message_tag,
                context_.communicator, &buffer.requests[i]);
      context_.figures.bytes_sent += count;
    }
  }
}

bool Gathering::is_complete(std::int64_t number, Buffer& buffer) {
  bool complete = true;
  for (std::size_t i = 0; i < buffer.messages.size(); ++i) {
    Message& message = buffer.messages[i];
    if (message.done) continue;
    int arrived = 0;
    MPI_Test(&buffer.requests[i], &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) {
      complete = false;
      continue;
    }
    message.done = true;
    if (context_.way == Way::write) copy_message(number, buffer, message);
  }
  const BufferControl& control = context_.group.control(context_.group.own_aggregator(), number);
  return complete && control.arrived.load(std::memory_order_acquire) == buffer.from_node;
}

void Gathering::copy_message(std::int64_t number, Buffer& buffer, const Message& message) {
  const std::int64_t began = monotonic_ns();
  const PlannedPart& part = context_.parts[duties_[buffer.duty].part];
  const ArrayPart& asked = *part.asked.part;
  const std::int64_t element_bytes = part.domains.grid().element_bytes();
  const array::Layout layout = part.domains.grid().buffer_layout(buffer.box);
  const Side piece{Side::Kind::buffer, &layout,
                   context_.group.buffer(context_.group.own_aggregator(), number)};
  Side data{Side::Kind::message, nullptr, buffer.message_data.data() + message.at};
  const array::Region wanted = asked.section.clipped(buffer.box);
  for (const array::Distribution::Piece& held : asked.memory->pieces_meeting(wanted)) {
    if (held.rank != message.rank) continue;
    const array::Region region = asked.memory->piece(held.rank, held.number);
    const std::int64_t copied =
        context_.way == Way::write
            ? copy_blocks(region, asked.section, buffer.box, element_bytes, data, piece)
            : copy_blocks(region, asked.section, buffer.box, element_bytes, piece, data);
    data.data += copied * element_bytes;
  }
  context_.figures.gather_ns += monotonic_ns() - began;
}

void Gathering::transfer(std::int64_t number, const Buffer& buffer, Way way) {
  if (!status_.ok()) return;
  const PartDuty& duty = duties_[buffer.duty];
  const PlannedPart& part = context_.parts[duty.part];
  const plan::PieceGrid& grid = part.domains.grid();
  storage::RawFiles& files = part.asked.file->files();
  const auto place = files.place_of_chunk(grid.chunk_of(duty.duty.piece));
  const std::int64_t start = place.offset + grid.byte_in_chunk(duty.duty.piece);
  std::byte* const data = context_.group.buffer(context_.group.own_aggregator(), number);
  storage::FileTraffic traffic;
  const std::int64_t began = monotonic_ns();
  for (const FileRange& range : buffer.ranges) {
    const storage::Slice slice{data + range.at, range.bytes};
    const Status moved = way == Way::write
                             ? files.write(place.file, {&slice, 1}, start + range.at, traffic)
                             : files.read(place.file, {&slice, 1}, start + range.at, traffic);
    if (!moved.ok()) {
      fail(moved);
      break;
    }
  }
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic.calls;
  figures.bytes_stored += traffic.written;
  figures.bytes_fetched += traffic.read;
}

void Gathering::fail(const Status& status) {
  status_ = status;
  context_.group.failed_request().store(context_.request, std::memory_order_relaxed);
}

}  // namespace weir::aggregation
