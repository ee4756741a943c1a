// The work between the transfers of a run, and the data that the transfers carry.
//
// The executor (execute.hpp) moves matrices by a schedule and takes every time. A Work selects the
// schedule, computes, owns the memory that the transfers use, and knows what data must be read
// back. There are three: busy work on a payload (io_work.hpp), messages in place of
// it (message_work.hpp), and the analysis itself (full/full_work.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/payload.hpp"
#include "workloads/madbench/configuration.hpp"
#include "workloads/madbench/exchanges.hpp"
#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {

// One rank's part of one matrix, as one transfer moves it.
struct Share {
  const Configuration& configuration;
  Function function = Function::S;
  std::int32_t repetition = 0;
  std::int64_t owner = 0;  // the rank to which this place in the layout belongs
  Step step;
  Extent extent;
  std::int64_t bytes = 0;  // size of the transfer; O_DIRECT rounds extent.bytes up
};

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  [[nodiscard]] virtual std::vector<Function> functions() const = 0;  // of a repetition, in order
  [[nodiscard]] virtual std::vector<Step> schedule(Function function) const = 0;
  // Returns whether the computation is busy work, which has its own time in the table. Calculation
  // counts as communication.
  [[nodiscard]] virtual bool is_busy_work() const = 0;

  // Prepares a function before its first step. Collective over the job.
  virtual Status begin(Function function) = 0;
  // Does the computation of a step, with the messages that it needs. Collective over the gang level
  // of the function (schedule.hpp); a remapping is collective over the job. `progress` advances
  // pending transfers. It is called often, and is empty if no transfer can be pending.
  virtual Status compute(Function function, const Step& step,
                         const std::function<void()>& progress) = 0;

  [[nodiscard]] virtual std::byte* reading(const Step& step) = 0;  // target of a read
  [[nodiscard]] virtual std::byte* writing(const Step& step) = 0;  // source of a write

  // Called before a write and after a read, while no transfer is in flight. prepare_write()
  // generates or records what is written. check_read() compares what was read and returns nothing
  // if all bytes are right.
  virtual void prepare_write(const Share& share) = 0;
  [[nodiscard]] virtual std::vector<PayloadMismatch> check_read(const Share& share) = 0;

  // Returns whether the calculation itself needs another repetition, or nothing if the rates
  // decide. The result is the same on every rank.
  [[nodiscard]] virtual std::optional<bool> wants_more() const { return std::nullopt; }
  // Returns what the last repetition computed, run.json's "spectrum"; null in I/O mode.
  [[nodiscard]] virtual nlohmann::ordered_json spectrum() const = 0;
  // Returns the warning for the result at the end; empty if there is none.
  [[nodiscard]] virtual std::string warning() const { return ""; }
  // Returns the text that is printed after the tables.
  [[nodiscard]] virtual std::string report() const { return ""; }
  // Returns the messages of the latest repetition, of works whose computation is messages alone.
  [[nodiscard]] virtual std::span<const Exchange> exchanges() const { return {}; }
  // Returns how check_read() knows the right data; empty means by the payload (run_folder.hpp).
  [[nodiscard]] virtual const char* how_verified() const { return ""; }
  // After a failure the other ranks may be anywhere in the code, so nothing collective may follow
  // this call.
  virtual void abandon() {}
};

}  // namespace weir::bench::madbench
