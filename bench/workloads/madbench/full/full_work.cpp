#include "workloads/madbench/full/full_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "workloads/madbench/full/legendre.hpp"
#include "workloads/madbench/full/small_matrix.hpp"

namespace weir::bench::madbench {
namespace {

constexpr int ring_tag = 4;  // remap.cpp uses 3, the tokens use 1 and 2

// Ends the process at the deadline if a call does not return.
class Watched {
 public:
  Watched(FailureGuard& guard, const char* operation) : guard_(guard) {
    guard_.entering(operation, nullptr, -1);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { guard_.left(); }

 private:
  FailureGuard& guard_;
};

std::span<const std::uint64_t> words_of(const std::byte* buffer, std::int64_t bytes) {
  return {reinterpret_cast<const std::uint64_t*>(buffer), static_cast<std::size_t>(bytes / 8)};
}

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

Analysis madbench_analysis(const Size& size) {
  return {.weights = std::vector<double>(index(size.no_bin * multipoles_per_bin), 1.0),
          .spectrum = std::vector<double>(index(size.no_bin), 1.0),
          .noise_variance = 1,
          .data = std::vector<double>(index(size.no_pix), 1.0)};
}

FullWork::FullWork(const FullInputs& inputs, Analysis analysis)
    : analysis_(std::move(analysis)),
      in_(inputs),
      ranks_per_gang_(inputs.size.no_pe / inputs.size.no_gang),
      gang_(inputs.job.rank / ranks_per_gang_),
      remapping_(inputs.job, inputs.size),
      sky_(random_sky(inputs.size.no_pix)),
      pairs_(pairs_of(inputs.size.no_bin / inputs.size.no_gang)) {
  const Job& job = in_.job;
  MPI_Comm_split(job.world, static_cast<int>(gang_), job.rank, &gang_communicator_);
  MPI_Comm_split(job.world, static_cast<int>(job.rank % ranks_per_gang_), job.rank, &across_);
  const Size& size = in_.size;
  all_ranks_ = ProcessGrid::create(in_.functions, job.world, size.no_pix, size.sblocksize);
  in_gang_ = ProcessGrid::create(in_.functions, gang_communicator_, size.no_pix, size.sblocksize);
}

FullWork::~FullWork() {
  in_gang_.reset();  // before the communicators from which they were made
  all_ranks_.reset();
  for (MPI_Comm* communicator : {&across_, &gang_communicator_}) {
    if (*communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
  }
}

void FullWork::abandon() {
  across_ = gang_communicator_ = MPI_COMM_NULL;
  all_ranks_->abandon();
  in_gang_->abandon();
}

std::vector<Function> FullWork::functions() const {
  return {Function::S, Function::D, Function::W, Function::C};
}

std::vector<Step> FullWork::schedule(Function function) const {
  return full_schedule_of(function, in_.size.no_bin, in_.size.no_gang);
}

double* FullWork::matrix(std::int64_t number) const {
  return reinterpret_cast<double*>(in_.buffers.at(number));
}

std::byte* FullWork::reading(const Step& step) {
  if (function_ == Function::C) return in_.buffers.at(step.turn % 2);
  const std::int64_t gangs = in_.size.no_gang;
  if (gangs == 1) return in_.buffers.at(step.matrix % 2);
  const bool even_part = step.matrix % gangs % 2 == 0;
  return in_.buffers.at(even_part ? 0 : 2 + step.matrix / gangs % 2);
}

std::byte* FullWork::writing(const Step& step) { return in_.buffers.writing(step.matrix); }

void FullWork::prepare_write(const Share& share) {
  fingerprints_.note(share.function, share.step.matrix, share.extent.offset,
                     words_of(writing(share.step), share.extent.bytes));
}

std::vector<PayloadMismatch> FullWork::check_read(const Share& share) {
  const Function writer = share.function == Function::W ? Function::S : Function::W;
  return fingerprints_.compare(writer, share.step.matrix,
                               words_of(reading(share.step), share.extent.bytes));
}

const char* FullWork::how_verified() const {
  return "the 64-bit fingerprint of every 4096 bytes that are read is compared with that of the "
         "written bytes, which is kept in memory";
}

Status FullWork::begin(Function function) {
  function_ = function;
  if (function == Function::S) begin_signal();
  if (function == Function::W) return begin_results();
  return {};
}

Status FullWork::compute(Function function, const Step& step,
                         const std::function<void()>& progress) {
  if (step.action == Action::remap) {
    const auto* share = reinterpret_cast<const double*>(reading(step));
    return remap(step.matrix % in_.size.no_gang, share, matrix(1), progress);
  }
  switch (function) {
    case Function::S:
      add_bin(step.matrix, reinterpret_cast<double*>(writing(step)), progress);
      return {};
    case Function::D:
      return invert();
    case Function::W:
      return multiply(step, progress);
    case Function::C:
      break;
  }
  return pair(step, progress);
}

void FullWork::begin_signal() {
  const std::int64_t elements = distribution().elements();
  std::fill_n(matrix(0), elements, 0.0);
  std::fill_n(matrix(1), elements, 1.0);
  std::fill_n(matrix(4), elements, 0.0);
}

void FullWork::add_bin(std::int64_t bin, double* component, const std::function<void()>& progress) {
  const Distribution& own = distribution();
  const std::int64_t rows = own.rows();
  const std::int64_t first = bin * multipoles_per_bin + 1;
  const std::span<const double> weights =
      std::span(analysis_.weights).subspan(index(first - 1), index(multipoles_per_bin));
  const double power = analysis_.spectrum[index(bin)];
  double* signal = matrix(4);
  std::vector<double> cosines(index(rows));
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    const Direction3& direction = sky_[index(own.global_column(column))];
    for (std::int64_t row = 0; row < rows; ++row) {
      cosines[index(row)] = cosine_between(sky_[index(own.global_row(row))], direction);
    }
    const std::int64_t begin = column * rows;
    add_multipoles(first, weights, cosines, {matrix(0) + begin, index(rows)},
                   {matrix(1) + begin, index(rows)}, {component + begin, index(rows)});
    for (std::int64_t i = begin; i < begin + rows; ++i) signal[i] += power * component[i];
    if (progress) progress();
  }
}

void FullWork::add_noise() {
  const Distribution& own = distribution();
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      if (own.global_row(row) == own.global_column(column)) {
        matrix(4)[column * own.rows() + row] += analysis_.noise_variance;
      }
    }
  }
}

void FullWork::sum(MPI_Comm communicator, std::span<double> values) {
  const Watched watched(in_.guard, "summing over ranks");
  constexpr std::size_t most = std::size_t{1} << 28;
  for (std::size_t first = 0; first < values.size(); first += most) {
    const std::size_t count = std::min(most, values.size() - first);
    MPI_Allreduce(MPI_IN_PLACE, values.data() + first, static_cast<int>(count), MPI_DOUBLE, MPI_SUM,
                  communicator);
  }
}

Status FullWork::factor_covariance() {
  const Watched watched(in_.guard, "pdpotrf");
  return all_ranks_->factor(matrix(4));
}

Status FullWork::invert() {
  add_noise();
  if (Status status = factor_covariance(); !status) return status;
  const Distribution& own = distribution();
  const std::int64_t rows = own.rows();
  double* inverse = matrix(4);
  derivatives_ = {};
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      if (own.global_row(row) != own.global_column(column)) continue;
      // ln det D = 2 sum of ln L_ii
      derivatives_.log_likelihood -= std::log(inverse[column * rows + row]);
    }
  }
  const Watched watched(in_.guard, "pdpotri");
  if (Status status = all_ranks_->invert_factored(inverse); !status) return status;
  double* transposed = matrix(0);
  all_ranks_->transpose(inverse, transposed);
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t i = column * rows + row;
      if (own.global_row(row) < own.global_column(column)) inverse[i] = transposed[i];
    }
  }
  return {};
}

