// The request in a command line, after it was checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/madbench/full/madcap_settings.hpp"
#include "workloads/madbench/layout.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

enum class Calculation { busy_work, messages, full, madcap };

// The workloads of this folder. They differ in what happens between the transfers.
struct Program {
  const char* workload;
  const char* title;
  const char* description;
  bool is_madcap;
};

struct Request {
  Settings settings;
  CoreSettings core;
  Size size;
  std::optional<double> filled_share;  // of the memory, by which NO_PIX was chosen
  Layout layout;  // of the first variant; all need the same memory and disk space
  std::vector<Variant> variants;
  std::vector<std::string> directories;  // of --directory, if there are several
  Calculation calculation = Calculation::busy_work;
  std::string remap;          // CUSTOM or SCALAPACK
  double alpha = 0;           // exponent of the busy work; 0: not given
  bool full = false;          // --full
  std::int64_t messages = 0;  // bytes that a rank sends in a computation; 0: busy work
  MadcapSettings madcap;      // of the workload madcap
};

[[nodiscard]] std::vector<Setting> declarations_of(const Program& program);
[[nodiscard]] Result<Request> request_of(const Program& program, Settings settings,
                                         std::int64_t ranks, const MemoryOfRank& memory);

}  // namespace weir::bench::madbench
