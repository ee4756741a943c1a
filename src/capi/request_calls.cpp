// Calls on requests: submitting, waiting, testing and detaching.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "array/section.hpp"
#include "capi/chosen_chunks.hpp"
#include "capi/session.hpp"
#include "capi/transfer_argument.hpp"

namespace weir::capi {
namespace {

std::string section_text(const weir_section* section, int dimensions) {
  if (section == nullptr || section->start == nullptr || section->count == nullptr) return "all";
  std::string text;
  for (int d = 0; d < dimensions; ++d) {
    text += fmt::format("{}{}+{}", d == 0 ? "" : ", ", section->start[d], section->count[d]);
    if (section->stride != nullptr && section->stride[d] != 1) {
      text += fmt::format(" by {}", section->stride[d]);
    }
  }
  return text;
}

// Returns what must be alike on all ranks. Uses only transfers that passed their checks.
std::string text_of(const GivenTransfers& given, const Content& content) {
  std::string text = fmt::format("{}({} transfers", given.call, given.count);
  for (std::int32_t number = 0; given.transfers != nullptr && number < given.count; ++number) {
    const weir_transfer& transfer = given.transfers[number];
    // The remaining transfers have been refused.
    if (static_cast<std::size_t>(number) >= content.parts.size()) break;
    text += fmt::format("; {}{} by {}, section {}", transfer.array->text,
                        step_text(*transfer.array), transfer.distribution->text,
                        section_text(transfer.section, transfer.array->shape.dimensions()));
  }
  return text + ")";
}

// Submits a request. `stays`: `given` remains valid until the request has ended.
weir_request submit(weir_session& session, const GivenTransfers& given, bool stays) {
  const auto content = std::make_shared<Content>();
  aggregation::Call call = aggregation::Call::of(given.call);
  call.possible =
      status_of(outcome_without_throwing([&] { return read_transfers(session, given, *content); }));
  if (stays) {
    call.describe = [given, &content = *content] { return text_of(given, content); };
  } else {
    call.describe = [text = text_of(given, *content)] { return text; };
  }
  auto request = session.collective->begin(call, given.direction, content->parts, content);
  return {&session, std::move(request), content, given.direction};
}

int begin(weir_session* session, const GivenTransfers& given, weir_request** request) {
  if (request != nullptr) *request = nullptr;
  return report_outcome_of([&]() -> Outcome {
    if (session == nullptr) return null_argument(given.call, "session");
    if (request == nullptr) return null_argument(given.call, "request");
    auto handle = std::make_unique<weir_request>(submit(*session, given, false));
    *request = handle.get();
    session->requests.push_back(std::move(handle));
    return {};
  });
}

int transfer_now(weir_session* session, const GivenTransfers& given) {
  return report_outcome_of([&]() -> Outcome {
    if (session == nullptr) return null_argument(given.call, "session");
    return outcome_of(submit(*session, given, true).request->wait());
  });
}

int transfer_one(weir_array* array, const weir_distribution* distribution, void* data,
                 const char* call, Direction direction) {
  if (array == nullptr) return report(null_argument(call, "array"));
  weir_transfer transfer = {};
  transfer.array = array;
  transfer.distribution = distribution;
  transfer.data = data;
  return transfer_now(array->session, {call, direction, 1, &transfer});
}

Outcome explain(weir_session& session, std::int32_t direction, const GivenTransfers& asked,
                const char** text) {
  if (direction != WEIR_WRITE && direction != WEIR_READ) {
    return bad_argument(fmt::format("{}: direction is {}: give WEIR_WRITE (0) or WEIR_READ (1)",
                                    asked.call, direction));
  }
  const Direction way = direction == WEIR_WRITE ? Direction::write : Direction::read;
  Content content;
  auto outcome = read_each(asked, [&](const weir_transfer& transfer) {
    return read_asked(session, transfer, way, content, content.parts.emplace_back());
  });
  if (!outcome.ok()) return outcome;
  auto explained = session.collective->explain(content.parts, way);
  if (!explained) return outcome_of(explained.error(), asked.call);
  session.explanation = std::move(explained).value();
  std::set<const weir_array*> told;
  for (std::int32_t i = 0; i < asked.count; ++i) {
    const weir_transfer& transfer = *std::next(asked.transfers, i);
    if (!told.insert(transfer.array).second) continue;
    const std::string chunks = about_chosen_chunks(*transfer.array, *transfer.distribution);
    if (!chunks.empty()) session.explanation += "\n" + chunks;
  }
  *text = session.explanation.c_str();
  return {};
}

// Waits until the request has ended, frees its handle, and returns its outcome.
Outcome take(weir_request** request) {
  weir_request* const taken = std::exchange(*request, nullptr);
  Outcome outcome = outcome_of(taken->request->wait());
  taken->session->remove(taken);
  return outcome;
}

// Detaches the request, which then continues without the program's memory, and frees its handle.
Outcome detach(weir_request** request) {
  weir_request* const taken = std::exchange(*request, nullptr);
  weir_session& session = *taken->session;
  Outcome detached;
  if (!taken->request->ended() && !session.broken()) {
    detached = outcome_without_throwing(
        [&] { return taken->content->leave_callers_memory(taken->direction); });
    // After a failure the request must not move on any more.
    if (!detached.ok()) session.collective->calls().mark_broken(detached.text);
  }
  session.remove(taken);
  return detached;
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_write(weir_array* array, const weir_distribution* distribution, const void* data) {
  // Writing does not change the memory.
  void* const memory = const_cast<void*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return weir::capi::transfer_one(array, distribution, memory, "weir_write",
                                  weir::Direction::write);
}

int weir_read(weir_array* array, const weir_distribution* distribution, void* data) {
  return weir::capi::transfer_one(array, distribution, data, "weir_read", weir::Direction::read);
}

int weir_write_many(weir_session* session, std::int32_t count, const weir_transfer* transfers) {
  return weir::capi::transfer_now(session,
                                  {"weir_write_many", weir::Direction::write, count, transfers});
}

int weir_read_many(weir_session* session, std::int32_t count, const weir_transfer* transfers) {
  return weir::capi::transfer_now(session,
                                  {"weir_read_many", weir::Direction::read, count, transfers});
}

int weir_write_begin(weir_session* session, std::int32_t count, const weir_transfer* transfers,
                     weir_request** request) {
  return weir::capi::begin(session, {"weir_write_begin", weir::Direction::write, count, transfers},
                           request);
}

int weir_read_begin(weir_session* session, std::int32_t count, const weir_transfer* transfers,
                    weir_request** request) {
  return weir::capi::begin(session, {"weir_read_begin", weir::Direction::read, count, transfers},
                           request);
}

int weir_session_explain(weir_session* session, std::int32_t direction, std::int32_t count,
                         const weir_transfer* transfers, const char** text) {
  if (text != nullptr) *text = nullptr;
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    constexpr const char* call = "weir_session_explain";
    if (session == nullptr) return weir::capi::null_argument(call, "session");
    if (text == nullptr) return weir::capi::null_argument(call, "text");
    return weir::capi::explain(*session, direction,
                               {call, weir::Direction::write, count, transfers}, text);
  });
}

int weir_wait(weir_request** request) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (request == nullptr || *request == nullptr) {
      return weir::capi::null_argument("weir_wait", "request");
    }
    return weir::capi::take(request);
  });
}

int weir_test(weir_request** request, std::int32_t* complete) {
  if (complete != nullptr) *complete = 0;
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (request == nullptr || *request == nullptr) {
      return weir::capi::null_argument("weir_test", "request");
    }
    if (complete == nullptr) return weir::capi::null_argument("weir_test", "complete");
    if (!(*request)->request->test()) return {};
    *complete = 1;
    return weir::capi::take(request);
  });
}

int weir_request_detach(weir_request** request) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    if (request == nullptr || *request == nullptr) {
      return weir::capi::null_argument("weir_request_detach", "request");
    }
    return weir::capi::detach(request);
  });
}

}  // extern "C"
