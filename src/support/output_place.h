// Checks output paths before the work begins.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::onnx_io {

// The kind and location of an output path.
struct OutputPlace {
  enum class Kind : std::uint8_t {
    file,             // a regular file or a new one: written to a temporary file, then renamed
    standard_output,  // "-", "/dev/stdout" or another name of it
    other,            // a pipe or a device: written in place
  };
  Kind kind = Kind::file;
  std::string path;        // as given
  std::string folder;      // of `path`; external data is written there
  std::string target;      // the file to replace, all symbolic links resolved
  bool exists = false;     // whether a regular file exists
  mode_t permissions = 0;  // of the existing file
};

// Resolves `path`. Errors (io, "cannot write: ..."): `path` is a folder, a dangling symbolic link or a
// read-only file (for everybody or for this user); its folder does not exist.
Result<OutputPlace> output_place(const std::string& path);

// Whether both paths name the same file. Resolves links and other names of its folder; the file need not
// exist.
bool same_place(const std::string& one, const std::string& other);

// Checks that `path` can be written (see output_place) and that a file can be created in its folder. Leaves
// no file behind.
Result<void> check_output(const std::string& path);

// Creates a temporary file in `folder` named after `base`, sets `path` to its path and returns its
// descriptor. The file is open for writing and locked (flock), so that other runs see that its owner is
// alive. Returns a negative descriptor on failure, with the reason in errno. Names match is_temporary.
int create_temporary(const std::string& folder, const std::string& base, std::string_view ending, std::string& path);

// Returns an unused path for a temporary file beside `place`, which must be a file. Errors: io.
Result<std::string> temporary_name(const OutputPlace& place, std::string_view ending);

// Whether `name` is ".BASE.xflow-PID-NUMBER" followed by `ending`.
bool is_temporary(std::string_view name, std::string_view ending);

}  // namespace xflow::onnx_io
