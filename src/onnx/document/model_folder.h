// Opens files of external data without leaving the folders that the caller admits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/support/file.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// Checks that a location stays inside the model's folder: relative, without "..". Errors: unreadable.
Result<void> check_location(std::string_view location);

// A file of external data: its bytes, and a path at which it was found.
struct AdmittedFile {
  std::string path;
  std::shared_ptr<const FileBytes> content;
};

// The folder of a model, and the folders outside it that hold external data by the caller's leave.
//
// A file of external data is a regular file below the model's folder, reached without a symbolic link: each part of its location is opened
// from the descriptor of the folder before it (openat, O_NOFOLLOW), so that a link that is put there meanwhile is refused as well. A FIFO,
// a device or a socket is refused before it is opened. What a location names by a link, an absolute path or ".." is admitted where it
// leads to a regular file below one of the `allowed` folders.
class ModelFolder {
 public:
  // `allowed` folders may be reached through links. Errors: unreadable, for an allowed folder that cannot be opened.
  static Result<ModelFolder> open(std::string folder, const std::vector<std::string>& allowed);

  const std::string& path() const { return folder_; }  // empty if there is none

  // Opens a location of the model. Errors (unreadable): the file is missing, is not a regular file, or lies in no admitted folder.
  // Error::where is the file, or empty where the location itself is refused.
  Result<AdmittedFile> file(std::string_view location) const;

 private:
  std::string folder_;
  std::vector<std::string> allowed_;  // canonical
};

}  // namespace xflow::onnx_io
