// Full mode: the analysis that MADbench2 stands for, with ScaLAPACK (Borrill et al., section 2.2).
//
//   S   dS/dC_b = sum over the bin's multipoles of w_l (2l+1)/(4 pi) P_l(cos chi), written;
//       S = sum of C_b dS/dC_b
//   D   D = S + noise variance, inverted
//   W   z = D^-1 d; each gang: W_b = D^-1 dS/dC_b, dL/dC_b = (d^T W_b z - Tr W_b) / 2, W_b written
//   C   F_bb' = Tr(W_b W_b') / 2 for all pairs, dC = F^-1 dL/dC
//
// Bin b (from 0) holds the multipoles 10b+1 … 10b+10. MADbench2 has w_l = C_b = d = noise = 1.
//
// This table shows the use of a rank's five matrices (buffers.hpp) by function. S's share over all
// ranks and W's share over a gang both fit into each:
//
//        0                   1                2         3         4
//   S    P_{l-1}             P_l              dS/dC_b, alternating  S
//   D    transpose of D^-1   -                -         -         D, D^-1
//   W    reads dS/dC_b, alternating           W_b, alternating    D^-1       one gang
//   W    reads even parts    dS/dC_b          W_b, alternating    D^-1       several gangs
//   C    reads W_b, alternating               from the next gang, W_b^T of the column
//                                             alternating
//
// With several gangs, the odd parts of a unit's matrices are read into the buffer of the next W_b.
// The buffer of that W_b is free from the end of the last write but one until the unit's
// computation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/full/fingerprints.hpp"
#include "workloads/madbench/full/remap.hpp"
#include "workloads/madbench/full/scalapack.hpp"
#include "workloads/madbench/full/sky.hpp"
#include "workloads/madbench/work.hpp"

namespace weir::bench::madbench {

inline constexpr std::int64_t multipoles_per_bin = 10;

// The map, and the assumptions about it.
struct Analysis {
  std::vector<double> weights;   // w_l of l = 1, 2, …; ten per bin
  std::vector<double> spectrum;  // C_b
  double noise_variance = 1;     // of each pixel
  std::vector<double> data;      // d, by pixel
  bool with_curvature = false;   // whether Derivatives::curvature is computed
};
[[nodiscard]] Analysis madbench_analysis(const Size& size);

// The likelihood L of a map as a function of the spectrum, at one spectrum. All ranks have the same
// values.
struct Derivatives {
  std::vector<double> slope;   // dL/dC_b
  std::vector<double> fisher;  // F, no_bin × no_bin
  // -d2L/dC_b dC_b' = d^T W_b W_b' z - F; empty unless requested.
  std::vector<double> curvature;
  double log_likelihood = 0;  // -(d^T D^-1 d + ln det D) / 2
};

struct FullInputs {
  const Job& job;
  FailureGuard& guard;
  Size size;
  bool remap_by_scalapack = false;
  const ScalapackFunctions& functions;
  Buffers& buffers;  // at least as large as the largest share of both gang levels
};

class FullWork : public Work {
 public:
  // Collective over the job.
  FullWork(const FullInputs& inputs, Analysis analysis);
  FullWork(const FullWork&) = delete;
  FullWork& operator=(const FullWork&) = delete;
  ~FullWork() override;  // collective, unless abandoned

  [[nodiscard]] std::vector<Function> functions() const override;
  [[nodiscard]] std::vector<Step> schedule(Function function) const override;
  [[nodiscard]] bool is_busy_work() const override { return false; }
  Status begin(Function function) override;
  Status compute(Function function, const Step& step,
                 const std::function<void()>& progress) override;
  [[nodiscard]] std::byte* reading(const Step& step) override;
  [[nodiscard]] std::byte* writing(const Step& step) override;
  void prepare_write(const Share& share) override;
  [[nodiscard]] std::vector<PayloadMismatch> check_read(const Share& share) override;
  [[nodiscard]] nlohmann::ordered_json spectrum() const override;
  [[nodiscard]] const char* how_verified() const override;
  void abandon() override;

  [[nodiscard]] const std::vector<double>& corrections() const { return corrections_; }  // dC
  [[nodiscard]] const Derivatives& derivatives() const { return derivatives_; }
  // Returns the largest element of |D D^-1 - identity|, with D computed again. Collective; may be
  // called after D and before C. It is for tests, since it uses all five matrices.
  [[nodiscard]] double inverse_residual();

 protected:
  // Does the last step of C: here dC = F^-1 dL/dC. All ranks get the same result.
  virtual Status solve();

  // Sets up the recurrence and S = 0.
  void begin_signal();
  // Computes dS/dC_b of the next bin into `component`, and adds C_b dS/dC_b to S.
  void add_bin(std::int64_t bin, double* component, const std::function<void()>& progress);
  void add_noise();
  Status factor_covariance();
  // Replaces each of `values` by its sum over the ranks of `communicator`.
  void sum(MPI_Comm communicator, std::span<double> values);

  [[nodiscard]] double* matrix(std::int64_t number) const;
  [[nodiscard]] const FullInputs& inputs() const { return in_; }
  [[nodiscard]] const Distribution& distribution() const { return all_ranks_->distribution(); }

  Analysis analysis_;
  std::vector<double> corrections_;

 private:
  Status begin_results();
  Status invert();
  Status remap(std::int64_t part, const double* share, double* gang_share,
               const std::function<void()>& progress);
  Status multiply(const Step& step, const std::function<void()>& progress);
  void differentiate(std::int64_t bin, const double* result);
  Status pair(const Step& step, const std::function<void()>& progress);
  Status pass_on(const double* from, double* to, const std::function<void()>& progress);
  Status finish_pairs();

  FullInputs in_;
  std::int64_t ranks_per_gang_;
  std::int64_t gang_;
  MPI_Comm gang_communicator_ = MPI_COMM_NULL;
  MPI_Comm across_ =
      MPI_COMM_NULL;  // the ranks with the same number in every gang, ordered by gang
  std::unique_ptr<ProcessGrid> all_ranks_;
  std::unique_ptr<ProcessGrid> in_gang_;
  Remapping remapping_;
  std::vector<Direction3> sky_;
  std::vector<Pair> pairs_;
  Function function_ = Function::S;
  std::vector<double> solution_;  // z, by pixel
  // This rank's part of sums over all ranks, which are completed at the end of C.
  Derivatives derivatives_;
  std::vector<double> left_;   // W_b^T d, no_bin × pixels; only with curvature
  std::vector<double> right_;  // W_b z
  Fingerprints fingerprints_;
};

}  // namespace weir::bench::madbench
