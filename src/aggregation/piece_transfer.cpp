#include "aggregation/piece_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// From this length on a run is moved by a call of its own.
constexpr std::int64_t long_run_bytes = 16 << 10;
constexpr std::int64_t most_window_bytes = 512 << 10;
constexpr std::size_t most_window_runs = 16 << 10;

std::int64_t end_of(const plan::FileExtent& run) { return run.offset + run.bytes; }

// The bytes that cost as much to move as a call.
std::int64_t bytes_of_a_call(const plan::PlatformRates& rates, bool writing) {
  const plan::FileRates& files = writing ? rates.write : rates.read;
  double bytes = files.call_seconds * files.core_bytes_per_second;
  if (writing) bytes /= 2;  // of a hole, which is read before
  return static_cast<std::int64_t>(std::clamp(bytes, 0.0, static_cast<double>(most_window_bytes)));
}

}  // namespace

PieceTransfer::PieceTransfer(const MoveContext& context)
    : context_(context), widest_gap_(bytes_of_a_call(context.rates, context.writing())) {}

Status PieceTransfer::move(const plan::Piece& piece, plan::PieceExtents extents,
                           std::byte* buffer) {
  const RequestedPart& part = context_.part_of(piece);
  const bool windows = !context_.writing() || may_change_windows(part);
  const std::int64_t began = monotonic_ns();
  traffic_ = {};
  Status status;
  runs_.clear();
  for (plan::FileExtent run; status.ok() && extents.next(run);) {
    if (!windows || run.bytes >= long_run_bytes) {
      status = move_window(part, buffer);
      if (status.ok()) status = move_run(part, run, buffer);
    } else {
      if (!fits_window(run)) status = move_window(part, buffer);
      runs_.push_back(run);
    }
  }
  if (status.ok()) status = move_window(part, buffer);
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic_.calls;
  figures.bytes_stored += traffic_.written;
  figures.bytes_fetched += traffic_.read;
  return status;
}

bool PieceTransfer::may_change_windows(const RequestedPart& part) const {
  const plan::Plan& plan = *context_.plan;
  if (plan::Plan::groups(plan.topology(), plan.parameters().strategy) > 1) return false;
  return std::count_if(context_.parts.begin(), context_.parts.end(),
                       [&](const RequestedPart& one) { return one.file == part.file; }) == 1;
}

bool PieceTransfer::fits_window(const plan::FileExtent& run) const {
  if (runs_.empty()) return true;
  const plan::FileExtent& first = runs_.front();
  const std::int64_t gap = run.offset - end_of(runs_.back());
  return run.file == first.file && gap >= 0 && gap <= widest_gap_ &&
         end_of(run) - first.offset <= most_window_bytes && runs_.size() < most_window_runs;
}

Status PieceTransfer::move_run(const RequestedPart& part, const plan::FileExtent& run,
                               std::byte* buffer) {
  const storage::Slice slice{buffer + run.buffer_offset, run.bytes};
  storage::RawFiles& files = part.file->files();
  const std::int64_t file = run.file - part.first_file;
  return context_.writing() ? files.write(file, {&slice, 1}, run.offset, traffic_)
                            : files.read(file, {&slice, 1}, run.offset, traffic_);
}

Status PieceTransfer::move_window(const RequestedPart& part, std::byte* buffer) {
  if (runs_.empty()) return {};
  if (runs_.size() == 1) {
    const plan::FileExtent only = runs_.front();
    runs_.clear();
    return move_run(part, only, buffer);
  }
  const std::int64_t start = runs_.front().offset;
  const std::int64_t bytes = end_of(runs_.back()) - start;
  if (window_.size() < static_cast<std::size_t>(bytes)) {
    window_.resize(static_cast<std::size_t>(bytes));
  }
  const storage::Slice slice{window_.data(), bytes};
  storage::RawFiles& files = part.file->files();
  const std::int64_t file = runs_.front().file - part.first_file;
  Status status = files.read(file, {&slice, 1}, start, traffic_);
  if (!status.ok()) return status;
  for (const plan::FileExtent& run : runs_) {
    std::byte* const in_window = window_.data() + (run.offset - start);
    std::byte* const in_buffer = buffer + run.buffer_offset;
    if (context_.writing()) {
      std::memcpy(in_window, in_buffer, static_cast<std::size_t>(run.bytes));
    } else {
      std::memcpy(in_buffer, in_window, static_cast<std::size_t>(run.bytes));
    }
  }
  runs_.clear();
  if (!context_.writing()) return {};
  return files.write(file, {&slice, 1}, start, traffic_);
}

}  // namespace weir::aggregation
