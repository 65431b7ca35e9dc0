// The same model written another legal way, and what must be equal after that.
#include <algorithm>
#include <map>
#include <sstream>

#include "src/onnx/document/wire.h"
#include "tests/onnx/model_builder.h"

namespace xflow::onnx_io::testing {

namespace {

enum class Kind { other, model, graph, node, attribute, tensor, value_info, type, tensor_type, sparse, function };

// The messages in a field, as far as the shuffle goes down into them.
Kind nested_kind(Kind kind, std::uint32_t field) {
  static const std::map<std::pair<Kind, std::uint32_t>, Kind> kinds = {
      {{Kind::model, 7}, Kind::graph},       {{Kind::model, 25}, Kind::function},      {{Kind::graph, 1}, Kind::node},
      {{Kind::graph, 5}, Kind::tensor},      {{Kind::graph, 11}, Kind::value_info},    {{Kind::graph, 12}, Kind::value_info},
      {{Kind::graph, 13}, Kind::value_info}, {{Kind::graph, 15}, Kind::sparse},        {{Kind::node, 5}, Kind::attribute},
      {{Kind::attribute, 5}, Kind::tensor},  {{Kind::attribute, 6}, Kind::graph},      {{Kind::value_info, 2}, Kind::type},
      {{Kind::type, 1}, Kind::tensor_type},  {{Kind::sparse, 1}, Kind::tensor},        {{Kind::sparse, 2}, Kind::tensor},
      {{Kind::function, 7}, Kind::node},     {{Kind::function, 12}, Kind::value_info},
  };
  const auto at = kinds.find({kind, field});
  return at == kinds.end() ? Kind::other : at->second;
}

bool is_packable(Kind kind, std::uint32_t field) {
  if (kind == Kind::tensor) return field == 1 || field == 4 || field == 5 || field == 7 || field == 10 || field == 11;
  if (kind == Kind::attribute) return field == 7 || field == 8;
  return kind == Kind::sparse && field == 3;
}

// Bytes of one number in a packed field; 0 for varints.
std::size_t width(Kind kind, std::uint32_t field) {
  if (kind == Kind::tensor) return field == 4 ? 4 : field == 10 ? 8 : 0;
  return kind == Kind::attribute && field == 7 ? 4 : 0;
}

// The encoded numbers of a packable field.
std::vector<std::string> numbers(const WireField& field, std::size_t width) {
  std::vector<std::string> list;
  std::string_view rest = field.payload;
  while (!rest.empty()) {
    std::size_t size = width;
    if (width == 0) {
      while ((static_cast<unsigned char>(rest[size]) & 0x80) != 0) ++size;
      ++size;
    }
    list.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return list;
}

class Shuffle {
 public:
  explicit Shuffle(std::mt19937& random) : random_(random) {}

  std::string message(std::string_view bytes, Kind kind) {
    // Fields by number, each list in order; then they are drawn at random.
    std::map<std::uint32_t, std::vector<std::string>> fields;
    std::map<std::uint32_t, std::vector<std::string>> packable;
    WireReader reader(bytes);
    for (WireField field; reader.next(field);) {
      if (is_packable(kind, field.number)) {
        auto& list = packable[field.number];
        for (std::string& number : numbers(field, width(kind, field.number))) list.push_back(std::move(number));
        continue;
      }
      const Kind inner = nested_kind(kind, field.number);
      if (inner == Kind::other) {
        fields[field.number].emplace_back(field.whole);
      } else if (inner == Kind::graph && coin()) {
        for (const std::string& half : halves(message(field.payload, inner))) fields[field.number].push_back(wrap(field.number, half));
      } else {
        fields[field.number].push_back(wrap(field.number, message(field.payload, inner)));
      }
    }
    for (const auto& [number, list] : packable) fields[number] = pack(number, list, width(kind, number));
    return draw(fields);
  }

 private:
  bool coin() { return random_() % 2 == 0; }

  std::string varint(std::uint64_t value, int padding) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    out.push_back(static_cast<char>(value));
    for (; padding > 0; --padding) {
      out.back() = static_cast<char>(out.back() | 0x80);
      out.push_back('\0');
    }
    return out;
  }

  // A length-delimited field whose length may take more bytes than it needs.
  std::string wrap(std::uint32_t number, std::string_view payload) {
    return varint(std::uint64_t{number} << 3 | 2, 0) + varint(payload.size(), static_cast<int>(random_() % 3)) + std::string(payload);
  }

  // Two messages whose merge is the first.
  std::vector<std::string> halves(const std::string& message) {
    std::string one;
    std::string two;
    std::size_t count = 0;
    WireReader counter(message);
    for (WireField field; counter.next(field);) ++count;
    const std::size_t cut = random_() % (count + 1);
    WireReader reader(message);
    std::size_t i = 0;
    for (WireField field; reader.next(field); ++i) (i < cut ? one : two).append(field.whole);
    return {one, two};
  }

  std::vector<std::string> pack(std::uint32_t number, const std::vector<std::string>& list, std::size_t width) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < list.size();) {
      const std::size_t count = std::min(list.size() - i, std::size_t{1 + random_() % 3});
      if (coin()) {
        std::string payload;
        for (std::size_t k = 0; k < count; ++k) payload += list[i + k];
        fields.push_back(wrap(number, payload));
      } else {
        const unsigned type = width == 4 ? 5 : width == 8 ? 1 : 0;
        for (std::size_t k = 0; k < count; ++k) fields.push_back(varint(std::uint64_t{number} << 3 | type, 0) + list[i + k]);
      }
      i += count;
    }
    return fields;
  }

