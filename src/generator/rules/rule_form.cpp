#include "src/generator/rules/rule_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "src/generator/rules/batch_sequences.h"
#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

constexpr std::array<const char*, 10> kInputNames = {"x", "z", "u", "v", "w", "k", "m", "n", "p", "q"};

// The names in their order, then the same with numbers.
template <std::size_t N>
std::string numbered(const std::array<const char*, N>& names, std::size_t k) {
  return k < N ? names[k] : fmt::format("{}{}", names[k % N], k / N);
}

class FormWriter {
 public:
  FormWriter(const GraphSignature& signature, const Candidate& candidate, const std::string& name, Form form, const Openness& open,
             bool small_ranks)
      : signature_(signature),
        candidate_(candidate),
        name_(name),
        form_(form),
        small_ranks_(small_ranks),
        broadcasts_(open.broadcasts),
        shapes_(signature, candidate, open.equal),
        batches_(signature, candidate, shapes_.inputs()) {
    if (open.scalars) name_scalars();
    for (std::size_t k = 0; k < shapes_.inputs().size(); ++k) names_[shapes_.inputs()[k]] = numbered(kInputNames, k);
  }

  // Why there is no text, in words.
  const std::string& why() const { return failed_; }
  std::optional<std::string> text() {
    if (form_ == Form::batches || form_ == Form::batch) batches_.find(form_ == Form::batch);
    const std::vector<std::string> source = side(candidate_.source, true);
    const std::vector<std::string> target = side(candidate_.target, false);
    if (!failed_.empty()) return std::nullopt;
    std::string result = "# " + equation() + "\nrule " + name_ + "\n";
    const std::vector<std::string> declared = declarations();
    if (!failed_.empty()) return std::nullopt;
    if (!declared.empty()) result += "  with\n";
    for (const std::string& d : declared) result += "    " + d + "\n";
    result += "  source\n";
    for (const std::string& s : source) result += "    " + s + "\n";
    result += "  target\n";
    for (const std::string& s : target) result += "    " + s + "\n";
    const std::vector<std::string> where = guards();
    if (!failed_.empty()) return std::nullopt;
    if (!where.empty()) result += fmt::format("  where {}\n", fmt::join(where, " and "));
    return result;
  }

  // "relu(concat(x, z)) = concat(relu(x), relu(z))"
  std::string equation() const {
    const auto one = [&](const SmallGraph& graph) {
      std::vector<std::string> texts;
      for (std::size_t k = 0; k < signature_.leaves().size(); ++k) texts.push_back(leaf_text(static_cast<std::uint8_t>(k)));
      for (const SmallGraphNode& n : graph.nodes) {
        const Choice& c = signature_.choice(n.choice);
        std::string text;
        const std::string word = c.shape == Shape::convolution ? "conv" : c.word;
        if (c.word == "add" || c.word == "mul" || c.word == "sub" || c.word == "div") {
          const char sign = c.word == "add" ? '+' : c.word == "mul" ? '*' : c.word == "sub" ? '-' : '/';
          text = fmt::format("({} {} {})", texts[n.operands[0]], sign, texts[n.operands[1]]);
        } else {
          std::vector<std::string> operands;
          operands.reserve(n.operands.size());
          for (const std::uint8_t o : n.operands) operands.push_back(texts[o]);
          text = fmt::format("{}({})", word, fmt::join(operands, ", "));
        }
        if (c.outputs == 1) {
          texts.push_back(text);
        } else {
          for (std::size_t k = 0; k < c.outputs; ++k) texts.push_back(fmt::format("{}[{}]", text, k));
        }
      }
      std::vector<std::string> outputs;
      for (const std::uint8_t o : graph.outputs) {
        std::string t = texts[o];
        if (t.front() == '(' && t.back() == ')') t = t.substr(1, t.size() - 2);
        outputs.push_back(std::move(t));
      }
      return fmt::format("{}", fmt::join(outputs, "; "));
    };
    return one(candidate_.source) + " = " + one(candidate_.target);
  }

