// Calls that write or read a rank's own region, by all ranks together or by one rank alone.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "capi/session.hpp"
#include "capi/transfer_argument.hpp"

namespace weir::capi {
namespace {

struct GivenRegion {
  const char* call;
  Direction direction;
  const weir_region* region;
};

struct RegionContent : Content {
  array::Section region;
};

Outcome read_given(const weir_array& array, const GivenRegion& given, RegionContent& content) {
  auto read = outcome_without_throwing(
      [&] { return read_region(array, given.region, given.direction, content, content.region); });
  if (!read.ok()) read.text.insert(0, fmt::format("{}: ", given.call));
  return read;
}

weir_request submit(weir_array& array, const GivenRegion& given) {
  const auto content = std::make_shared<RegionContent>();
  const Outcome prepared = read_given(array, given, *content);
  const std::string text = fmt::format("{}({}{})", given.call, array.text, step_text(array));
  auto request = array.session->collective->begin_regions(
      aggregation::Call::of(text, status_of(prepared)), array.file, given.direction,
      {content->region, content->pieces}, content);
  return {array.session, std::move(request), content, given.direction};
}

int move_now(weir_array* array, const GivenRegion& given) {
  return report_outcome_of([&]() -> Outcome {
    if (array == nullptr) return null_argument(given.call, "array");
    return outcome_of(submit(*array, given).request->wait());
  });
}

int begin(weir_array* array, const GivenRegion& given, weir_request** request) {
  if (request != nullptr) *request = nullptr;
  return report_outcome_of([&]() -> Outcome {
    if (array == nullptr) return null_argument(given.call, "array");
    if (request == nullptr) return null_argument(given.call, "request");
    auto handle = std::make_unique<weir_request>(submit(*array, given));
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
    if (session.broken()) return outcome_of(session.collective->calls().broken_session());
    RegionContent content;
    auto outcome = read_given(*array, given, content);
    if (outcome.ok()) {
      outcome = outcome_of(session.collective->move_alone(*array->file, given.direction,
                                                          {content.region, content.pieces}),
                           given.call);
    }
    if (!outcome.ok()) outcome.text.insert(0, fmt::format("rank {}: ", session.rank()));
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