  std::string unknown() {
    const std::uint32_t number = 1000 + random_() % 50;
    const std::uint64_t tag = std::uint64_t{number} << 3;
    switch (random_() % 6) {
      case 0:
        return varint(tag, 0) + varint(random_(), 1);
      case 1:
        return varint(tag | 5, 0) + "abcd";
      case 2:
        return varint(tag | 1, 0) + "abcdefgh";
      case 3:
        return varint(tag | 2, 0) + varint(5, 2) + "bytes";
      case 4:  // a group with a group in it
        return varint(tag | 3, 0) + varint(3 << 3 | 3, 0) + varint(7 << 3, 0) + varint(1, 0) + varint(3 << 3 | 4, 0) + varint(tag | 4, 0);
      default:  // a known number with a wire type that it cannot have: unknown to every reader
        return varint(11 << 3 | 5, 0) + "wxyz";
    }
  }

  std::string draw(std::map<std::uint32_t, std::vector<std::string>>& fields) {
    std::vector<std::uint32_t> order;
    for (const auto& [number, list] : fields) order.insert(order.end(), list.size(), number);
    std::shuffle(order.begin(), order.end(), random_);
    std::map<std::uint32_t, std::size_t> next;
    std::string out;
    for (const std::uint32_t number : order) {
      if (random_() % 4 == 0) out += unknown();
      out += fields[number][next[number]++];
    }
    if (coin()) out += unknown();
    return out;
  }

  std::mt19937& random_;
};

void print_tensor(std::ostream& out, const Document& document, const TensorView& tensor) {
  out << tensor.name << " " << tensor.type_text();
  if (tensor.data_type == ir::DataType::string) {
    const auto list = strings(tensor);
    if (!list) {
      out << list.error().text();
    } else {
      for (const std::string_view text : *list) out << " '" << text << "'";
    }
  } else {
    const auto constant = document.constant(tensor);
    const auto values = constant ? ir::doubles(*constant) : Result<std::vector<double>>(fail(constant.error()));
    if (!values) {
      out << values.error().text();
    } else {
      for (const double value : *values) out << " " << value;
    }
  }
  out << "\n";
}

template <typename T>
void print_list(std::ostream& out, const Result<std::vector<T>>& list) {
  if (!list) {
    out << list.error().text();
    return;
  }
  for (const T& value : *list) out << value << ",";
}

void print_attribute(std::ostream& out, const Document& document, const Attribute& attribute) {
  out << "    " << attribute.name << " = ";
  switch (attribute.type) {
    case AttributeType::integer:
      out << *attribute.integer();
      break;
    case AttributeType::real:
      out << *attribute.real();
      break;
    case AttributeType::string:
      out << *attribute.string();
      break;
    case AttributeType::integers:
      print_list(out, attribute.integers());
      break;
    case AttributeType::reals:
      print_list(out, attribute.reals());
      break;
    case AttributeType::strings:
      print_list(out, attribute.strings());
      break;
    case AttributeType::tensor:
      print_tensor(out, document, *document.tensor(attribute));
      break;
    default:
      for (const GraphId body : attribute.graphs) out << "graph " << document.graph(body).name << " ";
  }
  out << "\n";
}

// Graphs are numbered in the order in which the file has them, which a shuffle changes; their names stay.
void print_graph(std::ostream& out, const Document& document, const Graph& graph) {
  out << "graph " << graph.name << " " << graph.doc_string << " sorted " << graph.sorted << "\n";
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos}) {
    for (const ValueInfo& info : *list) out << "  value " << info.name << " " << info.type.text() << "\n";
  }
  for (const auto* list : {&graph.function_inputs, &graph.function_outputs}) {
    for (const std::string_view name : *list) out << "  name " << name << "\n";
  }
  for (const Initializer& initializer : graph.initializers) print_tensor(out << "  ", document, initializer.tensor);
  for (const SparseInitializer& sparse : graph.sparse_initializers) {
    out << "  sparse " << sparse.dims.size() << " ";
    print_tensor(out, document, sparse.values);
  }
  for (const QuantizationAnnotation& annotation : graph.quantization_annotations) {
    for (const auto& [key, value] : annotation.parameters) out << "  quantized " << annotation.tensor_name << key << value << "\n";
  }
  for (const Node& node : document.nodes(graph.id)) {
    out << "  node " << node.name << " " << node.domain << "." << node.op_type << "\n";
    for (const auto* list : {&node.inputs, &node.outputs, &node.captures}) {
      out << "    ";
      for (const std::string_view name : *list) out << name << ",";
      out << "\n";
    }
    std::map<std::string, std::string> attributes;
    for (const Attribute& attribute : node.attributes) {
      std::ostringstream text;
      print_attribute(text, document, attribute);
      attributes.emplace(attribute.name, text.str());
    }
    for (const auto& [name, text] : attributes) out << text;
  }
}

}  // namespace

std::string shuffled(std::string_view model, std::mt19937& random) { return Shuffle(random).message(model, Kind::model); }

std::string digest(const Document& document) {
  std::ostringstream out;
  const Model& model = document.model();
  out << model.ir_version << model.producer_name << model.producer_version << model.training_infos << "\n";
  for (const OperatorSet& opset : model.opsets) out << opset.domain << " " << opset.version << "\n";
  for (const auto& [key, value] : model.metadata) out << key << "=" << value << "\n";
  for (const Function& function : model.functions) {
    out << function.domain << "." << function.name << " " << function.attributes.size() << function.defaults.size()
        << function.opsets.size() << "\n";
  }
  std::vector<std::string> graphs;
  for (const Graph& graph : document.graphs()) {
    std::ostringstream text;
    print_graph(text, document, graph);
    graphs.push_back(text.str());
  }
  std::sort(graphs.begin(), graphs.end());
  for (const std::string& graph : graphs) out << graph;
  return out.str();
}

}  // namespace xflow::onnx_io::testing
