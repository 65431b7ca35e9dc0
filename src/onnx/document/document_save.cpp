// Writes a document to a file, and its external data beside it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/onnx/document/data_file.h"
#include "src/onnx/document/data_names.h"
#include "src/onnx/document/document_writer.h"
#include "src/onnx/document/external.h"
#include "src/onnx/document/model_folder.h"
#include "src/onnx/document/output_bytes.h"
#include "src/onnx/document/output_files.h"
#include "src/onnx/lower/tensor_rewriter.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

constexpr std::uint64_t kSmallestMoved = 1024;        // smaller tensors stay in the model, as in onnx.save
constexpr std::uint64_t kProtobufLimit = 0x7fffffff;  // largest size of a message in bytes

const std::optional<std::string> kStays = std::nullopt;  // for a tensor that is not rewritten

bool same_folder(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error) && !error;
}

// What happens to a file of external data that the result uses.
enum class Fate : std::uint8_t {
  unused,
  stay,  // the result refers to it where it is
  copy,  // copied to the same location below the output's folder
  move,  // its tensors are written to the result's own file
};

class Saver {
 public:
  Saver(const Document& document, std::span<const GraphEdit> edits, OutputFiles& files, const SaveOptions& options)
      : document_(document), edits_(edits), files_(files), options_(options), fates_(document.external_files().size()) {}

  Result<void> run();
  // Copies only the files that a result would need.
  Result<void> copy_files();

 private:
  bool is_file() const { return files_.place().kind == OutputPlace::Kind::file; }
  std::size_t file_of(std::string_view location) const;
  Result<void> find_used();
  Fate fate_in_other_folder(const ExternalFile& file) const;
  void decide();
  Result<void> copy(const ExternalFile& file);
  Result<std::optional<std::string>> rewrite(std::string_view message, std::string_view tail, TensorPlace place, DataFile& data);
  Result<std::vector<GraphEdit>> move_tensors(DataFile& data);
  Result<void> write_data(const DataFile& data);
  Result<std::string> name_of_data(const FileBytes& written, std::uint64_t hash);
  Result<void> make_room(const std::string& name);
  std::vector<std::string> locations() const;

  const Document& document_;
  std::span<const GraphEdit> edits_;
  OutputFiles& files_;
  const SaveOptions& options_;
  std::vector<Fate> fates_;
  bool moves_new_ = false;  // whether new initializers are written to the result's own file
  std::string data_location_;
};

std::size_t Saver::file_of(std::string_view location) const {
  const auto files = document_.external_files();
  const auto found = std::find_if(files.begin(), files.end(), [&](const ExternalFile& file) { return file.location == location; });
  return static_cast<std::size_t>(found - files.begin());
}

Result<void> Saver::find_used() {
  const auto look = [&](std::string_view message, std::string_view tail, TensorPlace) -> Result<std::optional<std::string>> {
    if (!tail.empty()) return kStays;
    const auto view = parse_tensor(message);
    if (!view || view->storage != TensorStorage::external) return kStays;
    if (const std::size_t file = file_of(view->location); file < fates_.size()) fates_[file] = Fate::stay;
    return kStays;
  };
  XFLOW_CHECK(rewrite_tensors(document_, edits_, look));
  return {};
}

Fate Saver::fate_in_other_folder(const ExternalFile& file) const {
  switch (files_.slot(file.location)) {
    case OutputFiles::Slot::free:
      return Fate::copy;
    case OutputFiles::Slot::blocked:
      return Fate::move;
    case OutputFiles::Slot::file:
      break;
  }
  const auto folder = ModelFolder::open(files_.place().folder, {});
  if (!folder) return Fate::move;
  const auto there = folder->file(file.location);
  return there && same_bytes(*there->content, *file.content) ? Fate::stay : Fate::move;
}

void Saver::decide() {
  const bool stays = !is_file() || same_folder(document_.origin().folder, files_.place().folder);
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    if (fates_[i] == Fate::unused) continue;
    const ExternalFile& file = document_.external_files()[i];
    if (!options_.external_name.empty() || file.location == options_.moved_location) {
      fates_[i] = Fate::move;
    } else if (!stays) {
      fates_[i] = fate_in_other_folder(file);
    }
  }
}

