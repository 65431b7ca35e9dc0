// Opens files of external data without leaving the folders that the caller allows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/support/file.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// Checks that a location cannot leave the model's folder: it is relative and has no "..". Errors:
// unreadable.
Result<void> check_location(std::string_view location);

// A file of external data: its bytes and the path at which it was found.
struct AdmittedFile {
  std::string path;
  std::shared_ptr<const FileBytes> content;
};

// The folder of a model, and further folders that the caller allows for external data.
//
// A file of external data must be a regular file below the model's folder that is reached without a symbolic
// link. Each part of its location is opened relative to the descriptor of its parent folder (openat,
// O_NOFOLLOW), so a link that another process creates meanwhile is refused as well. A FIFO, device or socket
// is refused before it is opened. A location with a link, an absolute path or ".." is accepted if it leads
// to a regular file below one of the `allowed` folders.
class ModelFolder {
 public:
  // The paths of `allowed` folders may contain links. Errors: unreadable if an allowed folder cannot be
  // opened.
  static Result<ModelFolder> open(std::string folder, const std::vector<std::string>& allowed);

  const std::string& path() const { return folder_; }  // empty if there is none

  // Opens a location of the model. Errors (unreadable): the file is missing, is not a regular file, or is in
  // no allowed folder. Error::where is the file; it is empty if the location itself is refused.
  Result<AdmittedFile> file(std::string_view location) const;

 private:
  std::string folder_;
  std::vector<std::string> allowed_;  // canonical
};

}  // namespace xflow::onnx_io
