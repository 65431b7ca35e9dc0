// Checks paths to write to before the work begins.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::onnx_io {

// What a path names as a place to write to.
struct OutputPlace {
  enum class Kind : std::uint8_t {
    file,             // a regular file, or nothing yet: written to a temporary file that is renamed
    standard_output,  // "-", "/dev/stdout" and the other names of it
    other,            // a pipe or a device: written in place
  };
  Kind kind = Kind::file;
  std::string path;        // as given
  std::string folder;      // of `path`: where external data belongs
  std::string target;      // of a file: what is replaced, behind all symbolic links
  bool exists = false;     // a regular file is there
  mode_t permissions = 0;  // of the file that is there
};

// Errors (io, "cannot write: ..."): a folder; a dangling symbolic link; a file that is read-only, for everybody or for this user; a folder
// that does not exist.
Result<OutputPlace> output_place(const std::string& path);

// Whether both paths name the same file, through links and other names of its folder as well, and also where it does not exist yet.
bool same_place(const std::string& one, const std::string& other);

// Checks that `path` can be written, as output_place, and that a file can be created in its folder. Leaves nothing behind.
Result<void> check_output(const std::string& path);

// The name of a new temporary file in `folder` beside `base`, and its descriptor, open for writing and locked (flock) so that other runs
// know that its owner lives; a negative descriptor leaves the reason in errno. Names match is_temporary.
int create_temporary(const std::string& folder, const std::string& base, std::string_view ending, std::string& path);

// The path of a temporary file beside an output that is a file, which does not exist yet. Errors: io.
Result<std::string> temporary_name(const OutputPlace& place, std::string_view ending);

// ".BASE.xflow-PID-NUMBER" followed by `ending`.
bool is_temporary(std::string_view name, std::string_view ending);

}  // namespace xflow::onnx_io
