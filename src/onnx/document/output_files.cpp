#include "src/onnx/document/output_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "src/onnx/document/data_names.h"
#include "src/onnx/document/model_folder.h"

namespace xflow::onnx_io {

namespace {

namespace fs = std::filesystem;

std::string base_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_of(const std::string& path, dev_t device, ino_t inode) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

// Opens and locks a file whose owner is dead. Returns a closed descriptor if the owner is alive.
Descriptor abandoned(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return {};
  // The owner may have renamed the file and released it meanwhile.
  return is_of(path, status.st_dev, status.st_ino) ? std::move(file) : Descriptor();
}

// The rename itself must reach the disk. A file system that cannot flush a folder has nothing to flush, so a
// failure is no error.
void flush_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.number());
}

// Renames without replacing an existing file.
int rename_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Unexpected OutputFiles::cannot_write(int error) const { return fail(ErrorCode::io, "cannot write: " + system_reason(error), place_.path); }

Result<std::unique_ptr<OutputFiles>> OutputFiles::begin(const std::string& path, Purpose purpose) {
  XFLOW_TRY(OutputPlace place, output_place(path));
  std::unique_ptr<OutputFiles> files(new OutputFiles(std::move(place), purpose));
  if (files->place_.kind != OutputPlace::Kind::file) return files;
  const std::string target_folder = folder_of(files->place_.target);
  if (!same_place(target_folder, files->place_.folder)) {
    if (auto checked = check_output(path); !checked) return fail(std::move(checked).error());
    remove_leftovers(target_folder);
  }
  const Descriptor lock = files->lock_folder();
  remove_leftovers(files->place_.folder);
  files->journal_ = Descriptor(create_temporary(files->place_.folder, base_of(path), ".run", files->journal_path_));
  if (!files->journal_) return files->cannot_write(errno);
  return files;
}

OutputFiles::~OutputFiles() {
  if (!journal_) return;
  const Descriptor lock = lock_folder();
  if (!committed_) undo(place_.folder, records_);
  ::unlink(journal_path_.c_str());
}