Result<void> Saver::copy(const ExternalFile& file) {
  return files_.add(
      [&](int descriptor) -> Result<void> {
        const int error = copy_bytes(descriptor, file.path, *file.content);
        if (error == 0) return {};
        return fail(ErrorCode::io, "cannot copy external data " + in_quotes(file.path) + ": " + system_reason(error), files_.place().path);
      },
      [&] { return Result<std::string>(file.location); });
}

Result<std::optional<std::string>> Saver::rewrite(std::string_view message, std::string_view tail, TensorPlace place, DataFile& data) {
  if (!tail.empty()) {
    if (!moves_new_ || tail.size() < kSmallestMoved) return kStays;
    return std::optional(data.add(message, {tail, nullptr}));
  }
  auto view = parse_tensor(message);
  if (!view) return kStays;
  if (view->storage == TensorStorage::external) {
    const std::size_t file = file_of(view->location);
    if (file >= fates_.size() || fates_[file] != Fate::move) return kStays;
    const auto files = document_.external_files();
    XFLOW_CHECK(resolve_open(*view, std::vector<ExternalFile>(files.begin() + static_cast<std::ptrdiff_t>(file),
                                                              files.begin() + static_cast<std::ptrdiff_t>(file) + 1)));
    return std::optional(data.add(message, {view->bytes, files[file].content.get()}));
  }
  if (options_.external_name.empty() || place == TensorPlace::other) return kStays;
  if (view->storage == TensorStorage::raw && view->bytes.size() >= kSmallestMoved)
    return std::optional(data.add(message, {view->bytes, &document_.file()}));
  const bool is_number = view->data_type != ir::DataType::undefined && view->data_type != ir::DataType::string;
  if (view->storage != TensorStorage::typed || !is_number) return kStays;
  const auto elements = view->elements();
  if (!elements || ir::storage_bytes(view->data_type, *elements) < kSmallestMoved) return kStays;
  return std::optional(data.add_decoded(message, ir::storage_bytes(view->data_type, *elements)));
}

Result<std::vector<GraphEdit>> Saver::move_tensors(DataFile& data) {
  return rewrite_tensors(document_, edits_, [&](std::string_view message, std::string_view tail, TensorPlace place) {
    return rewrite(message, tail, place, data);
  });
}

// Moves the data of the existing model to another name, so that `name` is free for the new data.
Result<void> Saver::make_room(const std::string& name) {
  const std::string& path = files_.place().path;
  const auto taken = [&] {
    return fail(ErrorCode::io, "cannot write external data to " + in_quotes(name) + ": a file with that name exists already", path);
  };
  if (!files_.place().exists || named_in(files_.place().target, std::vector<std::string>{name}).empty()) return taken();
  if (files_.is_named_elsewhere(name)) return taken();
  {
    const auto former = Document::open(path);
    if (!former) return taken();
    XFLOW_CHECK(files_.supersede(name));
    XFLOW_TRY(const auto room, OutputFiles::begin(path, OutputFiles::Purpose::inner));
    SaveOptions options;
    options.moved_location = name;
    XFLOW_CHECK(write_document(*former, {}, *room, options));
  }
  const std::string file = files_.place().folder + "/" + name;
  if (::unlink(file.c_str()) != 0) return fail(ErrorCode::io, "cannot remove: " + system_reason(errno), file);
  return {};
}

// Returns the location of the data that was just written; empty if an equal file is there already.
Result<std::string> Saver::name_of_data(const FileBytes& written, std::uint64_t hash) {
  XFLOW_TRY(const ModelFolder folder, ModelFolder::open(files_.place().folder, {}));
  const auto holds = [&](const std::string& name) {
    const auto there = folder.file(name);
    return there && same_bytes(*there->content, written);
  };
  if (!options_.external_name.empty()) {
    data_location_ = options_.external_name;
    const OutputFiles::Slot slot = files_.slot(data_location_);
    if (slot == OutputFiles::Slot::file && holds(data_location_)) return std::string();
    if (slot != OutputFiles::Slot::free) XFLOW_CHECK(make_room(data_location_));
    return data_location_;
  }
  const std::string model = std::filesystem::path(files_.place().path).filename().string();
  for (;; ++hash) {
    data_location_ = data_name(model, hash);
    if (files_.slot(data_location_) == OutputFiles::Slot::free) return data_location_;
    if (holds(data_location_)) return std::string();
  }
}

