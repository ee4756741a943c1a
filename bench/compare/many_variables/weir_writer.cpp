#include <weir/weir.hpp>

#include "compare/many_variables/writer.hpp"

namespace weir::compare {
namespace {

class WeirWriter final : public Writer {
 public:
  WeirWriter(MPI_Comm communicator, std::string format)
      : session_(communicator), format_(std::move(format)) {
    MPI_Comm_size(communicator, &ranks_);
  }

  void create(const std::string& path, const Variables& variables) override {
    weir_file_options options = {};
    options.format = format_.c_str();
    options.durability = "none";
    file_.emplace(session_.create_file(path, options));
    const Extents shape = {ranks_ * variables.elements_per_rank};
    distributed_.emplace(session_.distribution(shape, "BLOCK"));
    arrays_.reserve(static_cast<std::size_t>(variables.count));
    for (int number = 0; number < variables.count; ++number) {
      arrays_.push_back(file_->define<double>(name_of_variable(number), shape));
    }
    file_->begin_step();
  }

  void write(const std::vector<double>& values) override {
    const std::size_t part = distributed_->elements();
    std::vector<Outgoing> transfers;
    transfers.reserve(arrays_.size());
    for (std::size_t number = 0; number < arrays_.size(); ++number) {
      transfers.emplace_back(arrays_[number], *distributed_,
                             std::span(values).subspan(number * part, part));
    }
    session_.write_many(std::move(transfers));
  }

  void close() override {
    file_->end_step();
    arrays_.clear();
    file_->close();
    file_.reset();
    distributed_.reset();
  }

  std::vector<double> read(const std::string& path, const Variables& variables) override {
    File file = session_.open_file(path);
    const auto distributed = session_.distribution({ranks_ * variables.elements_per_rank}, "BLOCK");
    std::vector<double> values(static_cast<std::size_t>(variables.count) * distributed.elements());
    std::vector<Array> arrays;
    std::vector<Incoming> transfers;
    arrays.reserve(static_cast<std::size_t>(variables.count));
    transfers.reserve(static_cast<std::size_t>(variables.count));
    for (int number = 0; number < variables.count; ++number) {
      arrays.push_back(file.array(name_of_variable(number)));
    }
    for (std::size_t number = 0; number < arrays.size(); ++number) {
      transfers.emplace_back(
          arrays[number], distributed,
          std::span(values).subspan(number * distributed.elements(), distributed.elements()));
    }
    session_.read_many(std::move(transfers));
    arrays.clear();
    file.close();
    return values;
  }

 private:
  Session session_;
  std::string format_;
  int ranks_ = 1;
  std::optional<File> file_;
  std::optional<Distribution> distributed_;
  std::vector<Array> arrays_;
};

}  // namespace

std::unique_ptr<Writer> weir_writer(MPI_Comm communicator, const std::string& format) {
  return std::make_unique<WeirWriter>(communicator, format);
}

}  // namespace weir::compare
