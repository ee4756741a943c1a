#include "workloads/flash/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/setting_fields.hpp"
#include "workloads/flash/tree.hpp"

namespace weir::bench::flash {
namespace {

constexpr std::int64_t most_blocks = 1 << 20;  // every rank makes the tree, in a few seconds
constexpr double most_along = 1024;
constexpr double most_variables = 100;
constexpr double most_files = 1000;

Error refuse(const std::string& rule) { return output::refuse("flash", rule); }

Result<std::vector<std::int64_t>> parse_variables(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, number);
    if (error != std::errc() || rest != text.data() + end || number < 1) {
      return invalid_argument("is not a list of numbers of variables, from 1 on");
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      return invalid_argument(fmt::format("has {} twice", number));
    }
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

FieldSettings<Options> options_table() {
  return {
      {&Options::blocks,
       "blocks",
       "blocks per rank, on average; the ranks have this number rounded down or up",
       {.default_value = "9.6", .metavar = "NUMBER", .range = {1, most_blocks}}},
      {&Options::block_seed,
       "block-seed",
       "seed that decides which ranks have one block more",
       {.default_value = "1", .metavar = "N"}},
      {&Options::nxb,
       "nxb",
       "cells of a block along x",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::nyb,
       "nyb",
       "cells of a block along y",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::nzb,
       "nzb",
       "cells of a block along z",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::variables,
       "variables",
       "variables of a checkpoint, in double precision",
       {.default_value = "10", .metavar = "N", .range = {1, most_variables}}},
      {&Options::plot_variables,
       parse_variables,
       "plot-variables",
       "numbers of the variables of a plot file, in single precision",
       {.default_value = "1,6,7", .metavar = "LIST"}},
      {&Options::checkpoints,
       "checkpoints",
       "checkpoint files of a repetition",
       {.default_value = "5", .metavar = "N", .range = {0, most_files}}},
      {&Options::plots,
       "plots",
       "plot files of a repetition",
       {.default_value = "6", .metavar = "N", .range = {0, most_files}}},
  };
}

}  // namespace

std::vector<Setting> declarations() { return declarations_of(options_table()); }

Options options_of(const Settings& settings) {
  Options options;
  fill(settings, options_table(), &options);
  return options;
}

Status check_combination(const Options& options, std::int64_t ranks,
                         const std::vector<output::Variant>& variants) {
  if (options.checkpoints + options.plots == 0) {
    return refuse("--checkpoints and --plots are both 0: there is nothing to write");
  }
  for (const std::int64_t number : options.plot_variables) {
    if (options.plots == 0 || number <= options.variables) continue;
    return refuse(fmt::format("--plot-variables: {} is beyond the {} variables (--variables)",
                              number, options.variables));
  }
  const BlockDistribution distribution(options.blocks, ranks, options.block_seed);
  if (distribution.blocks() > most_blocks) {
    return refuse(fmt::format("--blocks: {} blocks on {} ranks; at most {} are allowed",
                              distribution.blocks(), ranks, most_blocks));
  }
  return output::check_count("flash", "blocks", distribution.most() * options.cells(), variants);
}

}  // namespace weir::bench::flash