Status FullWork::remap(std::int64_t part, const double* share, double* gang_share,
                       const std::function<void()>& progress) {
  if (!in_.remap_by_scalapack) return remapping_.to_gang(part, share, gang_share, progress);
  const Watched watched(in_.guard, "pdgemr2d");
  all_ranks_->redistribute(share, gang_ == part ? in_gang_.get() : nullptr, gang_share);
  return {};
}

Status FullWork::begin_results() {
  const Size& size = in_.size;
  const Distribution& own = in_gang_->distribution();
  if (size.no_gang > 1) {
    if (Status status = remap(0, matrix(4), matrix(1), {}); !status) return status;
    const Watched watched(in_.guard, "sending the inverse to all gangs");
    MPI_Bcast(matrix(1), static_cast<int>(own.elements()), MPI_DOUBLE, 0, across_);
    std::memcpy(matrix(4), matrix(1), index(own.elements()) * sizeof(double));
  }
  const std::size_t bins = index(size.no_bin);
  derivatives_.slope.assign(bins, 0);
  derivatives_.fisher.assign(bins * bins, 0);
  if (analysis_.with_curvature) {
    left_.assign(bins * index(size.no_pix), 0);
    right_.assign(bins * index(size.no_pix), 0);
  }
  solution_.assign(index(size.no_pix), 0);
  const double* element = matrix(4);
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    const double value = analysis_.data[index(own.global_column(column))];
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      solution_[index(own.global_row(row))] += *element++ * value;
    }
  }
  sum(gang_communicator_, solution_);
  return {};
}

