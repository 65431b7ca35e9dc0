#include "src/onnx/document/output_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/onnx/document/data_names.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::external_tensor;
using testing::GraphParts;
using testing::model_of;
using testing::read_all;
using testing::TemporaryFolder;

std::string model_with_data_in(const std::string& location) {
  GraphParts parts;
  parts.initializers = {external_tensor("a", 1, location)};
  return model_of(parts);
}

Result<void> add(OutputFiles& files, const std::string& location, const std::string& text) {
  return files.add([&](int out) { return write_all(out, text) == 0 ? Result<void>() : Result<void>(fail(ErrorCode::io, "no")); },
                   [&] { return Result<std::string>(location); });
}

Result<void> write_model(OutputFiles& files, const std::string& model, const std::vector<std::string>& locations) {
  const std::string_view chunk = model;
  return files.write_model(std::span<const std::string_view>(&chunk, 1), nullptr, locations);
}

// Runs `body` in a process that then ends at once, as if it was killed.
template <typename Body>
void in_killed_process(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(OutputPlace, SaysWhyAPathCannotBeWritten) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name) {
    const auto checked = check_output(folder.file(name));
    return checked ? "no error" : checked.error().text().substr(folder.path().size() + 1);
  };
  folder.write("read-only", "text");
  ASSERT_EQ(::chmod(folder.file("read-only").c_str(), 0444), 0);
  std::filesystem::create_symlink("nothing", folder.file("dangling"));
  std::filesystem::create_directory(folder.file("folder"));
  EXPECT_EQ(error("read-only"), "read-only: cannot write: the file is read-only");
  EXPECT_EQ(error("dangling"), "dangling: cannot write: is a symbolic link to 'nothing', which does not exist");
  EXPECT_EQ(error("folder"), "folder: cannot write: Is a directory");
  EXPECT_EQ(error("new/"), "new/: cannot write: Is a directory");
  EXPECT_EQ(error("none/new"), "none/new: cannot write: No such file or directory");
  EXPECT_EQ(error("read-only/new"), "read-only/new: cannot write: Not a directory");
  EXPECT_EQ(error("new"), "no error");
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"dangling", "folder", "read-only"}));
}

TEST(OutputPlace, KnowsTheSameFileByOtherNames) {
  const TemporaryFolder folder;
  folder.write("sub/a", "text");
  folder.write("b", "text");
  std::filesystem::create_symlink("sub/a", folder.file("link"));
  std::filesystem::create_directory_symlink("sub", folder.file("other"));
  const auto same = [&](const std::string& one, const std::string& two) { return same_place(folder.file(one), folder.file(two)); };
  EXPECT_TRUE(same("sub/a", "link"));
  EXPECT_TRUE(same("sub/a", "other/../sub/./a"));
  EXPECT_FALSE(same("sub/a", "b"));
  EXPECT_FALSE(same("sub/a", "new"));
  EXPECT_TRUE(same("sub/new", "other/new")) << "also where it does not exist yet";
  EXPECT_FALSE(same("sub/new", "new"));
  EXPECT_TRUE(same_place("no-such-file", "./no-such-file"));
}

TEST(OutputPlace, KnowsTemporaryFiles) {
  EXPECT_TRUE(is_temporary(".m.onnx.xflow-12-0.tmp", ".tmp"));
  EXPECT_TRUE(is_temporary(".xflow-1-2.xflow-12-0.run", ".run"));
  for (const char* name : {"m.onnx.xflow-12-0.tmp", ".m.onnx.xflow-12-0", ".m.onnx.xflow-12-.tmp", ".m.onnx.xflow--0.tmp",
                           ".m.onnx.12-0.tmp", ".tmp", ".m.onnx.xflow-12-0.tmp2"})
    EXPECT_FALSE(is_temporary(name, ".tmp")) << name;
}

TEST(OutputFiles, RemovesWhatItCreatedWhereNoModelWasWritten) {
  const TemporaryFolder folder;
  folder.write("mine.txt", "text");
  {
    const auto files = OutputFiles::begin(folder.file("out.onnx"));
    ASSERT_TRUE(files) << files.error().text();
    ASSERT_TRUE(add(**files, "sub/w.bin", "data"));
    EXPECT_EQ(read_all(folder.file("sub/w.bin")), "data");
    EXPECT_EQ((*files)->created(), std::vector<std::string>{folder.file("sub/w.bin")});
  }
  EXPECT_EQ(folder.list(), std::vector<std::string>{"mine.txt"});
}