 private:
  bool has_axes() const { return form_ == Form::axes; }
  bool is_constant(std::uint8_t value) const { return signature_.is_constant(value); }
  bool is_image() const { return signature_.kind() == TensorKind::image; }

  std::string leaf_text(std::uint8_t leaf) const {
    const Leaf& l = signature_.leaves()[leaf];
    if (l.kind == Leaf::Kind::input) {
      const auto found = names_.find(leaf);
      return found == names_.end() ? "?" : found->second;
    }
    if (l.kind == Leaf::Kind::full && signature_.dims(l.type).empty()) {
      if (const auto scalar = scalars_.find(leaf); scalar != scalars_.end()) return scalar->second;
      const std::string text = l.value.to_string();
      return text.find('/') == std::string::npos ? text : "(" + text + ")";
    }
    if (l.kind != Leaf::Kind::full) return "identity";
    if (l.value == ir::Rational(0)) return "zeros";
    return l.value == ir::Rational(1) ? "ones" : "average";
  }

  void fail(const char* why) {
    if (failed_.empty()) failed_ = why;
  }

  // Numbers, if both sides have the same: a variable that is dropped might be infinite.
  void name_scalars() {
    const auto numbers = [&](const SmallGraph& graph) {
      std::set<std::uint8_t> found;
      for (const SmallGraphNode& n : graph.nodes)
        for (const std::uint8_t o : n.operands)
          if (is_constant(o) && signature_.dims(signature_.leaves()[o].type).empty()) found.insert(o);
      return found;
    };
    static constexpr std::array<const char*, 5> kNames = {"s", "t", "r", "l", "o"};
    const std::set<std::uint8_t> known = numbers(candidate_.source);
    const std::set<std::uint8_t> read = numbers(candidate_.target);
    if (known != read) return fail("a number is on one side alone");
    for (const std::uint8_t leaf : known) scalars_.emplace(leaf, numbered(kNames, scalars_.size()));
  }

  static std::string full_text(const Leaf& leaf, const std::string& shape) {
    if (leaf.value == ir::Rational(0)) return fmt::format("zeros(shape: {})", shape);
    if (leaf.value == ir::Rational(1)) return fmt::format("ones(shape: {})", shape);
    return fmt::format("full(shape: {}, value: {})", shape, leaf.value.to_string());
  }

  // A constant as a term. `batch`: the dimensions before those of the matrix.
  std::string constant_text(std::uint8_t leaf, const std::string& batch = {}) {
    const Leaf& l = signature_.leaves()[leaf];
    if (l.kind == Leaf::Kind::full && signature_.dims(l.type).empty()) return leaf_text(leaf);
    if (form_ == Form::open || form_ == Form::axes) {
      // As many dimensions as an input of this shape has.
      for (const std::uint8_t input : shapes_.inputs())
        if (l.kind == Leaf::Kind::full && shapes_.dims(input) == shapes_.dims(leaf))
          return full_text(l, fmt::format("dims({})", names_.at(input)));
      fail("a constant has no input's shape");
    }
    std::vector<std::string> dims;
    if (!batch.empty()) dims.push_back(batch + "..");
    for (const Parts& p : shapes_.dims(leaf)) dims.push_back(dim_text(p));
    if (l.kind == Leaf::Kind::identity_matrix) return fmt::format("identity_matrix(size: {})", dims[0]);
    if (l.kind == Leaf::Kind::identity_kernel)
      return fmt::format("identity_kernel(channels: {}, kernel: [{}, {}])", dims[0], dims[2], dims[3]);
    return full_text(l, fmt::format("[{}]", fmt::join(dims, ", ")));
  }

