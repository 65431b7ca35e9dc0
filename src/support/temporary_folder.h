// A folder for files that nobody needs later.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace xflow {

// A new folder among those for temporary files, which is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    std::string path = (std::filesystem::temp_directory_path(none) / "xflow-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if it could not be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace xflow
