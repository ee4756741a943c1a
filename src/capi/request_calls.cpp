// Requests: from the caller's transfers to the parts that the collective layer takes.
#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/section.hpp"
#include "capi/extents_argument.hpp"
#include "capi/memory_argument.hpp"
#include "capi/session.hpp"
#include "plan/fingerprint.hpp"

namespace weir::capi {
namespace {

using plan::Direction;

// Memory of a rank that is packed and has no ghost cells, but for where it is.
struct PackedMemory {
  const weir_distribution* distribution = nullptr;
  const char* data_type = nullptr;
  array::ElementType type;
  std::int64_t data_bytes = 0;
  std::int32_t order = WEIR_ROW_MAJOR;

  friend bool operator==(const PackedMemory&, const PackedMemory&) = default;
};

// What a request needs until it has ended, copied from the caller's structs. Neighbours mostly have
// distribution, section and layout alike: then these are here once.
struct Content {
  std::vector<aggregation::ArrayPart> parts;
  std::vector<aggregation::MemoryPiece> pieces;  // of all parts
  std::vector<std::size_t> first_pieces;         // of each part
  std::deque<array::Layout> layouts;
  std::deque<array::Section> sections;
  std::deque<plan::SharedDistribution> distributions;
  const weir_array* last_array = nullptr;
  const weir_distribution* last_distribution = nullptr;
  std::optional<PackedMemory> last_memory;  // of one piece, that was found well

