// Writes a document to a file, and its external data beside it.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/onnx/document_output.h"
#include "src/onnx/document_writer.h"
#include "src/onnx/external.h"
#include "src/onnx/wire.h"

namespace xflow::onnx_io {

namespace {

// Which files of external data a document refers to.
class Referenced {
 public:
  explicit Referenced(const Document& document) : document_(document), used_(document.external_files().size()) {}

  // Everything in a graph that the edits leave: kept elements, and what new messages say.
  void graph(const Graph& graph, const GraphEdit* edit);
  std::vector<ExternalFile> files() const;

 private:
  void tensor(const TensorView& tensor) {
    if (tensor.storage == TensorStorage::external) location(tensor.location);
  }
  void location(std::string_view name) {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (document_.external_files()[i].location == name) used_[i] = true;
    }
  }
  void tensor_message(std::string_view message) {
    if (const auto view = parse_tensor(message)) tensor(*view);
  }
  void sparse_message(std::string_view message);
  void attribute_message(std::string_view message);
  void node_message(std::string_view message);

  const Document& document_;
  std::vector<bool> used_;
};

void Referenced::sparse_message(std::string_view message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(1) || field.is_bytes(2)) tensor_message(field.payload);
  }
}

// Tensors of an AttributeProto; bodies of kept nodes are graphs of the document, new nodes have none.
void Referenced::attribute_message(std::string_view message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(5) || field.is_bytes(10)) tensor_message(field.payload);
    if (field.is_bytes(22) || field.is_bytes(23)) sparse_message(field.payload);
  }
}

void Referenced::node_message(std::string_view message) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.is_bytes(5)) attribute_message(field.payload);
  }
}

void Referenced::graph(const Graph& graph, const GraphEdit* edit) {
  const auto nodes = document_.nodes(graph.id);
  const auto visit = [](const std::optional<std::vector<Entry>>* entries, std::size_t size, auto keep, auto add) {
    if (entries == nullptr || !*entries) {
      for (std::size_t i = 0; i < size; ++i) keep(i);
      return;
    }
    for (const Entry& entry : **entries) {
      if (entry.kept) {
        keep(*entry.kept);
      } else {
        if (entry.tail.empty()) add(entry.message);  // a tail holds elements, so they are not in another file
      }
    }
  };
  visit(
      edit == nullptr ? nullptr : &edit->nodes, nodes.size(), [&](std::size_t i) { node_message(nodes[i].payload); },
      [&](const std::string& message) { node_message(message); });
  visit(
      edit == nullptr ? nullptr : &edit->initializers, graph.initializers.size(),
      [&](std::size_t i) { tensor(graph.initializers[i].tensor); }, [&](const std::string& message) { tensor_message(message); });
  visit(
      edit == nullptr ? nullptr : &edit->sparse_initializers, graph.sparse_initializers.size(),
      [&](std::size_t i) {
        tensor(graph.sparse_initializers[i].values);
        tensor(graph.sparse_initializers[i].indices);
      },
      [&](const std::string& message) { sparse_message(message); });
}

std::vector<ExternalFile> Referenced::files() const {
  std::vector<ExternalFile> list;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) list.push_back(document_.external_files()[i]);
  }
  return list;
}

constexpr std::uint64_t kPage = 4096;                 // ONNX asks for offsets that can be mapped
constexpr std::uint64_t kSmallestMoved = 1024;        // smaller elements stay in the model, as in onnx.save
constexpr std::uint64_t kProtobufLimit = 0x7fffffff;  // bytes of a message

// Elements of new initializers that go to a file of external data.
struct MovedElements {
  std::vector<GraphEdit> edits;  // that refer to the file
  std::vector<std::string_view> chunks;
  std::string location;
};

bool can_move(const Entry& entry) { return !entry.kept && entry.tail.size() >= kSmallestMoved; }

