#include "workloads/madbench/io_work.hpp"

#include <nlohmann/json.hpp>
#include <span>

#include "measurement/busy_work.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t functions_that_write = 2;  // S and W, once each per repetition
constexpr std::uint32_t remembered_generations = 8;

// Returns a number from 1 that is unique for every rewriting of a file's bytes within the run.
std::uint32_t generation_written(Function function, std::int32_t repetition) {
  return static_cast<std::uint32_t>(repetition * functions_that_write) +
         (function == Function::S ? 1U : 2U);
}

std::uint32_t generation_read(Function function, std::int32_t repetition) {
  return generation_written(function == Function::W ? Function::S : Function::W, repetition);
}

std::span<std::uint64_t> words_of(std::byte* buffer, std::int64_t bytes) {
  return {reinterpret_cast<std::uint64_t*>(buffer), static_cast<std::size_t>(bytes / 8)};
}

}  // namespace

std::vector<Function> IoWork::functions() const { return {Function::S, Function::W, Function::C}; }

std::vector<Step> IoWork::schedule(Function function) const {
  return schedule_of(function, size_.no_bin, size_.no_gang);
}

Status IoWork::begin(Function /*function*/) { return {}; }

Status IoWork::compute(Function function, const Step& step, const std::function<void()>& progress) {
  // Remapping is busy work of exponent 2 over all ranks.
  const bool remap = step.action == Action::remap;
  const bool all = remap || compute_level(function) == GangLevel::all_ranks;
  const std::int64_t ranks = all ? size_.no_pe : size_.no_pe / size_.no_gang;
  const int exponent = remap ? 2 : compute_exponent(function);
  consumed_ += busy_work(busy_work_operations(size_.no_pix, exponent, alpha_, ranks), progress);
  return {};
}

std::byte* IoWork::reading(const Step& step) { return buffers_.reading(step.matrix); }
std::byte* IoWork::writing(const Step& step) { return buffers_.writing(step.matrix); }

PayloadStream IoWork::stream_of(const Share& share, std::uint32_t generation) const {
  const bool shared = share.configuration.variant.file_type == FileType::shared;
  return {.seed = share.configuration.payload_seed,
          .file = shared ? 0U : static_cast<std::uint32_t>(share.owner),
          .generation = generation,
          .compressible_percent = compressible_percent_};
}

void IoWork::prepare_write(const Share& share) {
  fill_payload(stream_of(share, generation_written(share.function, share.repetition)),
               static_cast<std::uint64_t>(share.extent.offset) / 8,
               words_of(writing(share.step), share.bytes));
}

std::vector<PayloadMismatch> IoWork::check_read(const Share& share) {
  const std::uint32_t generation = generation_read(share.function, share.repetition);
  std::vector<PayloadStream> earlier;
  for (std::uint32_t age = 1; age <= remembered_generations && age < generation; ++age) {
    earlier.push_back(stream_of(share, generation - age));
  }
  const Configuration& configuration = share.configuration;
  const std::int64_t file_bytes = configuration.variant.file_type == FileType::shared
                                      ? configuration.layout.disk_bytes()
                                      : configuration.layout.region(0).bytes;
  return check_payload(stream_of(share, generation),
                       static_cast<std::uint64_t>(share.extent.offset) / 8,
                       words_of(reading(share.step), share.extent.bytes), earlier,
                       static_cast<std::uint64_t>(file_bytes) / 8);
}

nlohmann::ordered_json IoWork::spectrum() const { return nullptr; }

}  // namespace weir::bench::madbench
