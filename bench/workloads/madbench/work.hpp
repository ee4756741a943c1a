// What stands between the transfers of a run, and what the transfers carry.
//
// The executor (execute.hpp) moves matrices by a schedule and takes every time. A Work says which
// schedule, computes, owns the memory that the transfers use, and knows what must come back. There
// are two: busy work on a payload (io_work.hpp), and the analysis itself (full/full_work.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/payload.hpp"
#include "workloads/madbench/configuration.hpp"
#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {

// One rank's part of one matrix, as one transfer moves it.
struct Share {
  const Configuration& configuration;
  Function function = Function::S;
  std::int32_t repetition = 0;
  std::int64_t owner = 0;  // the rank whose place in the layout it is
  Step step;
  Extent extent;
  std::int64_t bytes = 0;  // that the transfer moves; O_DIRECT rounds extent.bytes up
};

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] virtual std::vector<Function> functions() const = 0;  // of a repetition, in order
  [[nodiscard]] virtual std::vector<Step> schedule(Function function) const = 0;
  // Busy work has a time of its own in the table; calculation counts with communication.
  [[nodiscard]] virtual bool is_busy_work() const = 0;

  // Before a function's first step. Collective over the job.
  virtual Status begin(Function function) = 0;
  // The computation of a step, with whatever messages it needs: collective over the gang level of
  // the function (schedule.hpp), a remapping over the job. `progress` advances transfers under way;
  // it is called often, or is empty where none can be.
  virtual Status compute(Function function, const Step& step,
                         const std::function<void()>& progress) = 0;

  [[nodiscard]] virtual std::byte* reading(const Step& step) = 0;  // where a read goes
  [[nodiscard]] virtual std::byte* writing(const Step& step) = 0;  // where a write comes from

  // Before a write and after a read, while no transfer is in flight: makes or takes note of what is
  // written, and compares what was read. Nothing returned: all bytes are right.
  virtual void prepare_write(const Share& share) = 0;
  [[nodiscard]] virtual std::vector<PayloadMismatch> check_read(const Share& share) = 0;

  // Whether the calculation itself wants another repetition; nothing where the rates decide. The
  // same on every rank.
  [[nodiscard]] virtual std::optional<bool> wants_more() const { return std::nullopt; }
  // What the last repetition computed: run.json's "spectrum"; null in I/O mode.
  [[nodiscard]] virtual nlohmann::ordered_json spectrum() const { return nullptr; }
  // What the result warns of at the end; empty: nothing.
  [[nodiscard]] virtual std::string warning() const { return ""; }
  // What is printed after the tables.
  [[nodiscard]] virtual std::string report() const { return ""; }
  // How check_read() knows what must come back; empty: by the payload (run_folder.hpp).
  [[nodiscard]] virtual const char* how_verified() const { return ""; }
  // After a failure the other ranks may be anywhere: nothing collective from now on.
  virtual void abandon() {}
};

}  // namespace weir::bench::madbench
