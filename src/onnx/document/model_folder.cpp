#include "src/onnx/document/model_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "src/support/acceptance.h"
#include "src/support/descriptor.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

Unexpected unreadable(std::string_view path, const std::string& why) { return fail(ErrorCode::unreadable, why, std::string(path)); }

// Returns the kind of a file that is not regular; nullptr for a regular file.
const char* irregular(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "a socket";
}

// The result of a walk from a folder to a file below it.
struct Walk {
  Descriptor file;                               // open for reading; negative if the walk failed
  std::string at;                                // part of the path at which the walk ended
  bool link = false;                             // whether the walk ended at a symbolic link
  Acceptance opens = refused("was not opened");  // refused with the reason if the file is not open
};

// Opens `relative` below `root`. No link below `root` is followed.
Walk walk(const std::string& root, const std::filesystem::path& relative) {
  Walk result;
  result.at = root;
  Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    result.opens = refused("cannot open: " + system_reason(errno));
    return result;
  }
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : relative) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    result.at += "/" + parts[i];
    // O_PATH does not open the file: a device is not touched, and a FIFO does not wait for a writer.
    Descriptor part(::openat(folder.number(), parts[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!part || ::fstat(part.number(), &status) != 0) {
      result.opens = refused("cannot open: " + system_reason(errno));
      return result;
    }
    result.link = S_ISLNK(status.st_mode);
    if (result.link || !(last ? S_ISREG(status.st_mode) : S_ISDIR(status.st_mode))) {
      const char* what = irregular(status.st_mode);
      result.opens =
          refused(std::string("is ") + (what == nullptr ? "a file" : what) + ", expected a " + (last ? "regular file" : "folder"));
      return result;
    }
    if (!last) {
      folder = std::move(part);
      continue;
    }
    // The name may lead to another file by now, so check that the opened file is the checked one.
    Descriptor file(::openat(folder.number(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat opened {};
    if (!file || ::fstat(file.number(), &opened) != 0) {
      result.opens = refused("cannot open: " + system_reason(errno));
    } else if (opened.st_dev != status.st_dev || opened.st_ino != status.st_ino) {
      result.opens = refused("was replaced while it was opened");
    } else {
      result.file = std::move(file);
      result.opens = accepted();
    }
    return result;
  }
  result.opens = refused("is a folder, expected a regular file");
  return result;
}

// Returns the part of `path` below `folder`; nothing if it is not there. Both paths are canonical.
std::optional<std::filesystem::path> below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (end != folder.end() || rest == path.end()) return std::nullopt;
  std::filesystem::path relative;
  for (auto part = rest; part != path.end(); ++part) relative /= *part;
  return relative;
}

Result<AdmittedFile> opened(Walk found) {
  XFLOW_TRY(auto content, FileBytes::map(found.file.number(), found.at));
  return AdmittedFile{std::move(found.at), std::move(content)};
}

}  // namespace

Result<void> check_location(std::string_view location) {
  const auto outside = [&] {
    return fail(ErrorCode::unreadable,
                "external data " + in_quotes(location) + " lies outside the model's folder; expected a relative path without '..'");
  };
  if (location.empty()) return fail(ErrorCode::unreadable, "external data without a location");
  const bool has_drive = location.size() > 1 && location[1] == ':';
  if (location.front() == '/' || location.front() == '\\' || has_drive) return outside();
  if (location.find('\0') != std::string_view::npos) return outside();
  for (std::size_t start = 0; start <= location.size();) {
    const std::size_t end = std::min(location.find_first_of("/\\", start), location.size());
    if (location.substr(start, end - start) == "..") return outside();
    start = end + 1;
  }
  return {};
}

Result<ModelFolder> ModelFolder::open(std::string folder, const std::vector<std::string>& allowed) {
  ModelFolder result;
  result.folder_ = std::move(folder);
  for (const std::string& path : allowed) {
    std::error_code error;
    const std::filesystem::path resolved = std::filesystem::canonical(path, error);
    if (error) return fail(ErrorCode::unreadable, "cannot admit external data from this folder: " + error.message(), path);
    if (!std::filesystem::is_directory(resolved, error))
      return fail(ErrorCode::unreadable, "cannot admit external data from it: it is not a folder", path);
    result.allowed_.push_back(resolved.string());
  }
  return result;
}

Result<AdmittedFile> ModelFolder::file(std::string_view location) const {
  const auto inside = check_location(location);
  Walk found;
  if (inside) {
    found = walk(folder_, std::filesystem::path(location));
    if (found.opens) return opened(std::move(found));
    if (!found.link) return unreadable(found.at, found.opens.reason);
  }
  const bool is_path = !location.empty() && location.find('\0') == std::string_view::npos;
  if (allowed_.empty() || !is_path) {
    if (!inside) return fail(inside.error());
    return unreadable(found.at, found.opens.reason + "; option 'allow_external' admits files in other folders");
  }
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(std::filesystem::path(folder_) / location, error);
  const std::string name = (std::filesystem::path(folder_) / location).string();
  if (error) return unreadable(name, "cannot open: " + error.message());
  for (const std::string& folder : allowed_) {
    const auto relative = below(target, folder);
    if (!relative) continue;
    Walk admitted = walk(folder, *relative);
    if (!admitted.opens) return unreadable(admitted.at, admitted.opens.reason);
    return opened(std::move(admitted));
  }
  return unreadable(name, "leads to " + in_quotes(target.string()) + ", which is in no folder of option 'allow_external'");
}

}  // namespace xflow::onnx_io
