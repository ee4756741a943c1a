#include "workloads/madbench/request.hpp"

#include <fmt/format.h>

#include <utility>

#include "measurement/target_directories.hpp"
#include "workloads/madbench/filling.hpp"
#include "workloads/madbench/full/scalapack.hpp"
#include "workloads/madbench/message_work.hpp"

namespace weir::bench::madbench {
namespace {

Status check_direct(const Request& request) {
  if (!request.core.direct) return {};
  constexpr std::int64_t alignment = 4096;
  if (request.size.fblocksize % alignment != 0) {
    return invalid_argument(fmt::format("--direct: FBLOCKSIZE must be a multiple of {}; given: {}",
                                        alignment, request.size.fblocksize));
  }
  for (const Variant& variant : request.variants) {
    if (!variant.method->can.direct) {
      return invalid_argument(
          "--direct: MPI-IO has no portable O_DIRECT; use it with IOMETHOD = POSIX");
    }
  }
  return {};
}

// Spreads the files over several directories.
Status take_directories(const Program& program, Request& request) {
  auto directories = directories_of(request.settings, program.workload);
  if (!directories) return directories.error();
  request.directories = std::move(directories).value();
  if (request.directories.empty()) return {};
  if (!request.core.targets.empty()) {
    return invalid_argument(fmt::format(
        "{}: --directory with several directories and --targets both choose where files "
        "lie: give one of them",
        program.workload));
  }
  for (const Variant& variant : request.variants) {
    if (variant.file_type == FileType::unique) continue;
    return invalid_argument(
        fmt::format("{}: --directory: with FILETYPE = SHARED there is one file, in one directory: "
                    "give one directory, or FILETYPE = UNIQUE",
                    program.workload));
  }
  request.core.directory = request.directories.front();
  request.core.further_directories = {request.directories.begin() + 1, request.directories.end()};
  return {};
}

Status take_targets(const Program& program, Request& request) {
  std::vector<bool> file_per_rank;
  file_per_rank.reserve(request.variants.size());
  for (const Variant& variant : request.variants) {
    file_per_rank.push_back(variant.file_type == FileType::unique);
  }
  Status chosen = choose_form(file_per_rank, request.size.no_pe, &request.core.targets);
  if (chosen.ok()) return {};
  return invalid_argument(fmt::format("{}: {}", program.workload, chosen.error().message));
}

Status check_methods(const Request& request) {
  for (const Variant& variant : request.variants) {
    Status available = check_available(
        *variant.method, fmt::format("IOMETHOD (--iomethod) {}", method_name(variant.method)));
    if (!available) return available;
  }
  return {};
}

// In full mode the matrices are the analysis, so they must be moved, whole, to their own place.
Status check_full(const Request& request) {
  for (const Variant& variant : request.variants) {
    if (variant.mode != Mode::none) continue;
    return invalid_argument(
        "full mode reads its matrices back from disk, but IOMODE = NONE transfers nothing: use "
        "SYNC or ASYNC");
  }
  if (request.core.rank_shift != 0) {
    return invalid_argument(
        "--rank-shift: in full mode a rank's share of a matrix depends on its place in the process "
        "grid: use --drop-cache or --direct");
  }
  if (request.core.compressible_percent != 0) {
    return invalid_argument(
        "--compressible: full mode writes the matrices themselves: leave it out");
  }
  if (request.alpha > 0) {
    return invalid_argument(
        "BWEXP (--busy-work-exponent): full mode has no busy work: leave it out");
  }
  return check_scalapack(request.size);
}

// Returns whether the files hold the numbers of an analysis, and not the payload of I/O mode.
bool is_analysis(const Request& request) {
  return request.calculation == Calculation::full || request.calculation == Calculation::madcap;
}

Status check_messages(const Request& request) {
  if (request.full || request.alpha > 0) {
    return invalid_argument(fmt::format(
        "--messages: messages are in place of busy work and of the analysis: leave out {}",
        request.full ? "--full" : "BWEXP (--busy-work-exponent)"));
  }
  if (request.messages % 8 != 0) {
    return invalid_argument(
        fmt::format("--messages must be a multiple of 8; given: {}", request.messages));
  }
  const std::int64_t gang = request.size.no_pe / request.size.no_gang;
  if (gang > 1) return {};
  return invalid_argument(
      fmt::format("--messages: {} ranks in {} gangs: a rank that is a gang by itself has nobody to "
                  "send to: use fewer gangs or more ranks",
                  request.size.no_pe, request.size.no_gang));
}

Status read_madcap(Request& request) {
  if (request.variants.size() != 1) {
    return invalid_argument(fmt::format(
        "madcap: give one IOMETHOD, one FILETYPE and one IOMODE; given: {} combinations",
        request.variants.size()));
  }
  fill(request.settings, madcap_table(), &request.madcap);
  return {};
}

FieldSettings<Request> remap_table() {
  return {
      {&Request::remap,
       "remap",
       "redistribute matrices to gangs; in I/O mode with busy work of exponent 2",
       {.default_value = "CUSTOM",
        .metavar = "NAME",
        .choices = {"CUSTOM", "SCALAPACK"},
        .alias = "REMAP"}},
  };
}

// The settings of busy work, in whose place madcap has the analysis itself.
FieldSettings<Request> busy_work_table() {
  return {
      {&Request::alpha,
       "busy-work-exponent",
       "do busy work of NO_PIX^(2 ALPHA) operations in every function, instead of an exponent for "
       "each",
       {.metavar = "ALPHA",
        .alias = "BWEXP",
        .range = {.least = 0, .most = 3, .above_least = true}}},
      {&Request::full, "full", "run the analysis itself, with ScaLAPACK, instead of busy work"},
      {&Request::messages,
       "messages",
       "instead of busy work, ranks send each other BYTES in each computation: what I/O and "
       "messages "
       "cost each other, with IOMODE = SYNC,ASYNC",
       {.kind = SettingKind::bytes,
        .metavar = "BYTES",
        .range = {.least = 8, .most = static_cast<double>(most_message_bytes)},
        .recorded = "messages_bytes"}},
  };
}

}  // namespace

std::vector<Setting> declarations_of(const Program& program) {
  std::vector<Setting> own =
      declarations_of(size_table(), variant_table(), remap_table(), targets_table());
  const std::vector<Setting> more =
      program.is_madcap ? declarations_of(madcap_table()) : declarations_of(busy_work_table());
  own.insert(own.end(), more.begin(), more.end());
  return with_core_settings(std::move(own),
                            {{.name = "directory",
                              .metavar = "DIR[,DIR...]",
                              .help = "directory of the test files; of O directories the file of "
                                      "rank r is in number r mod O [files/ if it exists in the "
                                      "current directory, otherwise .]"}});
}

Result<Request> request_of(const Program& program, Settings settings, std::int64_t ranks,
                           const MemoryOfRank& memory) {
  Request request;
  request.settings = std::move(settings);
  auto core = core_settings_of(request.settings);
  if (!core) return core.error();
  request.core = std::move(core).value();
  auto size = size_of(request.settings, ranks, memory);
  if (!size) return size.error();
  request.size = size.value();
  request.filled_share = share_to_fill(request.settings.text("pixels"));
  request.variants = combinations(request.settings, variant_table());
  fill(request.settings, remap_table(), &request);
  Status status = take_directories(program, request);
  if (status.ok()) status = take_targets(program, request);
  if (status.ok()) status = check_methods(request);
  if (status.ok()) status = check_direct(request);
  if (program.is_madcap) {
    request.calculation = Calculation::madcap;
    if (status.ok()) status = read_madcap(request);
  } else {
    fill(request.settings, busy_work_table(), &request);
    if (request.full) request.calculation = Calculation::full;
    if (request.messages > 0) {
      request.calculation = Calculation::messages;
      if (status.ok()) status = check_messages(request);
    }
  }
  if (status.ok() && is_analysis(request)) status = check_full(request);
  if (!status) return status.error();
  auto layout = Layout::create(request.size, request.variants.front().file_type);
  if (!layout) return layout.error();
  request.layout = layout.value();
  return request;
}

}  // namespace weir::bench::madbench
