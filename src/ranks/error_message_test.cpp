#include "ranks/error_message.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::ranks {
namespace {

Error error_with(std::size_t text, std::size_t file, std::size_t operation) {
  Error error;
  error.code = ErrorCode::short_transfer;
  error.message = std::string(text, 't');
  error.file = std::string(file, 'f');
  error.operation = std::string(operation, 'o');
  error.offset = std::int64_t{1} << 50;
  error.system_error = 5;
  error.rank = 1 << 30;
  return error;
}

// The error as other ranks get it.
Error told(const Error& error) {
  return ErrorMessage::of_bytes(ErrorMessage::of(error).bytes()).error();
}

void expect_same(const Error& got, const Error& wanted) {
  EXPECT_EQ(got.code, wanted.code);
  EXPECT_EQ(got.message, wanted.message);
  EXPECT_EQ(got.file, wanted.file);
  EXPECT_EQ(got.operation, wanted.operation);
  EXPECT_EQ(got.offset, wanted.offset);
  EXPECT_EQ(got.system_error, wanted.system_error);
  EXPECT_EQ(got.rank, wanted.rank);
}

TEST(ErrorMessage, KeepsTextsUpToTheirLimitsAndCutsLongerOnes) {
  expect_same(told(error_with(0, 0, 0)), error_with(0, 0, 0));
  const Error longest = error_with(1999, 1023, 63);
  expect_same(told(longest), longest);
  expect_same(told(error_with(2000, 1024, 64)), longest);
  expect_same(told(error_with(100000, 100000, 100000)), longest);
}

// A text that other ranks were told and of which a part is missing.
TEST(ErrorMessage, IsReadOfFewerBytes) {
  const std::string bytes = ErrorMessage::of(error_with(20, 3, 2)).bytes();
  EXPECT_EQ(ErrorMessage::of_bytes("").error().message, "");
  expect_same(ErrorMessage::of_bytes(bytes + "more").error(), error_with(20, 3, 2));
}

}  // namespace
}  // namespace weir::ranks