Result<void> Saver::write_data(const DataFile& data) {
  std::uint64_t hash = 0;
  int file = -1;
  return files_.add(
      [&](int descriptor) -> Result<void> {
        file = descriptor;
        XFLOW_TRY(hash, data.write(descriptor, files_.place().path));
        return {};
      },
      [&]() -> Result<std::string> {
        XFLOW_TRY(const auto written, FileBytes::map(file, files_.place().path));
        return name_of_data(*written, hash);
      });
}

std::vector<std::string> Saver::locations() const {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    if (fates_[i] == Fate::stay || fates_[i] == Fate::copy) list.push_back(document_.external_files()[i].location);
  }
  if (!data_location_.empty()) list.push_back(data_location_);
  return list;
}

Result<void> Saver::copy_files() {
  if (!is_file()) return {};
  XFLOW_CHECK(find_used());
  const Descriptor lock = files_.lock_folder();
  decide();
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    if (fates_[i] == Fate::copy) XFLOW_CHECK(copy(document_.external_files()[i]));
  }
  return {};
}

Result<void> Saver::run() {
  const std::string& path = files_.place().path;
  // Also checks the edits.
  XFLOW_TRY(OutputBytes output, output_bytes(document_, edits_));
  XFLOW_CHECK(find_used());
  const Descriptor lock = files_.lock_folder();
  decide();
  const bool outside = !document_.external_files().empty() || output.size > kProtobufLimit || !options_.external_name.empty();
  moves_new_ = outside && is_file();
  const std::string model = std::filesystem::path(path).filename().string();
  // The name of the data contains the hash of its contents. Until that is known, a name of the same length
  // stands in for it.
  DataFile plan(options_.external_name.empty() ? data_name(model, 0) : options_.external_name);
  XFLOW_TRY(std::vector<GraphEdit> moved, move_tensors(plan));
  if (!plan.empty()) {
    XFLOW_TRY(output, output_bytes(document_, moved));
  }
  if (output.size > kProtobufLimit && output.size > document_.bytes().size()) {
    return fail(
        ErrorCode::unsupported,
        "the model would have " + std::to_string(output.size) + " bytes without its external data, and protobuf reads less than 2 GiB",
        path);
  }
  if (!is_file()) return write_file(path, output.chunks, &document_.file());
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    if (fates_[i] == Fate::copy) XFLOW_CHECK(copy(document_.external_files()[i]));
  }
  if (!plan.empty()) {
    XFLOW_CHECK(write_data(plan));
    DataFile named(data_location_);
    XFLOW_TRY(moved, move_tensors(named));
    XFLOW_TRY(output, output_bytes(document_, moved));
  }
  return files_.write_model(output.chunks, &document_.file(), locations());
}

}  // namespace

Result<void> check_save_options(const Document& document, const OutputPlace& place, const SaveOptions& options) {
  for (const ExternalFile& file : document.external_files()) {
    if (same_place(file.path, place.path))
      return fail(ErrorCode::invalid_argument, "is external data of the model that is read", place.path);
  }
  const std::string& name = options.external_name;
  if (name.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::invalid_argument, "cannot write external data to " + in_quotes(name) + ": " + why);
  };
  if (place.kind != OutputPlace::Kind::file) return refuse("the model does not go to a file");
  if (!check_location(name) || std::filesystem::path(name).filename().empty())
    return refuse("expected the name of a file, relative to the folder of the model and without '..'");
  const std::string path = place.folder + "/" + name;
  if (same_place(path, place.path)) return refuse("it is the path of the output model");
  if (same_place(path, document.origin().name)) return refuse("it is the path of the input model");
  return {};
}

Result<void> write_document(const Document& document, std::span<const GraphEdit> edits, OutputFiles& files, const SaveOptions& options) {
  return Saver(document, edits, files, options).run();
}

Result<void> copy_external_files(const Document& document, OutputFiles& files) {
  const SaveOptions options;
  return Saver(document, {}, files, options).copy_files();
}

Result<std::vector<std::string>> write_document(const Document& document, std::span<const GraphEdit> edits, const std::string& path,
                                                const SaveOptions& options) {
  XFLOW_TRY(const auto files, OutputFiles::begin(path));
  XFLOW_CHECK(check_save_options(document, files->place(), options));
  XFLOW_CHECK(write_document(document, edits, *files, options));
  return files->created();
}

}  // namespace xflow::onnx_io
