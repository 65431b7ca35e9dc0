#include "src/onnx/document/model_folder.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/external.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io {
namespace {

using testing::external_tensor;
using testing::GraphParts;
using testing::model_of;
using testing::TemporaryFolder;

constexpr const char* kOne = "\x00\x00\x80\x3f";  // 1.0F

std::string one() { return {kOne, 4}; }

std::string write_model(const TemporaryFolder& folder, const std::string& location) {
  GraphParts parts;
  parts.initializers = {external_tensor("a", 1, location)};
  return folder.write("m.onnx", model_of(parts));
}

// What opening a model says whose tensor 'a' lies at `location`, without the part that all messages begin with.
std::string error_at(const TemporaryFolder& folder, const std::string& location, const std::vector<std::string>& allowed = {}) {
  const auto document = Document::open(write_model(folder, location), allowed);
  if (document) return "no error";
  const std::string begin = folder.file("m.onnx") + ": an initializer of graph 'g': tensor 'a'";
  EXPECT_TRUE(document.error().text().starts_with(begin)) << document.error().text();
  EXPECT_EQ(document.error().code, ErrorCode::unreadable);
  return document.error().text().substr(begin.size());
}

std::string refused(const std::string& path, const std::string& what) {
  return " lies in the file '" + path + "': is " + what + ", expected a regular file";
}

TEST(ModelFolder, RefusesSymbolicLinks) {
  const TemporaryFolder folder;
  folder.write("real.bin", one());
  std::filesystem::create_symlink("real.bin", folder.file("link.bin"));
  const std::string hint = "; option 'allow_external' admits files in other folders";
  EXPECT_EQ(error_at(folder, "link.bin"), refused(folder.file("link.bin"), "a symbolic link") + hint);
  std::filesystem::create_symlink("nothing", folder.file("dangling.bin"));
  EXPECT_EQ(error_at(folder, "dangling.bin"), refused(folder.file("dangling.bin"), "a symbolic link") + hint);
  folder.write("sub/w.bin", one());
  std::filesystem::create_directory_symlink("sub", folder.file("linked"));
  EXPECT_EQ(error_at(folder, "linked/w.bin"),
            " lies in the file '" + folder.file("linked") + "': is a symbolic link, expected a folder" + hint);
  EXPECT_EQ(error_at(folder, "./sub//w.bin"), "no error");
}

TEST(ModelFolder, RefusesWhatIsNotARegularFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  EXPECT_EQ(error_at(folder, "fifo"), refused(folder.file("fifo"), "a FIFO"));
  std::filesystem::create_directory(folder.file("sub"));
  EXPECT_EQ(error_at(folder, "sub"), refused(folder.file("sub"), "a folder"));
  EXPECT_EQ(error_at(folder, "."), " lies in the file '" + folder.path() + "': is a folder, expected a regular file");
  folder.write("file", one());
  EXPECT_EQ(error_at(folder, "file/w.bin"), " lies in the file '" + folder.file("file") + "': is a file, expected a folder");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(folder.file("socket").size(), sizeof(address.sun_path));
  std::strcpy(address.sun_path, folder.file("socket").c_str());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(error_at(folder, "socket"), refused(folder.file("socket"), "a socket"));
  ::close(socket);
  EXPECT_EQ(error_at(folder, "/dev/null", {"/dev"}), refused("/dev/null", "a character device"));
}

TEST(ModelFolder, MayItselfBeReachedThroughALink) {
  const TemporaryFolder folder;
  folder.write("real/w.bin", one());
  GraphParts parts;
  parts.initializers = {external_tensor("a", 1, "w.bin")};
  folder.write("real/m.onnx", model_of(parts));
  std::filesystem::create_directory_symlink("real", folder.file("linked"));
  EXPECT_TRUE(Document::open(folder.file("linked/m.onnx")));
}

TEST(ModelFolder, AdmitsWhatLiesBelowAnAllowedFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder store;
  store.write("blobs/w.bin", one());
  store.write("other/w.bin", one());
  const std::string blob = store.file("blobs/w.bin");
  const std::vector<std::string> allowed = {folder.path() + "/none/..", store.file("blobs")};
  std::filesystem::create_directory(folder.file("none"));
  std::filesystem::create_symlink(blob, folder.file("link.bin"));
  EXPECT_EQ(error_at(folder, "link.bin", allowed), "no error");
  EXPECT_EQ(error_at(folder, blob, allowed), "no error");
  EXPECT_EQ(error_at(folder, std::filesystem::relative(blob, folder.path()).string(), allowed), "no error");
  const auto document = Document::open(write_model(folder, "link.bin"), allowed);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->external_files()[0].path, std::filesystem::canonical(blob));
  EXPECT_EQ(document->external_files()[0].location, "link.bin");

  std::filesystem::create_symlink(store.file("other/w.bin"), folder.file("elsewhere.bin"));
  EXPECT_EQ(error_at(folder, "elsewhere.bin", allowed), " lies in the file '" + folder.file("elsewhere.bin") + "': leads to '" +
                                                            std::filesystem::canonical(store.file("other/w.bin")).string() +
                                                            "', which is in no folder of option 'allow_external'");
  std::filesystem::create_symlink(store.file("blobs2"), folder.file("neighbour.bin"));
  store.write("blobs2", one());
  EXPECT_NE(error_at(folder, "neighbour.bin", allowed), "no error") << "a name that begins like an allowed folder is not below it";
  std::filesystem::create_symlink("nothing", folder.file("dangling.bin"));
  EXPECT_EQ(error_at(folder, "dangling.bin", allowed),
            " lies in the file '" + folder.file("dangling.bin") + "': cannot open: No such file or directory");
}

TEST(ModelFolder, AdmitsLinksInsideItWhereItIsNamed) {
  const TemporaryFolder folder;
  folder.write("real.bin", one());
  std::filesystem::create_symlink("real.bin", folder.file("link.bin"));
  EXPECT_EQ(error_at(folder, "link.bin", {folder.path()}), "no error");
}

TEST(ModelFolder, NeedsAllowedFoldersThatAreThere) {
  const TemporaryFolder folder;
  const std::string file = folder.write("w.bin", one());
  EXPECT_EQ(ModelFolder::open(folder.path(), {folder.file("none")}).error().text(),
            folder.file("none") + ": cannot admit external data from this folder: No such file or directory");
  EXPECT_EQ(ModelFolder::open(folder.path(), {file}).error().text(), file + ": cannot admit external data from it: it is not a folder");
}

}  // namespace
}  // namespace xflow::onnx_io
