#include "workloads/madbench/table.hpp"

#include <gtest/gtest.h>

namespace weir::bench::madbench {
namespace {

Spread seconds(double mean, double min, double max) {
  return {.min = min, .mean = mean, .max = max, .max_rank = 0};
}

TableHead head() {
  return {.size = {.no_pe = 4,
                   .no_pix = 2000,
                   .no_bin = 8,
                   .no_gang = 1,
                   .sblocksize = 32,
                   .fblocksize = 4096,
                   .rmod = 1,
                   .wmod = 1},
          .variant = {},
          .remap = "CUSTOM",
          .alpha = 0};
}

TEST(Table, IsTheOriginalsToTheLetter) {
  const FunctionTimes w{.function = Function::W,
                        .communication = seconds(0.44, 0.42, 0.46),
                        .busy_work = seconds(7.88, 7.87, 7.91),
                        .read = seconds(0.13, 0.12, 0.14),
                        .write = seconds(0.17, 0.16, 0.18),
                        .total = seconds(8.63, 8.63, 8.63),
                        .payload = {}};
  EXPECT_EQ(original_table(head(), {&w, 1}),
            "MADbench 2.0 IO-mode\n"
            "no_pe = 4  no_pix = 2000  no_bin = 8  no_gang = 1  sblocksize = 32  "
            "fblocksize = 4096  r_mod = 1  w_mod = 1\n"
            "IOMETHOD = POSIX  IOMODE = SYNC  FILETYPE = UNIQUE  REMAP = CUSTOM\n"
            "\n"
            "W_cc         0.44   [      0.42:      0.46]\n"
            "W_bw         7.88   [      7.87:      7.91]\n"
            "W_r          0.13   [      0.12:      0.14]\n"
            "W_w          0.17   [      0.16:      0.18]\n"
            "          -------\n"
            "W_total      8.63   [      8.63:      8.63]\n"
            "\n"
            "dC[0] = 0.00000e+00\n");
}

TEST(Table, LeavesZeroLinesOutAndNamesTheExponentWhenSet) {
  TableHead with_exponent = head();
  with_exponent.alpha = 1.25;
  const FunctionTimes s{.function = Function::S,
                        .communication = {},
                        .busy_work = seconds(1, 1, 1),
                        .read = {},
                        .write = {},
                        .total = seconds(1, 1, 1),
                        .payload = {}};
  const std::string text = original_table(with_exponent, {&s, 1});
  EXPECT_NE(text.find("REMAP = CUSTOM  BWEXP = 1.25\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("S_r"), std::string::npos) << text;
  EXPECT_EQ(text.find("S_cc"), std::string::npos) << text;
}

TEST(Table, FullModeNamesNoIoModeAndPrintsTheCorrection) {
  TableHead full = head();
  full.is_full = true;
  full.first_correction = -0.923881044;
  const FunctionTimes d{.function = Function::D,
                        .communication = seconds(1, 1, 1),
                        .busy_work = {},
                        .read = {},
                        .write = {},
                        .total = seconds(1, 1, 1),
                        .payload = {}};
  const std::string text = original_table(full, {&d, 1});
  EXPECT_TRUE(text.starts_with("MADbench 2.0\nno_pe")) << text;
  EXPECT_NE(text.find("D_cc         1.00"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\ndC[0] = -9.23881e-01\n")) << text;
}

}  // namespace
}  // namespace weir::bench::madbench
