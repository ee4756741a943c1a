#include "workloads/madbench/table.hpp"

#include <fmt/format.h>

namespace weir::bench::madbench {
namespace {

std::string line(const std::string& name, const Spread& seconds) {
  return fmt::format("{:<7}{:10.2f}   [{:10.2f}:{:10.2f}]\n", name, seconds.mean, seconds.min,
                     seconds.max);
}

std::string line_unless_zero(const char* function, const char* part, const Spread& seconds) {
  if (seconds.max <= 0) return "";
  return line(fmt::format("{}_{}", function, part), seconds);
}

}  // namespace

std::string original_table(const TableHead& head, std::span<const FunctionTimes> functions) {
  const Size& size = head.size;
  std::string text = head.is_full ? "MADbench 2.0\n" : "MADbench 2.0 IO-mode\n";
  text += fmt::format(
      "no_pe = {}  no_pix = {}  no_bin = {}  no_gang = {}  sblocksize = {}  fblocksize = {}  "
      "r_mod = {}  w_mod = {}\n",
      size.no_pe, size.no_pix, size.no_bin, size.no_gang, size.sblocksize, size.fblocksize,
      size.rmod, size.wmod);
  text += fmt::format("IOMETHOD = {}  IOMODE = {}  FILETYPE = {}  REMAP = {}",
                      method_name(head.variant.method), name_of(head.variant.mode),
                      name_of(head.variant.file_type), head.remap);
  if (head.alpha > 0) text += fmt::format("  BWEXP = {:.2f}", head.alpha);
  text += '\n';
  for (const FunctionTimes& times : functions) {
    const char* name = name_of(times.function);
    text += '\n';
    text += line_unless_zero(name, "cc", times.communication);
    text += line_unless_zero(name, "bw", times.busy_work);
    text += line_unless_zero(name, "r", times.read);
    text += line_unless_zero(name, "w", times.write);
    text += "          -------\n";
    text += line(fmt::format("{}_total", name), times.total);
  }
  text += fmt::format("\ndC[0] = {:.5e}\n", head.first_correction);
  return text;
}

}  // namespace weir::bench::madbench
