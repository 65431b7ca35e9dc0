// The files that one run writes: a model and its external data, all of them or none.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/support/descriptor.h"
#include "src/support/file.h"
#include "src/support/output_place.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// Writes a model and files of external data beside it atomically. At every moment, also after a crash, the
// path of the model leads to the old model with its data or to the new model with its data.
//
// - Each file is written to a temporary file, flushed and renamed. Existing files are not changed. The model
//   is renamed last.
// - A journal (.NAME.xflow-PID-N.run, locked by its owner) lists by device and inode the files that the run
//   creates and the files that become superfluous. They are removed by the run itself if it ends with an
//   error, or after a crash by the next run in that folder, unless a model in the folder names them.
// - The folder is locked (flock) while files appear or disappear, so that concurrent runs do not take each
//   other's files for leftovers.
class OutputFiles {
 public:
  enum class Purpose {
    result,
    candidate,  // the model is removed with its data at the end
    inner,      // a result, while the caller holds the lock of the folder
  };

  // Checks the path (see output_place), removes leftovers of dead runs in its folder, and creates the
  // journal. Errors: io.
  static Result<std::unique_ptr<OutputFiles>> begin(const std::string& path, Purpose purpose = Purpose::result);
  // Removes all files that were not committed.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  const OutputPlace& place() const { return place_; }

  // What exists at a location below the folder: nothing, a regular file, or something that blocks the
  // location. Symbolic links are not followed.
  enum class Slot { free, file, blocked };
  Slot slot(const std::string& location) const;

  // Writes a temporary file with `write`, which gets the descriptor, and renames it to the location that
  // `locate` returns. Drops the file if the location is empty. Creates missing folders of the location.
  // Errors: io; those of `write`.
  Result<void> add(const std::function<Result<void>(int)>& write, const std::function<Result<std::string>()>& locate);

  // Writes the model. `source`: see write_file. Then removes files that the journal lists and that neither
  // `locations` nor another model in the folder names: data of the replaced model that the new one does not
  // use. Errors: io.
  Result<void> write_model(std::span<const std::string_view> chunks, const FileBytes* source, std::span<const std::string> locations);

  // The paths of new files of external data, in the order of their creation.
  const std::vector<std::string>& created() const { return created_; }

  // Records a file below the folder that the new model replaces. Errors: io.
  Result<void> supersede(const std::string& location);
  // Returns true if a model in the folder, other than the replaced one, names this location.
  bool is_named_elsewhere(const std::string& location) const;

  // Locks the folder while files appear or disappear. Returns a closed descriptor if the output is no file
  // or the caller holds the lock.
  Descriptor lock_folder() const;

 private:
  // A record of the journal.
  struct Record {
    char kind = 'f';  // f: a file of external data, d: a folder, m: the model of a candidate, s: superseded external data
    dev_t device = 0;
    ino_t inode = 0;
    std::string name;  // relative to the folder
  };

  explicit OutputFiles(OutputPlace place, Purpose purpose) : place_(std::move(place)), purpose_(purpose) {}
  Unexpected cannot_write(int error) const;
  Result<void> create_folders(const std::string& location);
  Result<void> record(char kind, int descriptor, const std::string& name);
  void record_superseded(std::span<const std::string> locations);
  static std::vector<Record> read_records(int journal);
  static void undo(const std::string& folder, std::span<const Record> records);
  static void remove_leftovers(const std::string& folder);

  OutputPlace place_;
  Purpose purpose_;
  Descriptor journal_;
  std::string journal_path_;
  std::vector<Record> records_;
  std::vector<std::string> created_;
  bool committed_ = false;
};

}  // namespace xflow::onnx_io