TEST(OutputFiles, OfADeadRunAreRemovedByTheNext) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("sub"));
  in_killed_process([&] {
    auto files = OutputFiles::begin(folder.file("out.onnx"));
    const auto added = add(**files, "sub/w.bin", "data");
    const auto more = add(**files, "new/v.bin", "data");
    std::string path;
    create_temporary(folder.path(), "out.onnx", ".tmp", path);  // a file that was not finished
    if (!added || !more) ::_exit(1);
    files->release();
  });
  EXPECT_EQ(folder.list().size(), 4U) << "a journal, a temporary file, two folders";
  ASSERT_TRUE(OutputFiles::begin(folder.file("other.onnx")));
  EXPECT_EQ(folder.list(), std::vector<std::string>{"sub"}) << "a folder that was there stays";
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("sub")));
}

TEST(OutputFiles, OfADeadRunStayWhereAModelNamesThem) {
  const TemporaryFolder folder;
  in_killed_process([&] {
    auto files = OutputFiles::begin(folder.file("out.onnx"));
    if (!add(**files, "w.bin", "data")) ::_exit(1);
    files->release();
  });
  folder.write("other.model", model_with_data_in("w.bin"));
  ASSERT_TRUE(OutputFiles::begin(folder.file("out.onnx")));
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"other.model", "w.bin"}));
}

TEST(OutputFiles, OfADeadRunStayWhereTheirNameLeadsToAnotherFile) {
  const TemporaryFolder folder;
  in_killed_process([&] {
    auto files = OutputFiles::begin(folder.file("out.onnx"));
    if (!add(**files, "w.bin", "data")) ::_exit(1);
    files->release();
  });
  folder.write("mine", "my data");
  std::filesystem::rename(folder.file("mine"), folder.file("w.bin"));
  ASSERT_TRUE(OutputFiles::begin(folder.file("out.onnx")));
  EXPECT_EQ(read_all(folder.file("w.bin")), "my data");
}

TEST(OutputFiles, OfALivingRunAreLeftAlone) {
  const TemporaryFolder folder;
  const auto first = OutputFiles::begin(folder.file("out.onnx"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(add(**first, "w.bin", "data"));
  ASSERT_TRUE(OutputFiles::begin(folder.file("out.onnx")));
  EXPECT_EQ(read_all(folder.file("w.bin")), "data");
  ASSERT_TRUE(write_model(**first, model_with_data_in("w.bin"), {"w.bin"}));
}

TEST(OutputFiles, RemoveDataOfTheFormerModel) {
  const TemporaryFolder folder;
  const std::string old = data_name("out.onnx", 1);
  const std::string shared = data_name("out.onnx", 2);
  const std::string others = data_name("out.onnx", 3);
  for (const std::string& name : {old, shared, others, data_name("other.onnx", 1)}) folder.write(name, "data");
  folder.write("out.onnx", model_with_data_in(old) + model_with_data_in(shared) + model_with_data_in("w.bin"));
  folder.write("w.bin", "not written by xflow");
  folder.write("copy.onnx", model_with_data_in(shared));
  {
    const auto files = OutputFiles::begin(folder.file("out.onnx"));
    ASSERT_TRUE(files);
    ASSERT_TRUE(add(**files, data_name("out.onnx", 4), "data"));
    ASSERT_TRUE(write_model(**files, model_with_data_in(data_name("out.onnx", 4)), std::vector<std::string>{data_name("out.onnx", 4)}));
  }
  EXPECT_EQ(folder.list(), (std::vector<std::string>{"copy.onnx", data_name("other.onnx", 1), "out.onnx", shared, others,
                                                     data_name("out.onnx", 4), "w.bin"}));
}

TEST(OutputFiles, OfACandidateGoAtTheEnd) {
  const TemporaryFolder folder;
  {
    const auto files = OutputFiles::begin(folder.file("candidate"), OutputFiles::Purpose::candidate);
    ASSERT_TRUE(files);
    ASSERT_TRUE(add(**files, "w.bin", "data"));
    ASSERT_TRUE(write_model(**files, model_with_data_in("w.bin"), {"w.bin"}));
    EXPECT_EQ(read_all(folder.file("candidate")), model_with_data_in("w.bin"));
  }
  EXPECT_EQ(folder.list(), std::vector<std::string>{});
}

}  // namespace
}  // namespace xflow::onnx_io