  // When all parts are there.
  void give_pieces() {
    for (std::size_t number = 0; number < parts.size(); ++number) {
      const std::size_t end = number + 1 < parts.size() ? first_pieces[number + 1] : pieces.size();
      parts[number].pieces =
          std::span(pieces).subspan(first_pieces[number], end - first_pieces[number]);
    }
  }
};

struct Given {
  const char* call;
  Direction direction;
  std::int32_t count;
  const weir_transfer* transfers;
};

Outcome read_section(const weir_section* section, const array::Shape& shape, Content& content,
                     aggregation::ArrayPart& part) {
  if (section == nullptr) return {};
  if (section->start == nullptr) return bad_argument("section.start is null");
  if (section->count == nullptr) return bad_argument("section.count is null");
  const int dimensions = shape.dimensions();
  const array::Indices ones(dimensions, 1);
  auto made = array::Section::create(
      shape, numbers_at(section->start, dimensions), numbers_at(section->count, dimensions),
      numbers_at(section->stride == nullptr ? ones.begin() : section->stride, dimensions));
  if (!made) return outcome_of(made.error(), "section");
  if (content.sections.empty() || !(content.sections.back() == made.value())) {
    content.sections.push_back(made.value());
  }
  part.section = &content.sections.back();
  return {};
}

bool has_reserved(const weir_transfer& transfer) {
  std::uint64_t any = static_cast<std::uint32_t>(transfer.reserved_flags);
  for (const std::uint64_t one : transfer.reserved) any |= one;
  return any != 0;
}

// What is asked for: all of a transfer but this rank's memory. `part` refers to `content`.
Outcome read_asked(const weir_session& session, const weir_transfer& transfer, Direction direction,
                   Content& content, aggregation::ArrayPart& part) {
  if (has_reserved(transfer)) {
    return check_reserved("weir_transfer", std::data(transfer.reserved),
                          std::size(transfer.reserved), transfer.reserved_flags);
  }
  if (transfer.array == nullptr) return bad_argument("array is null");
  if (!session.holds(transfer.array, content.last_array)) {
    return bad_argument("array is not open in this session");
  }
  content.last_array = transfer.array;
  const bool is_new = transfer.distribution != content.last_distribution;
  if (transfer.distribution == nullptr) return bad_argument("distribution is null");
  if (is_new && !session.holds(transfer.distribution)) {
    return bad_argument("distribution is none of this session");
  }
  if (transfer.array->file == nullptr) return not_laid_out("", *transfer.array);
  const array::Shape& shape = transfer.array->shape;
  const array::Distribution& distribution = transfer.distribution->held();
  if (!(distribution.shape() == shape)) {
    return bad_argument(
        fmt::format("distribution is of shape {}, {}: give one of the array's shape",
                    distribution.shape().text(), transfer.array->text));
  }
  if (direction == Direction::write && !transfer.array->file->writable()) {
    return bad_argument(fmt::format("{} is open for reading only", transfer.array->text));
  }
  if (transfer.dimensions != 0 && transfer.dimensions != shape.dimensions()) {
    return bad_argument(fmt::format("dimensions is {}: {} has {}", transfer.dimensions,
                                    transfer.array->text, shape.dimensions()));
  }
  part.file = transfer.array->file;
  if (is_new) {
    content.distributions.push_back(transfer.distribution->shared);
    content.last_distribution = transfer.distribution;
  }
  part.memory = &content.distributions.back();
  return read_section(transfer.section, shape, content, part);
}

// Nothing: it is not packed, or has ghost cells, or is not said to be fine.
std::optional<PackedMemory> packed_memory(const weir_transfer& transfer) {
  const weir_memory* const memory = transfer.memory;
  if (transfer.piece_data != nullptr || transfer.data_shape != nullptr ||
      transfer.data == nullptr) {
    return std::nullopt;
  }
  PackedMemory packed{transfer.distribution, transfer.data_type, transfer.array->type,
                      transfer.data_bytes};
  if (memory == nullptr) return packed;
  std::uint64_t others = static_cast<std::uint32_t>(memory->reserved_flags);
  for (const std::uint64_t one : memory->reserved) others |= one;
  if (memory->ghost_lower != nullptr || memory->ghost_upper != nullptr ||
      memory->strides != nullptr || others != 0) {
    return std::nullopt;
  }
  packed.order = memory->order;
  return packed;
}

Outcome read_transfer(const weir_session& session, const weir_transfer& transfer,
                      Direction direction, Content& content) {
  aggregation::ArrayPart part;
  auto outcome = read_asked(session, transfer, direction, content, part);
  if (!outcome.ok()) return outcome;
  const std::size_t first = content.pieces.size();
  auto packed = packed_memory(transfer);
  if (packed && packed == content.last_memory) {
    content.pieces.push_back(
        {content.pieces.back().layout, static_cast<std::byte*>(transfer.data)});
  } else {
    if (transfer.data_type != nullptr && transfer.data_type != transfer.array->type_name) {
      return bad_argument(fmt::format("data_type is '{}': the elements of {} are {}",
                                      transfer.data_type, transfer.array->text,
                                      transfer.array->type_name));
    }
    outcome =
        read_memory(transfer, direction == Direction::read, transfer.distribution->held(),
                    session.ranks.rank(), transfer.array->type, content.layouts, content.pieces);
    if (!outcome.ok()) return outcome;
    if (content.pieces.size() != first + 1) packed.reset();
    content.last_memory = packed;
  }
  content.first_pieces.push_back(first);
  content.parts.push_back(part);
  return {};
}

// Reads each of the transfers by `read`, and tells which one was refused.
template <typename Read>
Outcome read_each(const Given& given, Read read_one) {
  if (given.count < 1) {
    return bad_argument(fmt::format("{}: count is {}: give 1 or more", given.call, given.count));
  }
  if (given.transfers == nullptr) return null_argument(given.call, "transfers");
  for (std::int32_t number = 0; number < given.count; ++number) {
    auto read = read_one(given.transfers[number]);
    if (read.ok()) continue;
    const std::string which = given.count == 1 ? "" : fmt::format("transfers[{}]: ", number);
    read.text.insert(0, fmt::format("{}: {}", given.call, which));
    return read;
  }
  return {};
}

Outcome read_transfers(const weir_session& session, const Given& given, Content& content) {
  if (given.count > 0) {
    content.parts.reserve(static_cast<std::size_t>(given.count));
    content.pieces.reserve(static_cast<std::size_t>(given.count));
    content.first_pieces.reserve(static_cast<std::size_t>(given.count));
  }
  auto outcome = read_each(given, [&](const weir_transfer& transfer) {
    return read_transfer(session, transfer, given.direction, content);
  });
  if (outcome.ok()) content.give_pieces();
  return outcome;
}

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

// A number of what text_of() tells.
std::uint64_t digest_of(const Given& given, const Content& content) {
  plan::Fingerprint all;
  const auto add = [&](std::uint64_t number) { all.add(static_cast<std::int64_t>(number)); };
  add(capi::digest_of(given.call));
  all.add(given.count);
  for (std::size_t number = 0; number < content.parts.size(); ++number) {
    const weir_transfer& transfer = given.transfers[number];
    add(transfer.array->digest);
    add(transfer.distribution->digest);
    const array::Section* const section = content.parts[number].section;
    if (section == nullptr) continue;
    for (const array::Indices& along : {section->start, section->count, section->stride}) {
      all.add(along);
    }
  }
  return all.value();
}

// What must be alike on all ranks. Only transfers that were found well are looked into.
std::string text_of(const Given& given, const Content& content) {
  std::string text = fmt::format("{}({} transfers", given.call, given.count);
  for (std::int32_t number = 0; given.transfers != nullptr && number < given.count; ++number) {
    const weir_transfer& transfer = given.transfers[number];
    // The others were refused already.
    if (static_cast<std::size_t>(number) >= content.parts.size()) break;
    text += fmt::format("; {} by {}, section {}", transfer.array->text, transfer.distribution->text,
                        section_text(transfer.section, transfer.array->shape.dimensions()));
  }
  return text + ")";
}

// `stays`: what was given is there until the operation has ended.
std::shared_ptr<Operation> submit(weir_session& session, const Given& given, bool stays) {
  const auto operation = std::make_shared<Operation>();
  const auto content = std::make_shared<Content>();
  operation->prepared =
      outcome_without_throwing([&] { return read_transfers(session, given, *content); });
  operation->digest = digest_of(given, *content);
  if (stays) {
    operation->describe = [given, content] { return text_of(given, *content); };
  } else {
    operation->call = text_of(given, *content);
  }
  operation->start = [&session, content, direction = given.direction] {
    session.has_figures = true;
    return direction == Direction::write ? session.collective->begin_write(content->parts)
                                         : session.collective->begin_read(content->parts);
  };
  session.queue.submit(operation);
  return operation;
}

int begin(weir_session* session, const Given& given, weir_request** request) {
  if (request != nullptr) *request = nullptr;
  return report_outcome_of([&]() -> Outcome {
    if (session == nullptr) return null_argument(given.call, "session");
    if (request == nullptr) return null_argument(given.call, "request");
    auto handle = std::make_unique<weir_request>();
    handle->session = session;
    handle->operation = submit(*session, given, false);
    *request = handle.get();
    session->requests.push_back(std::move(handle));
    return {};
  });
}

int transfer_now(weir_session* session, const Given& given) {
  return report_outcome_of([&]() -> Outcome {
    if (session == nullptr) return null_argument(given.call, "session");
    return session->queue.complete(*submit(*session, given, true));
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

Outcome explain(weir_session& session, std::int32_t direction, const Given& asked,
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
  *text = session.explanation.c_str();
  return {};
}

// Waits for the request, when it has not ended yet, frees its handle, and gives its outcome.
Outcome take(weir_request** request) {
  weir_request* const taken = std::exchange(*request, nullptr);
  Outcome outcome = taken->session->queue.complete(*taken->operation);
  taken->session->remove(taken);
  return outcome;
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_write(weir_array* array, const weir_distribution* distribution, const void* data) {
  // Writing does not change the memory.
  void* const memory = const_cast<void*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return weir::capi::transfer_one(array, distribution, memory, "weir_write",
                                  weir::plan::Direction::write);
}

int weir_read(weir_array* array, const weir_distribution* distribution, void* data) {
  return weir::capi::transfer_one(array, distribution, data, "weir_read",
                                  weir::plan::Direction::read);
}

int weir_write_many(weir_session* session, std::int32_t count, const weir_transfer* transfers) {
  return weir::capi::transfer_now(
      session, {"weir_write_many", weir::plan::Direction::write, count, transfers});
}

int weir_read_many(weir_session* session, std::int32_t count, const weir_transfer* transfers) {
  return weir::capi::transfer_now(
      session, {"weir_read_many", weir::plan::Direction::read, count, transfers});
}

int weir_write_begin(weir_session* session, std::int32_t count, const weir_transfer* transfers,
                     weir_request** request) {
  return weir::capi::begin(
      session, {"weir_write_begin", weir::plan::Direction::write, count, transfers}, request);
}

int weir_read_begin(weir_session* session, std::int32_t count, const weir_transfer* transfers,
                    weir_request** request) {
  return weir::capi::begin(
      session, {"weir_read_begin", weir::plan::Direction::read, count, transfers}, request);
}

int weir_session_explain(weir_session* session, std::int32_t direction, std::int32_t count,
                         const weir_transfer* transfers, const char** text) {
  if (text != nullptr) *text = nullptr;
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    constexpr const char* call = "weir_session_explain";
    if (session == nullptr) return weir::capi::null_argument(call, "session");
    if (text == nullptr) return weir::capi::null_argument(call, "text");
    return weir::capi::explain(*session, direction,
                               {call, weir::plan::Direction::write, count, transfers}, text);
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
    (*request)->session->queue.progress();
    if (!(*request)->operation->ended()) return {};
    *complete = 1;
    return weir::capi::take(request);
  });
}

}  // extern "C"
