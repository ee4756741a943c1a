// Calls that write or read a rank's own region, by all ranks together or by one rank alone.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "capi/region_argument.hpp"
#include "capi/session.hpp"
#include "capi/transfer_argument.hpp"

namespace weir::capi {
namespace {

struct GivenRegion {
  const char* call;
  Direction direction;
  const weir_region* region;
};

struct RegionContent {
  Content memory;
  array::Section region;
};

Outcome read_given(const weir_array& array, const GivenRegion& given, RegionContent& content) {
  auto read = outcome_without_throwing([&] {
    return read_region(array, given.region, given.direction, content.memory, content.region);
  });
  if (!read.ok()) read.text.insert(0, fmt::format("{}: ", given.call));
  return read;
}

std::shared_ptr<Operation> submit(weir_array& array, const GivenRegion& given) {
  weir_session& session = *array.session;
  const auto operation = std::make_shared<Operation>();
  const auto content = std::make_shared<RegionContent>();
  operation->prepared = read_given(array, given, *content);
  operation->call = fmt::format("{}({})", given.call, array.text);
  const auto known =
      operation->prepared.ok() ? session.known_regions.find(array.shape, content->region) : nullptr;
  // If this rank remembers nothing, it gives a number that no other rank gives.
  operation->remembered = known != nullptr ? known->number : -1 - session.ranks.rank();
  operation->start = [&session, &array, content, known, direction = given.direction,
                      voted = operation.get()] {
    session.has_figures = true;
    const bool all_know = known != nullptr && Ranks::remember_the_same(voted->comparison);
    return session.collective->begin_regions(
        *array.file, direction, {content->region, content->memory.pieces},
        all_know ? std::optional(known->all) : std::nullopt,
        [&session, shape = array.shape, own = content->region](const auto& all) {
          const auto oldest = session.known_regions.add(shape, own, all);
          if (oldest) session.collective->forget_regions(*oldest);
        });
  };
  operation->leave_callers_memory = [content, direction = given.direction] {
    return content->memory.leave_callers_memory(direction);
  };
  session.queue.submit(operation);
  return operation;
}

int move_now(weir_array* array, const GivenRegion& given) {
  return report_outcome_of([&]() -> Outcome {
    if (array == nullptr) return null_argument(given.call, "array");
    return array->session->queue.complete(*submit(*array, given));
  });
}

int begin(weir_array* array, const GivenRegion& given, weir_request** request) {
  if (request != nullptr) *request = nullptr;
  return report_outcome_of([&]() -> Outcome {
    if (array == nullptr) return null_argument(given.call, "array");
    if (request == nullptr) return null_argument(given.call, "request");
    auto handle = std::make_unique<weir_request>();
    handle->session = array->session;
    handle->operation = submit(*array, given);
    *request = handle.get();
    array->session->requests.push_back(std::move(handle));
    return {};
  });
}

int move_alone(weir_array* array, const GivenRegion& given) {
  return report_outcome_of([&]() -> Outcome {
    if (array == nullptr) return null_argument(given.call, "array");
    if (given.region == nullptr) return null_argument(given.call, "region");
    weir_session& session = *array->session;
    if (session.ranks.broken()) return session.ranks.broken_session();
    RegionContent content;
    auto outcome = read_given(*array, given, content);
    if (outcome.ok()) {
      outcome = outcome_of(session.collective->move_alone(*array->file, given.direction,
                                                          {content.region, content.memory.pieces}),
                           given.call);
    }
    if (!outcome.ok()) outcome.text.insert(0, fmt::format("rank {}: ", session.ranks.rank()));
    return outcome;
  });
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_write_region(weir_array* array, const weir_region* region) {
  return weir::capi::move_now(array, {"weir_write_region", weir::Direction::write, region});
}

int weir_read_region(weir_array* array, const weir_region* region) {
  return weir::capi::move_now(array, {"weir_read_region", weir::Direction::read, region});
}

int weir_write_region_begin(weir_array* array, const weir_region* region, weir_request** request) {
  return weir::capi::begin(array, {"weir_write_region_begin", weir::Direction::write, region},
                           request);
}

int weir_read_region_begin(weir_array* array, const weir_region* region, weir_request** request) {
  return weir::capi::begin(array, {"weir_read_region_begin", weir::Direction::read, region},
                           request);
}

int weir_write_region_independent(weir_array* array, const weir_region* region) {
  return weir::capi::move_alone(array,
                                {"weir_write_region_independent", weir::Direction::write, region});
}

int weir_read_region_independent(weir_array* array, const weir_region* region) {
  return weir::capi::move_alone(array,
                                {"weir_read_region_independent", weir::Direction::read, region});
}

}  // extern "C"
