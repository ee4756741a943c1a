#include "transport/munge.hpp"

#include <fmt/format.h>
#include <munge.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/settings.hpp"
#include "system/loaded_library.hpp"
#include "system/process_name.hpp"

namespace weir::transport {
namespace {

// The functions of MUNGE that are used.
struct Munge {
  decltype(&::munge_encode) encode = nullptr;
  decltype(&::munge_decode) decode = nullptr;
  decltype(&::munge_strerror) error_text = nullptr;
  decltype(&::munge_ctx_create) create_context = nullptr;
  decltype(&::munge_ctx_destroy) destroy_context = nullptr;
  decltype(&::munge_ctx_strerror) context_error_text = nullptr;
  decltype(&::munge_ctx_set) set = nullptr;
};

Result<Munge> load_munge() {
  auto opened = storage::LoadedLibrary::load("MUNGE", "libmunge.so.2");
  if (!opened) return opened.error();
  storage::LoadedLibrary& library = opened.value();
  Munge munge;
  library.find(munge.encode, "munge_encode");
  library.find(munge.decode, "munge_decode");
  library.find(munge.error_text, "munge_strerror");
  library.find(munge.create_context, "munge_ctx_create");
  library.find(munge.destroy_context, "munge_ctx_destroy");
  library.find(munge.context_error_text, "munge_ctx_strerror");
  library.find(munge.set, "munge_ctx_set");
  if (Status complete = library.has_all(); !complete.ok()) return complete.error();
  return munge;
}

// MUNGE writes to a socket, and a munged that ends meanwhile must not end this process by SIGPIPE.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = ::sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    is_blocked_ = ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    if (!is_blocked_) return;
    const timespec none{};
    if (!was_pending_) (void)::sigtimedwait(&pipe_, nullptr, &none);
    (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
  bool is_blocked_ = false;
};

using Freed = std::unique_ptr<void, decltype(&std::free)>;

class MungeCredentials final : public Credentials {
 public:
  MungeCredentials(const Munge& munge, std::string socket)
      : munge_(munge), socket_(std::move(socket)) {}

  [[nodiscard]] Result<std::string> make(std::span<const std::byte> payload) const override {
    const WithoutSigpipe quiet;
    const auto made = new_context();
    if (!made) return made.error();
    munge_ctx* const context = made.value().get();
    char* text = nullptr;
    const munge_err_t outcome =
        munge_.encode(&text, context, payload.data(), static_cast<int>(payload.size()));
    const Freed kept(text, &std::free);
    if (outcome == EMUNGE_SUCCESS && text != nullptr) return std::string(text);
    if (outcome == EMUNGE_SOCKET) return unanswered(text_of(outcome, context));
    return Error(ErrorCode::io, fmt::format("MUNGE makes no credential on {}: {}",
                                            storage::host_name(), text_of(outcome, context)));
  }

  [[nodiscard]] Result<Credential> open(const std::string& text) const override {
    const WithoutSigpipe quiet;
    const auto made = new_context();
    if (!made) return made.error();
    munge_ctx* const context = made.value().get();
    void* payload = nullptr;
    int bytes = 0;
    uid_t user = 0;
    gid_t group = 0;
    const munge_err_t outcome =
        munge_.decode(text.c_str(), context, &payload, &bytes, &user, &group);
    const Freed kept(payload, &std::free);  // there may be one with an error, too
    if (outcome == EMUNGE_SOCKET) return unanswered(text_of(outcome, context));
    if (outcome != EMUNGE_SUCCESS) return refused(outcome, text_of(outcome, context));
    const auto* const first = static_cast<const std::byte*>(payload);
    return Credential{user, {first, first + bytes}};
  }

 private:
  using Context = std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)>;

  // A context serves one thread.
  [[nodiscard]] Result<Context> new_context() const {
    Context made(munge_.create_context(), munge_.destroy_context);
    const bool is_whole =
        made != nullptr && (socket_.empty() || munge_.set(made.get(), MUNGE_OPT_SOCKET,
                                                          socket_.c_str()) == EMUNGE_SUCCESS);
    if (is_whole) return made;
    return Error(ErrorCode::insufficient, "there is no memory for a credential of MUNGE");
  }
  [[nodiscard]] std::string text_of(munge_err_t outcome, munge_ctx* context) const {
    const char* text = munge_.context_error_text(context);
    if (text == nullptr) text = munge_.error_text(outcome);
    return text == nullptr ? "unknown error" : text;
  }
  static Error unanswered(const std::string& why) {
    return Error(ErrorCode::io,
                 fmt::format("MUNGE does not answer on {} ({}): start munged there, or name its "
                             "socket in WEIR_MUNGE_SOCKET",
                             storage::host_name(), why));
  }
  static Error refused(munge_err_t outcome, const std::string& why) {
    const char* meaning = "it was changed, or the nodes have different keys of MUNGE";
    if (outcome == EMUNGE_CRED_REPLAYED) meaning = "it was shown before";
    if (outcome == EMUNGE_CRED_EXPIRED || outcome == EMUNGE_CRED_REWOUND) {
      meaning = "it is too old, or the nodes' clocks differ";
    }
    return invalid_argument(
        fmt::format("MUNGE refuses the credential that was shown ({}): {}", why, meaning));
  }

  Munge munge_;
  std::string socket_;  // "": that of MUNGE's library
};

}  // namespace

Result<std::unique_ptr<Credentials>> open_munge() {
  const auto munge = load_munge();
  if (!munge) return munge.error();
  return std::unique_ptr<Credentials>(std::make_unique<MungeCredentials>(
      munge.value(), process_environment("WEIR_MUNGE_SOCKET").value_or("")));
}

}  // namespace weir::transport