Descriptor OutputFiles::lock_folder() const {
  if (place_.kind != OutputPlace::Kind::file || purpose_ == Purpose::inner) return {};
  Descriptor folder(::open(place_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (folder && ::flock(folder.number(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return folder;
}

Result<void> OutputFiles::supersede(const std::string& location) {
  const Descriptor file(::open((place_.folder + "/" + location).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file ? record('s', file.number(), location) : Result<void>(cannot_write(errno));
}

bool OutputFiles::is_named_elsewhere(const std::string& location) const {
  const std::vector<std::string> names{location};
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder, error)) {
    if (!named_in(entry.path().string(), names).empty() && !same_place(entry.path().string(), place_.target)) return true;
  }
  return false;
}

OutputFiles::Slot OutputFiles::slot(const std::string& location) const {
  if (!check_location(location)) return Slot::blocked;
  std::string at = place_.folder;
  const fs::path path(location);
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (part->empty() || *part == ".") continue;
    at += "/" + part->string();
    struct stat status {};
    if (::lstat(at.c_str(), &status) != 0) return errno == ENOENT ? Slot::free : Slot::blocked;
    if (std::next(part) == path.end()) return S_ISREG(status.st_mode) ? Slot::file : Slot::blocked;
    if (!S_ISDIR(status.st_mode)) return Slot::blocked;
  }
  return Slot::blocked;
}

Result<void> OutputFiles::record(char kind, int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return cannot_write(errno);
  records_.push_back({kind, status.st_dev, status.st_ino, name});
  std::string line = std::string(1, kind) + " " + std::to_string(status.st_dev) + " " + std::to_string(status.st_ino) + " " + name;
  line.push_back('\0');  // a name may contain any other character
  if (const int error = write_all(journal_.number(), line); error != 0) return cannot_write(error);
  return ::fdatasync(journal_.number()) == 0 ? Result<void>() : cannot_write(errno);
}

Result<void> OutputFiles::create_folders(const std::string& location) {
  fs::path at;
  for (const fs::path& part : fs::path(location).parent_path()) {
    at /= part;
    const std::string path = place_.folder + "/" + at.string();
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return cannot_write(errno);
    }
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return cannot_write(errno);
    XFLOW_CHECK(record('d', folder.number(), at.string()));
    flush_folder(folder_of(path));
  }
  return {};
}

Result<void> OutputFiles::add(const std::function<Result<void>(int)>& write, const std::function<Result<std::string>()>& locate) {
  std::string temporary;
  Descriptor out(create_temporary(place_.folder, base_of(place_.path), ".tmp", temporary));
  if (!out) return cannot_write(errno);
  const auto drop = [&](Result<void> result) {
    ::unlink(temporary.c_str());
    return result;
  };
  if (auto written = write(out.number()); !written) return drop(std::move(written));
  auto located = locate();
  if (!located) return drop(fail(std::move(located).error()));
  const std::string location = *std::move(located);
  if (location.empty()) return drop({});
  if (::fsync(out.number()) != 0) return drop(cannot_write(errno));
  if (auto done = create_folders(location); !done) return drop(std::move(done));
  if (auto done = record('f', out.number(), location); !done) return drop(std::move(done));
  const std::string path = place_.folder + "/" + location;
  if (const int error = rename_new(temporary, path); error != 0) return drop(cannot_write(error));
  flush_folder(folder_of(path));
  created_.push_back(path);
  return {};
}

// Records data that the replaced model uses and the new one does not, and new files that are not needed
// after all.
void OutputFiles::record_superseded(std::span<const std::string> locations) {
  const auto used = [&](const std::string& name) { return std::find(locations.begin(), locations.end(), name) != locations.end(); };
  for (Record& record : records_) {
    if (record.kind == 'f' && !used(record.name)) record.kind = 's';
  }
  if (!place_.exists) return;
  std::error_code error;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_data_name(name, base_of(place_.path)) && !used(name)) names.push_back(name);
  }
  for (const std::string& name : named_in(place_.target, names)) {
    if (!supersede(name)) return;  // the data is kept
  }
}

Result<void> OutputFiles::write_model(std::span<const std::string_view> chunks, const FileBytes* source,
                                      std::span<const std::string> locations) {
  const std::string folder = folder_of(place_.target);
  std::string temporary;
  Descriptor out(create_temporary(folder, base_of(place_.target), ".tmp", temporary));
  if (!out) return cannot_write(errno);
  record_superseded(locations);
  int error = write_chunks(out.number(), chunks, source);
  if (error == 0 && place_.exists && ::fchmod(out.number(), place_.permissions) != 0) error = errno;
  if (error == 0 && ::fsync(out.number()) != 0) error = errno;
  if (error == 0 && purpose_ == Purpose::candidate) {
    if (const auto done = record('m', out.number(), base_of(place_.path)); !done) error = EIO;
  }
  if (error == 0 && ::rename(temporary.c_str(), place_.target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return cannot_write(error);
  }
  flush_folder(folder);
  if (purpose_ == Purpose::candidate) return {};
  committed_ = true;
  std::erase_if(records_, [](const Record& record) { return record.kind != 's'; });
  undo(place_.folder, records_);
  return {};
}

std::vector<OutputFiles::Record> OutputFiles::read_records(int journal) {
  std::string text;
  std::string buffer(std::size_t{1} << 16, '\0');
  ::lseek(journal, 0, SEEK_SET);
  for (ssize_t count = 0; (count = ::read(journal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer, 0, static_cast<std::size_t>(count));
  std::vector<Record> records;
  std::size_t begin = 0;
  // A line without an end is incomplete.
  for (std::size_t end = 0; (end = text.find('\0', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    // Format: "f DEVICE INODE NAME".
    Record record;
    const char* const stop = line.data() + line.size();
    const char* at = line.data();
    const auto number = [&](auto& value) {
      const auto [rest, fault] = std::from_chars(at + 1, stop, value);
      const bool read = *at == ' ' && fault == std::errc() && rest != stop && *rest == ' ';
      at = rest;
      return read;
    };
    if (line.size() < 2) continue;
    record.kind = *at++;
    if (!number(record.device) || !number(record.inode)) continue;
    record.name.assign(at + 1, stop);
    if (check_location(record.name)) records.push_back(std::move(record));
  }
  return records;
}

// Removes the recorded files of a run. A name that leads to another file by now is left alone.
void OutputFiles::undo(const std::string& folder, std::span<const Record> records) {
  const auto path = [&](const Record& record) { return folder + "/" + record.name; };
  const auto is_there = [&](const Record& record) { return is_of(path(record), record.device, record.inode); };
  std::vector<std::string> names;
  for (const Record& record : records) {
    if (!is_there(record)) continue;
    if (record.kind == 'm') ::unlink(path(record).c_str());
    if (record.kind == 'f' || record.kind == 's') names.push_back(record.name);
  }
  if (!names.empty()) {
    std::error_code error;
    std::vector<std::string> named;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      for (std::string& name : named_in(entry.path().string(), names)) named.push_back(std::move(name));
    }
    for (const Record& record : records) {
      const bool data = record.kind == 'f' || record.kind == 's';
      if (data && is_there(record) && std::find(named.begin(), named.end(), record.name) == named.end()) ::unlink(path(record).c_str());
    }
  }
  for (std::size_t i = records.size(); i-- > 0;) {
    // Fails if the folder is not empty.
    if (records[i].kind == 'd' && is_there(records[i])) ::rmdir(path(records[i]).c_str());
  }
}

void OutputFiles::remove_leftovers(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> temporaries;
  std::vector<std::string> journals;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_temporary(name, ".tmp")) temporaries.push_back(entry.path().string());
    if (is_temporary(name, ".run")) journals.push_back(entry.path().string());
  }
  for (const std::string& path : temporaries) {
    if (const Descriptor file = abandoned(path)) ::unlink(path.c_str());
  }
  // Remove the candidates of all runs first: a file that another run copied stays as long as a candidate
  // refers to it.
  std::vector<Descriptor> files;
  std::vector<std::vector<Record>> lists;
  for (const std::string& path : journals) {
    files.push_back(abandoned(path));
    lists.push_back(files.back() ? read_records(files.back().number()) : std::vector<Record>());
    std::vector<Record> models = lists.back();
    std::erase_if(models, [](const Record& record) { return record.kind != 'm'; });
    undo(folder, models);
  }
  for (std::size_t k = 0; k < journals.size(); ++k) {
    if (!files[k]) continue;
    undo(folder, lists[k]);
    ::unlink(journals[k].c_str());
  }
}

}  // namespace xflow::onnx_io