  // An unknown that is a dimension of an input by itself, or a part that a split of the source names.
  std::string part_text(int part) {
    if (part == kOnePart) return "1";
    if (part == kWindowPart) return "3";
    if (const auto found = bound_parts_.find(part); found != bound_parts_.end()) return found->second;
    if (has_axes()) {
      // dim(x, a) of an input whose whole dimension it is.
      for (const std::uint8_t input : shapes_.inputs()) {
        const std::vector<Parts> dims = shapes_.dims(input);
        for (std::size_t k = 0; k < dims.size(); ++k)
          if (dims[k] == Parts{part} && axis_bound_[k]) return fmt::format("dim({}, {})", names_.at(input), axis_name(k));
      }
      fail("a dimension of a value is none of an input along an axis that is named");
      return "?";
    }
    // A dimension of an input whole by itself has a name.
    for (const std::uint8_t input : shapes_.inputs())
      for (const Parts& d : shapes_.dims(input))
        if (d == Parts{part}) return dimension_name(part);
    fail("a dimension is part of a sum alone, and no split of the source names the parts");
    return "?";
  }
  std::string dim_text(const Parts& parts) {
    // The whole dimension of an input, made of several parts.
    if (parts.size() > 1) {
      for (const std::uint8_t input : shapes_.inputs()) {
        const std::vector<Parts> dims = shapes_.dims(input);
        for (std::size_t k = 0; k < dims.size(); ++k) {
          if (dims[k] != parts) continue;
          if (!has_axes()) return declared_dim(parts);
          if (axis_bound_[k]) return fmt::format("dim({}, {})", names_.at(input), axis_name(k));
        }
      }
    }
    std::vector<std::string> texts;
    for (const int p : parts) texts.push_back(part_text(p));
    return fmt::format("{}", fmt::join(texts, " + "));
  }
  std::string dimension_name(int part) {
    static constexpr std::array<const char*, 16> kNames = {"M", "K", "N", "P", "Q", "L", "R", "T", "D", "E", "F", "G", "H", "I", "J", "O"};
    return dimension_names_.try_emplace(part, numbered(kNames, dimension_names_.size())).first->second;
  }
  // The whole of a sum whose parts a split of the source names.
  std::string whole_name(const Parts& parts) {
    const auto [found, added] = whole_names_.try_emplace(parts, fmt::format("S{}", whole_names_.size() + 1));
    return found->second;
  }

  // The first axis that is named is a, the second b.
  std::string axis_name(std::size_t axis) const { return axis_bound_[1 - axis % 2] && axis == last_axis_ ? "b" : "a"; }

  // The axis of a concat or split as text; binds it if the source says it.
  std::string axis_text(const Choice& choice, bool source) {
    const auto axis = static_cast<std::size_t>(choice.axis);
    if (has_axes()) {
      if (source && !axis_bound_[axis]) {
        axis_bound_[axis] = true;
        last_axis_ = axis;
      }
      if (!axis_bound_[axis]) fail("the source has no concat or split along an axis of the target");
      return axis_name(axis);
    }
    if (form_ == Form::batches || form_ == Form::batch) return axis == 0 ? "-2" : "-1";
    return std::to_string(axis);
  }

