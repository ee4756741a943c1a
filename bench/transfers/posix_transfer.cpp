// The transfer that moves everything inside start(), in the caller's thread. It keeps the result
// until poll() or wait() reports it, so that callers can use it like the other transfers.
#include <optional>

#include "transfers/move.hpp"

namespace weir::storage {
namespace {

class PosixTransfer final : public Transfer {
 public:
  PosixTransfer(const File& file, std::int64_t bytes_per_call)
      : file_(file), bytes_per_call_(bytes_per_call) {}

  Status start(const TransferRequest& request) override {
    if (unreported_) return still_busy(file_);
    if (Status checked = check_request(file_, request); !checked.ok()) return checked;
    Movement movement = move_and_sync(file_, request, bytes_per_call_, {});
    timing_ = movement.timing;
    unreported_ = std::move(movement.status);
    return {};
  }

  Result<bool> poll() override {
    if (Status status = report(); !status.ok()) return status.error();
    return true;
  }

  Status wait(std::int64_t /*deadline_ns*/) override { return report(); }

  [[nodiscard]] TransferTiming timing() const override { return timing_; }
  [[nodiscard]] std::string_view mechanism() const override { return "posix"; }

 private:
  Status report() {
    if (!unreported_) return {};
    return *std::exchange(unreported_, std::nullopt);
  }

  const File& file_;
  std::int64_t bytes_per_call_;
  std::optional<Status> unreported_;
  TransferTiming timing_;
};

}  // namespace

std::unique_ptr<Transfer> make_posix_transfer(const File& file, std::int64_t bytes_per_call) {
  return std::make_unique<PosixTransfer>(file, bytes_per_call);
}

std::unique_ptr<Transfer> make_posix_transfer(const File& file) {
  return make_posix_transfer(file, largest_call);
}

}  // namespace weir::storage