Status FullWork::multiply(const Step& step, const std::function<void()>& progress) {
  const std::int64_t operand = in_.size.no_gang == 1 ? step.matrix % 2 : 1;
  auto* result = reinterpret_cast<double*>(writing(step));
  {
    const Watched watched(in_.guard, "pdgemm");
    in_gang_->multiply(matrix(4), matrix(operand), result, [&] {
      if (progress) progress();
      in_.guard.entering("pdgemm", nullptr, -1);  // the deadline applies to one panel
    });
  }
  differentiate(step.matrix * in_.size.no_gang + gang_, result);
  return {};
}

void FullWork::differentiate(std::int64_t bin, const double* result) {
  const Distribution& own = in_gang_->distribution();
  double product = 0;
  double trace = 0;
  double* left = left_.empty() ? nullptr : left_.data() + bin * in_.size.no_pix;
  double* right = right_.empty() ? nullptr : right_.data() + bin * in_.size.no_pix;
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    const std::int64_t to = own.global_column(column);
    double projected = 0;
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      const double element = *result++;
      const std::int64_t from = own.global_row(row);
      projected += analysis_.data[index(from)] * element;
      if (from == to) trace += element;
      if (right != nullptr) right[from] += element * solution_[index(to)];
    }
    product += projected * solution_[index(to)];
    if (left != nullptr) left[to] += projected;
  }
  derivatives_.slope[index(bin)] = (product - trace) / 2;
}

Status FullWork::pair(const Step& step, const std::function<void()>& progress) {
  const auto [column, row] = pairs_[index(step.turn)];
  const std::int64_t gangs = in_.size.no_gang;
  const std::int64_t elements = in_gang_->distribution().elements();
  const std::int64_t column_bin = column * gangs + gang_;
  const double* current = matrix(step.turn % 2);
  double* transposed = matrix(4);
  if (row == column) {
    const Watched watched(in_.guard, "pdtran");
    in_gang_->transpose(current, transposed);
  }
  for (std::int64_t passed = 0; passed < gangs; ++passed) {
    if (passed > 0) {
      double* next = matrix(2 + passed % 2);
      if (Status status = pass_on(current, next, progress); !status) return status;
      current = next;
    }
    const std::int64_t row_bin = row * gangs + (gang_ + passed) % gangs;
    if (row_bin < column_bin) continue;  // another gang has the pair as (column_bin, row_bin)
    double trace = 0;
    for (std::int64_t i = 0; i < elements; ++i) trace += current[i] * transposed[i];
    const std::size_t bins = index(in_.size.no_bin);
    derivatives_.fisher[index(row_bin) * bins + index(column_bin)] = trace / 2;
    if (progress) progress();
  }
  return index(step.turn) + 1 == pairs_.size() ? finish_pairs() : Status();
}

