// I/O mode: busy work between the transfers of a payload that identifies its position.
#pragma once

#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/parameters.hpp"
#include "workloads/madbench/work.hpp"

namespace weir::bench::madbench {

class IoWork : public Work {
 public:
  // `alpha` is BWEXP, or 0 if it is not given. `buffers` must outlive the work.
  IoWork(const Size& size, double alpha, int compressible_percent, Buffers& buffers)
      : size_(size),
        alpha_(alpha),
        compressible_percent_(compressible_percent),
        buffers_(buffers) {}

  [[nodiscard]] std::vector<Function> functions() const override;
  [[nodiscard]] std::vector<Step> schedule(Function function) const override;
  [[nodiscard]] bool is_busy_work() const override { return true; }
  Status begin(Function function) override;
  Status compute(Function function, const Step& step,
                 const std::function<void()>& progress) override;
  [[nodiscard]] std::byte* reading(const Step& step) override;
  [[nodiscard]] std::byte* writing(const Step& step) override;
  void prepare_write(const Share& share) override;
  [[nodiscard]] std::vector<PayloadMismatch> check_read(const Share& share) override;
  [[nodiscard]] nlohmann::ordered_json spectrum() const override;

  [[nodiscard]] double consumed() const {
    return consumed_;
  }  // keeps the compiler from removing the busy work

 private:
  [[nodiscard]] PayloadStream stream_of(const Share& share, std::uint32_t generation) const;

  Size size_;
  double alpha_;
  int compressible_percent_;
  Buffers& buffers_;
  double consumed_ = 0;
};

}  // namespace weir::bench::madbench