  std::string split_sizes(const SmallGraph& graph, std::size_t value, const Choice& choice, bool source) {
    const auto axis = static_cast<std::size_t>(choice.axis);
    std::vector<std::string> sizes;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<Parts> dims = &graph == &candidate_.source ? shapes_.source_dims(static_cast<std::uint8_t>(value + k))
                                                                   : shapes_.target_dims(static_cast<std::uint8_t>(value + k));
      const Parts& parts = dims[axis];
      if (source && parts.size() == 1 && parts[0] >= 0 && !bound_parts_.contains(parts[0]) && !is_whole(parts[0]))
        bound_parts_.emplace(parts[0], fmt::format("n{}", bound_parts_.size() + 1));
      sizes.push_back(dim_text(parts));
    }
    return fmt::format("[{}]", fmt::join(sizes, ", "));
  }
  bool is_whole(int part) const {
    for (const std::uint8_t input : shapes_.inputs())
      for (const Parts& d : shapes_.dims(input))
        if (d == Parts{part}) return true;
    return false;
  }

  std::string convolution_attributes(const Choice& c) const {
    const bool depthwise = c.shape == Shape::depthwise;
    if (form_ == Form::as_enumerated) return fmt::format("pads: {}{}", c.axis == 1 && !depthwise ? 0 : 1, depthwise ? ", groups: C" : "");
    if (depthwise) return "strides: s, pads: p, dilations: d, groups: C";
    return fmt::format("strides: s, pads: p, dilations: d, groups: {}", form_ == Form::windows ? "g" : "1");
  }
  std::string attributes_text(const SmallGraph& graph, std::size_t value, const Choice& c, bool source) {
    switch (c.shape) {
      case Shape::transpose: {
        if (form_ == Form::matrices || form_ == Form::axes) return "perm: [1, 0]";
        const std::string& batch = batch_of(graph, value);
        return batch.empty() ? "perm: [1, 0]" : fmt::format("perm: [range(0, rank({0})), rank({0}) + 1, rank({0})]", batch);
      }
      case Shape::concat:
        return fmt::format("axis: {}", axis_text(c, source));
      case Shape::split: {
        // The sizes may be dimensions along the axis, once that has its name.
        const std::string axis = axis_text(c, source);
        return fmt::format("axis: {}, sizes: {}", axis, split_sizes(graph, value, c, source));
      }
      case Shape::convolution:
      case Shape::depthwise:
        return convolution_attributes(c);
      case Shape::enlarge:
        return "begins: [0, 0, 1, 1], ends: [0, 0, 1, 1]";
      case Shape::reduce:
        return form_ == Form::matrices ? "axes: [1]" : "axes: [-1]";
      default:
        break;
    }
    if (c.word == "average_pool") {
      return form_ == Form::as_enumerated ? "kernel: 3, pads: 1, count_include_pad: 1"
                                          : "kernel: k, strides: s, pads: p, count_include_pad: 1";
    }
    if (c.word == "max_pool") return form_ == Form::as_enumerated ? "kernel: 3, pads: 1" : "kernel: k, strides: s, pads: p";
    if (c.word == "softmax") return "axis: -1";
    return {};
  }

  // Statements: an operation that is read twice, has two outputs, or is an output, has a name.
  std::vector<std::string> side(const SmallGraph& graph, bool source) {
    std::vector<std::string> statements;
    std::vector<std::string> texts;
    for (std::size_t k = 0; k < signature_.leaves().size(); ++k) texts.push_back(leaf_text(static_cast<std::uint8_t>(k)));
    std::vector<std::size_t> reads(signature_.leaves().size() + 2 * graph.nodes.size(), 0);
    for (const SmallGraphNode& n : graph.nodes)
      for (const std::uint8_t o : n.operands) ++reads[o];
    const auto output_name = [&](std::size_t value) -> std::string {
      for (std::size_t k = 0; k < graph.outputs.size(); ++k)
        if (graph.outputs[k] == value) return graph.outputs.size() == 1 ? "y" : fmt::format("y{}", k + 1);
      return {};
    };
    std::size_t value = signature_.leaves().size();
    for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
      const SmallGraphNode& n = graph.nodes[number];
      const Choice& c = signature_.choice(n.choice);
      std::vector<std::string> parts;
      parts.reserve(n.operands.size() + 1);
      for (const std::uint8_t o : n.operands) parts.push_back(is_constant(o) ? constant_text(o) : texts[o]);
      const std::string attributes = attributes_text(graph, value, c, source);
      if (!attributes.empty()) parts.push_back(attributes);
      const std::string text = fmt::format("{}({})", ops::get(c.op).signature.name, fmt::join(parts, ", "));
      if (c.outputs == 1) {
        const std::string output = output_name(value);
        if (output.empty() && reads[value] == 1) {
          texts.push_back(text);
        } else {
          const std::string name = output.empty() ? fmt::format("{}{}", source ? "c" : "e", number + 1) : output;
          statements.push_back(fmt::format("{} = {}", name, text));
          texts.push_back(name);
        }
      } else {
        std::vector<std::string> outputs;
        for (std::size_t k = 0; k < c.outputs; ++k) {
          const std::string output = output_name(value + k);
          outputs.push_back(output.empty() ? fmt::format("{}{}_{}", source ? "c" : "e", number + 1, k + 1) : output);
          texts.push_back(outputs.back());
        }
        statements.push_back(fmt::format("{} = {}", fmt::join(outputs, ", "), text));
      }
      value += c.outputs;
    }
    // An output that is a leaf.
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      const std::uint8_t o = graph.outputs[k];
      if (o >= signature_.leaves().size()) continue;
      std::string text = leaf_text(o);
      if (o >= signature_.inputs()) {
        // It has the batch of the output that it is.
        const bool batched = form_ == Form::batches || form_ == Form::batch;
        text = constant_text(o, batched ? batch_of(candidate_.source, candidate_.source.outputs[k]) : std::string());
      }
      if (source) fail("a side that is an input or a constant is no source");
      statements.push_back(fmt::format("{} = {}", graph.outputs.size() == 1 ? "y" : fmt::format("y{}", k + 1), text));
    }
    return statements;
  }

  // The name of the sequence of a value's batch; empty where it has none. What has several is no operand of a transpose.
  const std::string& batch_of(const SmallGraph& graph, std::size_t value) {
    static const std::string kNone;
    const std::vector<int> b = batches_.of(graph, value);
    if (b.empty()) return kNone;
    if (b.size() > 1) fail("a transpose is of what has several batches");
    return batch_name(b[0]);
  }
  const std::string& batch_name(int b) {
    static constexpr std::array<const char*, 6> kNames = {"B", "C", "U", "V", "W", "X"};
    return batch_names_.try_emplace(batches_.root(b), numbered(kNames, batch_names_.size())).first->second;
  }

  std::vector<std::string> declarations() {
    std::vector<std::string> result;
    if (form_ == Form::open || form_ == Form::axes) return result;
    for (std::size_t k = 0; k < shapes_.inputs().size(); ++k) {
      const std::uint8_t input = shapes_.inputs()[k];
      std::vector<std::string> dims;
      if (form_ == Form::batches || form_ == Form::batch) {
        const int root = batches_.root(static_cast<int>(k));
        if (batches_.has_batch(root)) dims.push_back(batch_name(root) + "..");
      }
      const std::vector<Parts> parts = shapes_.dims(input);
      const bool kernel = signature_.is_kernel(signature_.leaves()[input].type);
      for (std::size_t d = 0; d < parts.size(); ++d) {
        if (is_image() && d >= 2 && form_ != Form::as_enumerated) {
          // The windows' and the images' dimensions are as many as there are.
          if (d == 2) dims.push_back(kernel ? (parts[2] == Parts{kOnePart} ? "1^S" : "W..") : "S..");
          continue;
        }
        // With groups a kernel has fewer input channels than the image.
        constexpr int kPerGroup = 1000;
        const bool grouped = form_ == Form::windows && kernel && d == 1 && parts[d].size() == 1 && parts[d][0] >= 0;
        const bool optional = (broadcasts_ >> (2 * k + d) & 1U) != 0;
        dims.push_back((grouped ? dimension_name(parts[d][0] + kPerGroup) : declared_dim(parts[d])) + (optional ? "?" : ""));
      }
      result.push_back(fmt::format("{}: [{}]", names_.at(input), fmt::join(dims, ", ")));
    }
    return result;
  }
  std::string declared_dim(const Parts& parts) {
    if (parts.size() == 1) return parts[0] >= 0 ? dimension_name(parts[0]) : part_text(parts[0]);
    // A sum of dimensions that other inputs have, or a whole of its own.
    std::vector<std::string> texts;
    for (const int p : parts) {
      if (!is_whole(p)) return whole_name(parts);
      texts.push_back(part_text(p));
    }
    return fmt::format("{}", fmt::join(texts, " + "));
  }

  std::vector<std::string> guards() {
    std::vector<std::string> result;
    result.reserve(scalars_.size() + batch_names_.size());
    for (const auto& [leaf, name] : scalars_) result.push_back(fmt::format("scalar({})", name));
    if (form_ == Form::batches || form_ == Form::batch) {
      for (const auto& [root, name] : batch_names_) result.push_back(fmt::format("rank({}) <= {}", name, small_ranks_ ? 0 : 2));
    }
    if (!has_axes() || shapes_.inputs().empty()) return result;
    // One input for all others to be compared with; along axes in which dimensions differ they are left out.
    const std::uint8_t first = shapes_.inputs()[0];
    const std::vector<Parts> dims = shapes_.dims(first);
    std::map<Parts, std::pair<std::uint8_t, std::size_t>> known;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) known.try_emplace(dims[axis], first, axis);
    for (std::size_t k = 1; k < shapes_.inputs().size(); ++k) {
      const std::uint8_t input = shapes_.inputs()[k];
      const std::vector<Parts> other = shapes_.dims(input);
      if (other.size() != dims.size()) {
        fail("inputs have different numbers of dimensions");
        return result;
      }
      std::string left = fmt::format("dims({})", names_.at(first));
      std::string right = fmt::format("dims({})", names_.at(input));
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (other[axis] == dims[axis]) continue;
        if (axis > 1 || !axis_bound_[axis]) fail("inputs differ along an axis that no concat or split names");
        left = fmt::format("replace({}, {}, 1)", left, axis_name(axis));
        right = fmt::format("replace({}, {}, 1)", right, axis_name(axis));
      }
      result.push_back(fmt::format("{} = {}", left, right));
      for (std::size_t axis = 0; axis < dims.size() && axis < 2; ++axis) {
        if (other[axis] == dims[axis]) continue;
        const std::string here = fmt::format("dim({}, {})", names_.at(input), axis_name(axis));
        if (const auto same = known.find(other[axis]); same != known.end() && same->second.second == axis) {
          result.push_back(fmt::format("{} = dim({}, {})", here, names_.at(same->second.first), axis_name(axis)));
        } else if (other[axis].size() > 1) {
          std::vector<std::string> sum;
          bool all = true;
          for (const int p : other[axis]) {
            const auto part = known.find(Parts{p});
            all = all && part != known.end();
            if (all) sum.push_back(fmt::format("dim({}, {})", names_.at(part->second.first), axis_name(part->second.second)));
          }
          if (all) result.push_back(fmt::format("{} = {}", here, fmt::join(sum, " + ")));
        }
        known.try_emplace(other[axis], input, axis);
      }
    }
    if (axis_bound_[0] && axis_bound_[1]) result.push_back("a != b");
    result.push_back(fmt::format("rank({}) <= {}", names_.at(first), small_ranks_ ? 2 : 4));
    return result;
  }

  const GraphSignature& signature_;
  const Candidate& candidate_;
  std::string name_;
  Form form_;
  bool small_ranks_;
  unsigned broadcasts_;
  GeneralShapes shapes_;
  std::string failed_;
  std::map<std::uint8_t, std::string> names_;
  std::map<std::uint8_t, std::string> scalars_;  // numbers of the source that are any
  std::map<int, std::string> bound_parts_;
  std::map<int, std::string> dimension_names_;
  std::map<Parts, std::string> whole_names_;
  std::array<bool, 4> axis_bound_{};
  std::size_t last_axis_ = 0;  // the one that was named last
  BatchSequences batches_;
  std::map<int, std::string> batch_names_;
};

}  // namespace

std::optional<std::string> form_text(const GraphSignature& signature, const Candidate& candidate, const std::string& name, Form form,
                                     const Openness& open, bool small_ranks, std::string& why) {
  FormWriter writer(signature, candidate, name, form, open, small_ranks);
  auto text = writer.text();
  if (!text) why = writer.why();
  return text;
}

}  // namespace xflow::generator
