// The text that the original MADbench2 prints, reproduced exactly, because existing scripts read
// it.
#pragma once

#include <span>
#include <string>

#include "measurement/aggregate.hpp"
#include "workloads/madbench/parameters.hpp"
#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {

// Seconds over all ranks.
struct FunctionTimes {
  Function function = Function::S;
  Spread communication;  // cc: all but busy work, reading and writing; the waits
  Spread busy_work;      // bw
  Spread read;           // r, foreground
  Spread write;          // w, foreground, durable sync included
  Spread total;
  Spread payload;  // not printed: Weir's own work, which no other figure contains
};

struct TableHead {
  Size size;
  Variant variant;
  std::string remap;
  double alpha = 0;             // 0: not set
  bool is_full = false;         // otherwise I/O mode
  double first_correction = 0;  // dC[0]; 0 in I/O mode, where no spectrum is computed
};

[[nodiscard]] std::string original_table(const TableHead& head,
                                         std::span<const FunctionTimes> functions);

}  // namespace weir::bench::madbench
