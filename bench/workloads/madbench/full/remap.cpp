#include "workloads/madbench/full/remap.hpp"

#include <algorithm>
#include <cstring>

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t message_bytes = 4 << 20;
constexpr int remap_tag = 3;  // the tokens of RMOD and WMOD use 1 and 2

std::int64_t local_index(std::int64_t global, std::int64_t block, std::int64_t side) {
  return global / block / side * block + global % block;
}

}  // namespace

RemapPlan RemapPlan::of(const Size& size) {
  return {size.no_pix, size.sblocksize, *exact_square_root(size.no_pe),
          *exact_square_root(size.no_pe / size.no_gang)};
}

Distribution RemapPlan::of_rank(std::int64_t rank) const {
  return Distribution::of(pixels, block, side, rank);
}

Distribution RemapPlan::of_gang_rank(std::int64_t gang_rank) const {
  return Distribution::of(pixels, block, gang_side, gang_rank);
}

std::int64_t RemapPlan::target_of(std::int64_t rank) const {
  const Distribution source = of_rank(rank);
  return source.row % gang_side + source.column % gang_side * gang_side;
}

std::vector<std::int64_t> RemapPlan::sources_of(std::int64_t gang_rank) const {
  std::vector<std::int64_t> sources;
  for (std::int64_t rank = 0; rank < side * side; ++rank) {
    if (target_of(rank) == gang_rank) sources.push_back(rank);
  }
  return sources;
}

void RemapPlan::place(std::int64_t source, std::int64_t first_column, std::int64_t columns,
                      const double* from, double* to) const {
  const Distribution sender = of_rank(source);
  const std::int64_t rows = sender.rows();
  const std::int64_t target_rows = of_gang_rank(target_of(source)).rows();
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t place = sender.global_column(first_column + column);
    double* target = to + local_index(place, block, gang_side) * target_rows;
    for (std::int64_t row = 0; row < rows; row += block) {
      const std::int64_t count = std::min(block, rows - row);
      std::memcpy(target + local_index(sender.global_row(row), block, gang_side),
                  from + column * rows + row, static_cast<std::size_t>(count) * sizeof(double));
    }
  }
}

Remapping::Remapping(const Job& job, const Size& size)
    : job_(job), plan_(RemapPlan::of(size)), ranks_per_gang_(size.no_pe / size.no_gang) {}

std::int64_t Remapping::columns_per_message(std::int64_t rank) const {
  const Distribution share = plan_.of_rank(rank);
  const std::int64_t column_bytes = std::max<std::int64_t>(share.rows(), 1) * 8;
  return std::clamp<std::int64_t>(message_bytes / column_bytes, 1,
                                  std::max<std::int64_t>(share.columns(), 1));
}

Status Remapping::to_gang(std::int64_t gang, const double* share, double* gang_share,
                          const std::function<void()>& progress) {
  const Distribution mine = plan_.of_rank(job_.rank);
  const std::int64_t columns = mine.columns();
  const std::int64_t step = columns_per_message(job_.rank);
  const std::int64_t target = gang * ranks_per_gang_ + plan_.target_of(job_.rank);
  std::vector<MPI_Request> sending;
  if (target != job_.rank) {
    for (std::int64_t first = 0; first < columns; first += step) {
      const std::int64_t count = std::min(step, columns - first) * mine.rows();
      MPI_Isend(share + first * mine.rows(), static_cast<int>(count), MPI_DOUBLE,
                static_cast<int>(target), remap_tag, job_.world, &sending.emplace_back());
    }
  }
  Status status;
  if (job_.rank / ranks_per_gang_ == gang) {
    for (const std::int64_t source : plan_.sources_of(job_.rank % ranks_per_gang_)) {
      if (source == job_.rank) {
        plan_.place(source, 0, columns, share, gang_share);
      } else if (status.ok()) {
        status = receive(source, gang_share, progress);
      }
    }
  }
  for (MPI_Request& request : sending) {
    if (progress) progress();
    if (!status) return status;  // the deadline has passed, and no other rank waits any more
    status = wait_for(request, job_.deadline_ns(), "remapping to a gang");
  }
  return status;
}

Status Remapping::receive(std::int64_t source, double* gang_share,
                          const std::function<void()>& progress) {
  const Distribution sender = plan_.of_rank(source);
  const std::int64_t step = columns_per_message(source);
  arriving_.resize(static_cast<std::size_t>(std::max<std::int64_t>(step * sender.rows(), 1)));
  for (std::int64_t first = 0; first < sender.columns(); first += step) {
    const std::int64_t columns = std::min(step, sender.columns() - first);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(arriving_.data(), static_cast<int>(columns * sender.rows()), MPI_DOUBLE,
              static_cast<int>(source), remap_tag, job_.world, &request);
    if (Status status = wait_for(request, job_.deadline_ns(), "remapping to a gang"); !status) {
      return status;
    }
    plan_.place(source, first, columns, arriving_.data(), gang_share);
    if (progress) progress();
  }
  return {};
}

}  // namespace weir::bench::madbench
