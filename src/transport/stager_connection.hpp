// The messages between a rank and a stager, and the waits for them.
//
// A wait ends when the answer is there, or fails if the stager shows no sign of life for the
// deadline. While a rank waits, the function of set_waiting() is called. After a failure of the
// connection every function returns the same error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "common/clock.hpp"
#include "common/status.hpp"
#include "system/file.hpp"
#include "system/frame_socket.hpp"
#include "transport/authenticator.hpp"
#include "transport/messages.hpp"
#include "transport/rendezvous.hpp"

namespace weir::transport {

class StagerConnection {
 public:
  // Called while a function waits; an error ends the wait.
  using Waiting = std::function<Status()>;

  // Connects to a stager. Over a network, both have then shown who they are.
  static Result<std::unique_ptr<StagerConnection>> open(const StagerPlace& place,
                                                        double deadline_seconds);
  StagerConnection(const StagerConnection&) = delete;
  StagerConnection& operator=(const StagerConnection&) = delete;
  ~StagerConnection() = default;

  // Returns whether a stager may still run at a place: nobody knows that it has ended.
  [[nodiscard]] static bool may_run_at(const StagerPlace& place, double deadline_seconds);

  // Messages for people call the sender so: "rank 3".
  void set_sender(std::string name) { sender_ = std::move(name); }
  void set_waiting(Waiting waiting) { waiting_ = std::move(waiting); }
  [[nodiscard]] bool is_remote() const { return std::holds_alternative<Rendezvous>(place_); }
  [[nodiscard]] const StagerPlace& place() const { return place_; }
  // Returns where the stager listens, for people.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] double deadline_seconds() const { return deadline_seconds_; }
  [[nodiscard]] const Status& lost() const { return lost_; }
  // Returns why it takes long, as the stager has said last; "": for no unusual reason.
  [[nodiscard]] const std::string& says() const { return stager_says_; }
  // Ends the connection for this reason, unless it was lost before. Returns why it is lost.
  Status lose(Error error);
  // Returns how long this rank has waited for the network to take bytes, and for answers.
  [[nodiscard]] std::int64_t waited_ns() const { return waited_ns_; }
  // A long piece of work begins, after which the stager may be silent for the deadline again.
  void begin_patience() { heard_ns_ = monotonic_ns(); }

  Status send(const Message& message, const storage::File* passed = nullptr);
  // Sends a message together with the next one.
  Status send_later(const Message& message);
  // Sends a message, and waits until the connection has taken it.
  Status send_now(const Message& message);
  // Returns how many messages wait to be sent.
  [[nodiscard]] std::size_t unsent() const { return socket_.unsent_frames(); }

  // Waits for the next message of one kind. Other answers that may come meanwhile are kept.
  template <typename Answer>
  Result<Answer> answer() {
    std::optional<Answer>& kept = std::get<std::optional<Answer>>(answers_);
    if (Status waited = wait_until([&] { return kept.has_value(); }); !waited.ok()) {
      return waited.error();
    }
    return *std::exchange(kept, std::nullopt);
  }
  // Returns the file that came with the last Welcome.
  std::optional<storage::File> take_passed() { return std::exchange(passed_, std::nullopt); }
  // Returns whether what a ticket stands for is done; the outcome is the error if it failed.
  Result<bool> is_done(std::uint64_t ticket);
  // Waits until it is done. Fails with ErrorCode::deadline if it is not done after `seconds`.
  Status wait(std::uint64_t ticket, double seconds);
  // WaitBeside of the UCX carrier (carrier.hpp).
  Result<std::optional<std::int64_t>> wait_beside(std::int64_t block, int descriptor,
                                                  std::int64_t nanoseconds, bool moved);

 private:
  StagerConnection(storage::FrameSocket socket, StagerPlace place, double deadline_seconds)
      : socket_(std::move(socket)), place_(std::move(place)), deadline_seconds_(deadline_seconds) {}
  static Result<std::unique_ptr<StagerConnection>> reach(const Rendezvous& service,
                                                         double deadline_seconds);
  // Shows the stager who this rank is, if it is the stager that was sought, and lets it do the
  // same.
  Status introduce(const Rendezvous& service, const Authenticator& authenticator);
  [[nodiscard]] std::string explained(const Error& error) const;
  Status wait_until(const std::function<bool()>& is_there);
  // Called between two looks for an answer: whether the stager still lives, and the caller may
  // wait.
  Status may_go_on_waiting();
  // Waits until something has arrived, for at most `milliseconds`.
  Status look(int milliseconds);
  Status sort(Message message);
  // What the stager sent cannot be read: tells a stager of another node, too.
  Status lose_unreadable(const Error& why);

  storage::FrameSocket socket_;
  StagerPlace place_;
  double deadline_seconds_;
  std::string sender_ = "a rank";
  Waiting waiting_;
  bool is_welcome_ = false;  // the stager has sent a Welcome
  std::optional<storage::File> passed_;
  // Answers that have arrived.
  std::tuple<std::optional<Challenge>, std::optional<Vouch>, std::optional<Welcome>,
             std::optional<Locked>, std::optional<Granted>, std::optional<Attached>,
             std::optional<Brought>, std::optional<Flushed>, std::optional<Accepted>,
             std::optional<Drained>, std::optional<Listening>, std::optional<Joined>>
      answers_;
  // Tickets for which Await was sent and whose outcome was not told; nothing: it has not arrived.
  std::map<std::uint64_t, std::optional<Status>> awaited_;
  std::int64_t heard_ns_ = 0;  // when the stager last sent something
  std::int64_t waited_ns_ = 0;
  std::string stager_says_;  // why it takes long, as the stager said last
  Status lost_;
};

}  // namespace weir::transport