// Each gang sends its matrix to the previous gang and receives that of the next gang.
Status FullWork::pass_on(const double* from, double* to, const std::function<void()>& progress) {
  const auto gangs = static_cast<int>(in_.size.no_gang);
  const auto gang = static_cast<int>(gang_);
  const auto count = static_cast<int>(in_gang_->distribution().elements());
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  MPI_Irecv(to, count, MPI_DOUBLE, (gang + 1) % gangs, ring_tag, across_, requests.data());
  MPI_Isend(from, count, MPI_DOUBLE, (gang + gangs - 1) % gangs, ring_tag, across_,
            requests.data() + 1);
  for (MPI_Request& request : requests) {
    Status status = wait_for(request, in_.job.deadline_ns(), "passing a matrix to the next gang");
    if (!status) return status;
    if (progress) progress();
  }
  return {};
}

Status FullWork::finish_pairs() {
  const std::size_t bins = index(in_.size.no_bin);
  const std::size_t pixels = index(in_.size.no_pix);
  sum(in_.job.world, derivatives_.slope);
  sum(in_.job.world, derivatives_.fisher);
  for (std::size_t i = 0; i < bins; ++i) {
    for (std::size_t j = i + 1; j < bins; ++j) {
      derivatives_.fisher[i * bins + j] = derivatives_.fisher[j * bins + i];
    }
  }
  sum(in_.job.world, std::span(&derivatives_.log_likelihood, 1));
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    derivatives_.log_likelihood -= analysis_.data[pixel] * solution_[pixel] / 2;
  }
  if (analysis_.with_curvature) {
    sum(in_.job.world, left_);
    sum(in_.job.world, right_);
    derivatives_.curvature.assign(bins * bins, 0);
    for (std::size_t i = 0; i < bins; ++i) {
      for (std::size_t j = 0; j < bins; ++j) {
        double product = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
          product += left_[i * pixels + p] * right_[j * pixels + p];
        }
        derivatives_.curvature[i * bins + j] = product - derivatives_.fisher[i * bins + j];
      }
    }
  }
  // Sums may differ in the last bit between ranks, but the results that follow from them must not.
  for (std::vector<double>* values :
       {&derivatives_.slope, &derivatives_.fisher, &derivatives_.curvature}) {
    MPI_Bcast(values->data(), static_cast<int>(values->size()), MPI_DOUBLE, 0, in_.job.world);
  }
  MPI_Bcast(&derivatives_.log_likelihood, 1, MPI_DOUBLE, 0, in_.job.world);
  return solve();
}

Status FullWork::solve() {
  const auto factor = SmallFactor::create(derivatives_.fisher, index(in_.size.no_bin));
  if (!factor) {
    return invalid_argument(
        fmt::format("{} pixels do not determine {} bins, because their Fisher matrix is not "
                    "positive definite: use more pixels or fewer bins",
                    in_.size.no_pix, in_.size.no_bin));
  }
  corrections_ = factor->solve(derivatives_.slope);
  return {};
}

nlohmann::ordered_json FullWork::spectrum() const {
  nlohmann::ordered_json bins = nlohmann::ordered_json::array();
  for (std::size_t bin = 0; bin < corrections_.size(); ++bin) {
    const auto first = static_cast<std::int64_t>(bin) * multipoles_per_bin + 1;
    bins.push_back({{"first_multipole", first},
                    {"last_multipole", first + multipoles_per_bin - 1},
                    {"correction", corrections_[bin]}});
  }
  return {{"bins", bins}};
}

double FullWork::inverse_residual() {
  const Distribution& own = distribution();
  std::vector<double> inverse(matrix(4), matrix(4) + own.elements());
  begin_signal();
  for (std::int64_t bin = 0; bin < in_.size.no_bin; ++bin) add_bin(bin, matrix(2), {});
  add_noise();
  all_ranks_->multiply(matrix(4), inverse.data(), matrix(0), {});
  double largest = 0;
  for (std::int64_t i = 0; i < own.elements(); ++i) {
    const bool diagonal = own.global_row(i % own.rows()) == own.global_column(i / own.rows());
    largest = std::max(largest, std::abs(matrix(0)[i] - (diagonal ? 1 : 0)));
  }
  std::copy(inverse.begin(), inverse.end(), matrix(4));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, in_.job.world);
  return largest;
}

}  // namespace weir::bench::madbench