// The TensorProto of `entry` (all but its elements, then the header of raw_data) with its elements at `offset` of `location`.
std::string moved_tensor(const Entry& entry, const std::string& location, std::uint64_t offset) {
  constexpr std::uint32_t kRawData = 9;
  WireWriter writer;
  WireReader reader(entry.message);
  for (WireField field; reader.next(field);) {
    if (field.number != kRawData) writer.raw(field.whole);
  }
  const auto external = [&](std::string_view key, const std::string& value) {
    writer.bytes(13, WireWriter().bytes(1, key).bytes(2, value).view());
  };
  external("location", location);
  external("offset", std::to_string(offset));
  external("length", std::to_string(entry.tail.size()));
  return writer.varint(14, 1).take();
}

// The file is named after its content: writing it never changes a file that another model refers to, and the same run gives the same name.
MovedElements move_elements(std::span<const GraphEdit> edits, const std::string& model_path) {
  static const std::array<char, kPage> zeros{};
  MovedElements moved;
  moved.edits.assign(edits.begin(), edits.end());
  std::vector<std::pair<Entry*, std::uint64_t>> entries;
  std::uint64_t size = 0;
  for (GraphEdit& edit : moved.edits) {
    if (!edit.initializers) continue;
    for (Entry& entry : *edit.initializers) {
      if (!can_move(entry)) continue;
      const std::uint64_t padding = (kPage - size % kPage) % kPage;
      if (padding != 0) moved.chunks.emplace_back(zeros.data(), padding);
      entries.emplace_back(&entry, size + padding);
      moved.chunks.push_back(entry.tail);
      size += padding + entry.tail.size();
    }
  }
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const std::string_view chunk : moved.chunks) XXH3_64bits_update(&state, chunk.data(), chunk.size());
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016" PRIx64, static_cast<std::uint64_t>(XXH3_64bits_digest(&state)));
  moved.location = std::filesystem::path(model_path).filename().string() + "." + hash.data() + ".data";
  for (const auto& [entry, offset] : entries) *entry = Entry::add(moved_tensor(*entry, moved.location, offset));
  return moved;
}

bool same_folder(const std::string& one, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error) && !error;
}

// Files that are removed again if the model itself cannot be written.
class NewFiles {
 public:
  NewFiles() = default;
  ~NewFiles() {
    std::error_code ignored;
    for (const std::string& path : paths_) std::filesystem::remove(path, ignored);
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  std::vector<std::string>& paths() { return paths_; }
  std::vector<std::string> keep() { return std::exchange(paths_, {}); }

 private:
  std::vector<std::string> paths_;
};

Result<void> write_moved(const MovedElements& moved, const std::string& folder, NewFiles& files) {
  const std::string path = folder + "/" + moved.location;
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  XFLOW_CHECK(write_file(path, moved.chunks));
  if (is_new) files.paths().push_back(path);
  return {};
}

std::vector<ExternalFile> referenced_files(const Document& document, std::span<const GraphEdit> edits) {
  Referenced referenced(document);
  for (const Graph& graph : document.graphs()) {
    const auto edit = std::find_if(edits.begin(), edits.end(), [&](const GraphEdit& candidate) { return candidate.graph == graph.id; });
    referenced.graph(graph, edit == edits.end() ? nullptr : &*edit);
  }
  return referenced.files();
}

}  // namespace

Result<std::vector<std::string>> write_document(const Document& document, std::span<const GraphEdit> edits, const std::string& path) {
  const std::string folder = folder_of(path);
  XFLOW_TRY(OutputBytes output, output_bytes(document, edits));
  NewFiles files;
  MovedElements moved;
  const bool keeps_weights_outside = !document.external_files().empty() || output.size > kProtobufLimit;
  if (keeps_weights_outside) moved = move_elements(edits, path);
  if (!moved.chunks.empty()) {
    XFLOW_TRY(output, output_bytes(document, moved.edits));
  }
  if (output.size > kProtobufLimit && output.size > document.bytes().size()) {
    return fail(
        ErrorCode::unsupported,
        "the model would have " + std::to_string(output.size) + " bytes without its external data, and protobuf reads less than 2 GiB",
        path);
  }
  if (!same_folder(document.origin().folder, folder)) {
    XFLOW_CHECK(copy_external_files(referenced_files(document, edits), folder, files.paths()));
  }
  if (!moved.chunks.empty()) XFLOW_CHECK(write_moved(moved, folder, files));
  XFLOW_CHECK(write_file(path, output.chunks));
  return files.keep();
}

}  // namespace xflow::onnx_io
