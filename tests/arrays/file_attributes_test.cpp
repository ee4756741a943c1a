// Attributes of files, groups and arrays through the interface that programs see.
#include <array>

#include "files.hpp"

namespace weir::test {
namespace {

// Each call of the interface, before the first step, between steps, and after opening it again.
TEST_F(Files, HaveAttributesOfEveryKindWheneverTheyAreGiven) {
  Session session(MPI_COMM_WORLD);
  const std::array<float, 2> reals = {0.5F, -2};
  const std::array<std::int8_t, 3> bytes = {-1, 0, 7};
  const std::array<std::uint64_t, 1> large = {UINT64_MAX};
  const std::array<bool, 2> truths = {true, false};
  const auto give = [&](const File& file, const std::string& owner) {
    file.attribute(owner, "text", "a text");
    file.attribute(owner, "integers", std::array<std::int64_t, 2>{3, -4});
    file.attribute(owner, "reals", std::array<double, 1>{0.25});
    file.attribute(owner, "texts", std::vector<std::string>{"one", "two"});
    file.attribute_numbers(owner, "float32", reals);
    file.attribute_numbers(owner, "int8", bytes);
    file.attribute_numbers(owner, "uint64", large);
    file.attribute_numbers(owner, "bool", truths);
  };
  const auto expect = [&](const File& file, const std::string& owner) {
    SCOPED_TRACE(owner);
    const auto all = file.attributes(owner);
    ASSERT_EQ(all.size(), 8U);
    EXPECT_EQ(all.at("text"), AttributeValue("a text"));
    EXPECT_EQ(all.at("integers"), AttributeValue(std::vector<std::int64_t>{3, -4}));
    EXPECT_EQ(all.at("reals"), AttributeValue(std::vector<double>{0.25}));
    EXPECT_EQ(all.at("texts"), AttributeValue(std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(all.at("float32"), AttributeValue(std::vector<double>{0.5, -2}));
    EXPECT_EQ(all.at("int8"), AttributeValue(std::vector<std::int64_t>{-1, 0, 7}));
    EXPECT_EQ(all.at("uint64"), AttributeValue(std::vector<std::uint64_t>{UINT64_MAX}));
    EXPECT_EQ(all.at("bool"), AttributeValue(std::vector<std::int64_t>{1, 0}));
    for (const char* name : {"float32", "int8", "uint64", "bool"}) {
      EXPECT_STREQ(weir_file_attribute_type(file.get(), owner.c_str(), name), name);
    }
  };
  weir_define_options stepped{};
  stepped.steps = 1;
  for (const std::string format : {"hdf5", "zarr", "raw"}) {
    SCOPED_TRACE(format);
    {
      File file = session.create_file(file_of(format), as(format.c_str()));
      static_cast<void>(file.define<double>("fields/first", plane, stepped));
      give(file, "fields/first");
      file.begin_step();
      file.end_step();
      static_cast<void>(file.define<double>("fields/second", plane, stepped));
      give(file, "fields/second");
      give(file, "fields");
      file.begin_step();
      file.end_step();
      file.close();
    }
    File file = session.open_file(file_of(format));
    expect(file, "fields/first");
    give(file, "");
    file.extend();
    for (const char* owner : {"", "fields", "fields/first", "fields/second"}) expect(file, owner);
    file.close();
    File again = session.open_file(file_of(format));
    for (const char* owner : {"", "fields", "fields/first", "fields/second"}) expect(again, owner);
    EXPECT_EQ(again.steps(), 2);
    again.close();
  }
}

TEST_F(Files, RefuseAttributesOfWhatIsNotThere) {
  Session session(MPI_COMM_WORLD);
  for (const std::string format : {"hdf5", "zarr", "raw"}) {
    File file = session.create_file(file_of(format), as(format.c_str()));
    static_cast<void>(file.define<std::int32_t>("fields/grid", plane));
    file.attribute("", "title", "a");
    file.attribute("fields", "units", "m");
    file.attribute("fields/gird", "units", "m");
    try {
      file.begin_step();
      ADD_FAILURE() << "the step began";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), WEIR_E_ARGUMENT);
      EXPECT_NE(std::string(failure.what()).find("'fields/gird'"), std::string::npos)
          << failure.what();
    }
    // The name becomes that of a group.
    static_cast<void>(file.define<std::int32_t>("fields/gird/grid", plane));
    file.begin_step();
    file.end_step();
    file.close();
  }
}

}  // namespace
}  // namespace weir::test
