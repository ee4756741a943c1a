#include "workloads/madbench/request.hpp"

#include <fmt/format.h>

#include <utility>

#include "workloads/madbench/full/scalapack.hpp"

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
    if (variant.method == Method::mpi) {
      return invalid_argument(
          "--direct: MPI-IO has no portable O_DIRECT; use it with IOMETHOD = POSIX");
    }
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
  if (request.settings.has("busy-work-exponent")) {
    return invalid_argument(
        "BWEXP (--busy-work-exponent): full mode has no busy work: leave it out");
  }
  return check_scalapack(request.size);
}

Status read_alpha(Request& request) {
  if (!request.settings.has("busy-work-exponent")) return {};
  request.alpha = request.settings.real("busy-work-exponent");
  if (request.alpha > 0 && request.alpha <= 3) return {};
  return invalid_argument(fmt::format(
      "BWEXP (--busy-work-exponent) must be above 0 and at most 3; given: {}", request.alpha));
}

Status read_madcap(Request& request) {
  if (request.variants.size() != 1) {
    return invalid_argument(fmt::format(
        "madcap: give one IOMETHOD, one FILETYPE and one IOMODE; given: {} combinations",
        request.variants.size()));
  }
  auto madcap = madcap_settings_of(request.settings);
  if (!madcap) return madcap.error();
  request.madcap = madcap.value();
  return {};
}

}  // namespace

std::vector<Setting> declarations_of(const Program& program) {
  std::vector<Setting> all;
  for (Setting& setting : declarations()) {
    // madcap is the analysis itself, so it has no busy work in its place.
    if (program.is_madcap && setting.name == "busy-work-exponent") continue;
    all.push_back(std::move(setting));
  }
  if (program.is_madcap) {
    for (Setting& setting : madcap_declarations()) all.push_back(std::move(setting));
  } else {
    all.push_back({.name = "full",
                   .kind = SettingKind::flag,
                   .default_value = "false",
                   .help = "run the analysis itself, with ScaLAPACK, instead of busy work"});
  }
  for (Setting& setting : core_declarations()) all.push_back(std::move(setting));
  return all;
}

Result<Request> request_of(const Program& program, Settings settings, std::int64_t ranks) {
  Request request;
  request.settings = std::move(settings);
  auto core = core_settings_of(request.settings);
  if (!core) return core.error();
  request.core = std::move(core).value();
  auto size = size_of(request.settings, ranks);
  if (!size) return size.error();
  request.size = size.value();
  request.variants = variants_of(request.settings);
  Status status = check_direct(request);
  if (program.is_madcap) {
    request.calculation = Calculation::madcap;
    if (status.ok()) status = read_madcap(request);
  } else if (request.settings.flag("full")) {
    request.calculation = Calculation::full;
  } else if (status.ok()) {
    status = read_alpha(request);
  }
  if (status.ok() && request.calculation != Calculation::busy_work) status = check_full(request);
  if (!status) return status.error();
  auto layout = Layout::create(request.size, request.variants.front().file_type);
  if (!layout) return layout.error();
  request.layout = layout.value();
  return request;
}

}  // namespace weir::bench::madbench
