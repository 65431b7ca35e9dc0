#include "src/generator/rules/generalisation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "src/generator/rules/axis_guards.h"
#include "src/generator/rules/batch_sequences.h"
#include "src/generator/rules/copy_attributes.h"
#include "src/generator/rules/equation_text.h"
#include "src/generator/rules/leaf_names.h"
#include "src/generator/rules/vector_shapes.h"
#include "src/generator/rules/window_attributes.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "src/rules/rule_parts.h"
#include "src/support/acceptance.h"

namespace xflow::generator {
namespace {

using rules::Expression;
using rules::Term;
using Attributes = std::vector<Term::NamedExpression>;

class GeneralisationWriter {
 public:
  GeneralisationWriter(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                       Generalisation generalisation, const Openness& open, bool small_ranks)
      : signature_(signature),
        candidate_(candidate),
        name_(name),
        generalisation_(generalisation),
        small_ranks_(small_ranks),
        broadcasts_(open.broadcasts),
        shapes_(signature, candidate, open.equal),
        names_(signature, shapes_),
        copies_(shapes_, names_),
        batches_(signature, candidate, shapes_.inputs()) {
    if (open.scalars) expressible_ = names_.name_scalars(candidate);
    for (std::size_t k = signature.inputs(); k < signature.leaves().size() && has_groups(generalisation); ++k) {
      const std::vector<Parts> dims = shapes_.dims(static_cast<std::uint8_t>(k));
      if (signature.leaves()[k].kind == Leaf::Kind::identity_kernel && !dims.empty()) diagonal_ = dims[0][0];
    }
    for (const SmallGraphNode& n : candidate.source.nodes) {
      const ShapeRule shape = signature.choice(n.choice).shape;
      const bool product = shape == ShapeRule::convolution || shape == ShapeRule::matmul;
      vectors_are_tensors_ = vectors_are_tensors_ || (product && is_vector(shapes_.source_dims(n.operands[0])));
    }
  }

  // The reason, in words, if there is no rule.
  const std::string& why() const { return expressible_.reason; }
  std::optional<rules::Rule> rule() {
    if (generalisation_ == Generalisation::batches || generalisation_ == Generalisation::batch)
      batches_.find(generalisation_ == Generalisation::batch);
    rules::Rule rule;
    rule.name = name_;
    rule.file = "generated";
    std::vector<std::string> leaves;
    for (std::size_t k = 0; k < signature_.leaves().size(); ++k) leaves.push_back(names_.text(static_cast<std::uint8_t>(k)));
    rule.comment = {" " + equation_text(signature_, candidate_, leaves)};
    rule.source = side(candidate_.source, true);
    rule.target = side(candidate_.target, false);
    if (expressible_) rule.declarations = declarations();
    if (expressible_) rule.guards = guards();
    if (!expressible_) return std::nullopt;
    return rule;
  }

 private:
  bool has_axes() const { return generalisation_ == Generalisation::axes; }
  bool is_constant(std::uint8_t value) const { return signature_.is_constant(value); }
  bool is_image() const { return signature_.kind() == TensorKind::image; }

  void fail(const char* why) {
    if (expressible_) expressible_ = refused(why);
  }

  // `batch`: dimensions before those of the matrix.
  Term constant(std::uint8_t leaf, const std::string& batch = {}) {
    const Leaf& l = signature_.leaves()[leaf];
    if (l.kind == Leaf::Kind::full && signature_.dims(l.type).empty()) return names_.term(leaf);
    if (generalisation_ == Generalisation::open || generalisation_ == Generalisation::axes) {
      // The constant takes its dimensions from an input of the same shape.
      for (const std::uint8_t input : shapes_.inputs())
        if (l.kind == Leaf::Kind::full && shapes_.dims(input) == shapes_.dims(leaf)) return filled(l, of_input(names_, "dims", input));
      fail("a constant has no input's shape");
    }
    std::vector<Expression> dims;
    if (!batch.empty()) dims.push_back(rules::sequence(batch));
    for (const Parts& p : shapes_.dims(leaf)) dims.push_back(dim(p));
    if (l.kind == Leaf::Kind::identity_matrix) return rules::application("identity_matrix", {}, {rules::attribute("size", dims[0])});
    if (l.kind == Leaf::Kind::identity_kernel) {
      Attributes attributes = {rules::attribute("channels", dims[0]), rules::attribute("kernel", rules::list({dims[2], dims[3]}))};
      if (has_groups(generalisation_)) attributes.push_back(rules::attribute("groups", rules::named("g")));
      return rules::application("identity_kernel", {}, std::move(attributes));
    }
    return filled(l, rules::list(std::move(dims)));
  }

  // The expression of an unknown that is a dimension of an input, or a part named by a split of the source.
  Expression part(int part) {
    if (part == kOnePart) return rules::number(1);
    if (part == kWindowPart) return rules::number(3);
    if (part == diagonal_) return rules::compound(Expression::Kind::multiply, rules::both(rules::named("g"), per_group(part)));
    if (const auto found = bound_parts_.find(part); found != bound_parts_.end()) return rules::named(found->second);
    if (has_axes()) {
      // dim(x, a) of an input that has this dimension.
      for (const std::uint8_t input : shapes_.inputs()) {
        const std::vector<Parts> dims = shapes_.dims(input);
        for (std::size_t k = 0; k < dims.size(); ++k)
          if (dims[k] == Parts{part} && axes_.is_bound[k]) return dim_of(names_, input, axes_.name(k));
      }
      fail("a dimension of a value is none of an input along an axis that is named");
      return rules::number(0);
    }
    // A dimension of an input that is a single unknown has a name.
    for (const std::uint8_t input : shapes_.inputs())
      for (const Parts& d : shapes_.dims(input))
        if (d == Parts{part}) return rules::named(dimension_name(part));
    fail("a dimension is part of a sum alone, and no split of the source names the parts");
    return rules::number(0);
  }
  Expression dim(const Parts& parts) {
    // A dimension of an input that is a sum of several parts.
    if (parts.size() > 1) {
      for (const std::uint8_t input : shapes_.inputs()) {
        const std::vector<Parts> dims = shapes_.dims(input);
        for (std::size_t k = 0; k < dims.size(); ++k) {
          if (dims[k] != parts) continue;
          if (!has_axes()) return declared_dim(parts);
          if (axes_.is_bound[k]) return dim_of(names_, input, axes_.name(k));
        }
      }
    }
    std::vector<Expression> terms;
    for (const int p : parts) terms.push_back(part(p));
    return sum(std::move(terms));
  }
  std::string dimension_name(int part) {
    static constexpr std::array<const char*, 15> kNames = {"M", "K", "N", "P", "Q", "R", "T", "D", "E", "F", "G", "H", "I", "J", "O"};
    return dimension_names_.try_emplace(part, numbered_name(kNames, dimension_names_.size())).first->second;
  }
  // The name of a sum whose parts are named by a split of the source.
  std::string whole_name(const Parts& parts) {
    const auto [found, added] = whole_names_.try_emplace(parts, fmt::format("S{}", whole_names_.size() + 1));
    return found->second;
  }

  bool is_vector(const std::vector<Parts>& dims) const { return generator::is_vector(signature_.kind(), dims); }
  // Whether vectors are declared with any number of leading ones.
  bool has_leading_ones() const {
    return !vectors_are_tensors_ && generator::has_leading_ones(signature_.kind(), generalisation_) &&
           std::any_of(shapes_.inputs().begin(), shapes_.inputs().end(), [&](std::uint8_t k) { return is_vector(shapes_.dims(k)); });
  }
  // Whether the source scales a kernel of larger windows by a vector.
  bool scales_window(std::uint8_t vector) const {
    return std::any_of(candidate_.source.nodes.begin(), candidate_.source.nodes.end(), [&](const SmallGraphNode& n) {
      const auto is_window = [&](std::uint8_t o) {
        const std::vector<Parts> dims = shapes_.source_dims(o);
        return dims.size() == 4 && dims[3] == Parts{kWindowPart};
      };
      const bool reads = std::find(n.operands.begin(), n.operands.end(), vector) != n.operands.end();
      return reads && signature_.choice(n.choice).shape == ShapeRule::broadcast &&
             std::any_of(n.operands.begin(), n.operands.end(), is_window);
    });
  }
  // Gives a vector all the dimensions of an image of one pixel or a matrix of one row.
  void make_tensor(Term& term, const std::vector<Parts>& dims) {
    if (!is_vector(dims) || !has_leading_ones()) return;
    Expression shape = rules::list(vector_dims(signature_.kind(), generalisation_, dim(dims[1]), false));
    std::vector<Term> operands;
    operands.push_back(std::move(term));
    term = rules::application("reshape", std::move(operands), {rules::attribute("shape", std::move(shape))});
  }
  // The attributes of a reshape of numbers for columns to numbers for rows, which a transpose is of a
  // matrix.
  Attributes column(std::uint8_t vector) {
    return {rules::attribute("shape", rules::list(rules::both(dim(shapes_.target_dims(vector)[1]), rules::number(1))))};
  }
  // The numbers with which an identity is multiplied are then those of its kernels: with groups, it has
  // fewer input channels.
  void scale_kernels(const SmallGraphNode& n, std::vector<Term>& operands) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<Parts> dims = shapes_.target_dims(n.operands[k]);
      const std::uint8_t other = n.operands[1 - k];
      if (!is_vector(dims) || other >= signature_.leaves().size() || signature_.leaves()[other].kind != Leaf::Kind::identity_kernel)
        continue;
      std::vector<Term> scale;
      scale.push_back(std::move(operands[k]));
      operands[k] = rules::application("reshape", std::move(scale), {rules::attribute("shape", kernels({dims[1], dims[0]}))});
    }
  }
  // The shape of one number for each kernel.
  Expression kernels(const std::vector<Parts>& dims) {
    const bool reads_kernel = std::any_of(shapes_.inputs().begin(), shapes_.inputs().end(),
                                          [&](std::uint8_t k) { return signature_.is_kernel(signature_.leaves()[k].type); });
    if (!reads_kernel && !has_enumerated_windows(generalisation_)) fail("no kernel says how many dimensions numbers for kernels have");
    return kernel_numbers(generalisation_, dim(dims[0]));
  }

  // The axis of a concat or split whose result has the dimensions `dims`. The source binds its name.
  Expression axis(const Choice& choice, const std::vector<Parts>& dims, bool source) {
    const auto number = static_cast<std::size_t>(choice.axis);
    if (has_axes()) {
      if (source && !axes_.is_bound[number]) {
        axes_.bind(number);
      }
      if (!axes_.is_bound[number]) fail("the source has no concat or split along an axis of the target");
      return rules::named(axes_.name(number));
    }
    if (generalisation_ == Generalisation::batches || generalisation_ == Generalisation::batch) return rules::number(number == 0 ? -2 : -1);
    if (is_image() && is_vector(dims)) return has_leading_ones() ? rules::call("rank", {rules::named(kLeadingOnes)}) : rules::number(1);
    return rules::number(choice.axis);
  }

  Expression split_sizes(const SmallGraph& graph, std::size_t value, const Choice& choice, bool source) {
    const auto axis = static_cast<std::size_t>(choice.axis);
    std::vector<Expression> sizes;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<Parts> dims = &graph == &candidate_.source ? shapes_.source_dims(static_cast<std::uint8_t>(value + k))
                                                                   : shapes_.target_dims(static_cast<std::uint8_t>(value + k));
      const Parts& parts = dims[axis];
      if (source && parts.size() == 1 && parts[0] >= 0 && !bound_parts_.contains(parts[0]) && !is_whole(parts[0]))
        bound_parts_.emplace(parts[0], fmt::format("n{}", bound_parts_.size() + 1));
      sizes.push_back(dim(parts));
    }
    return rules::list(std::move(sizes));
  }
  bool is_whole(int part) const {
    for (const std::uint8_t input : shapes_.inputs())
      for (const Parts& d : shapes_.dims(input))
        if (d == Parts{part}) return true;
    return false;
  }

  Expression transposition(const SmallGraph& graph, std::size_t value) {
    const bool plain = generalisation_ == Generalisation::matrices || generalisation_ == Generalisation::axes;
    const std::string batch = plain ? std::string() : batch_of(graph, value);
    if (batch.empty()) return rules::list({rules::number(1), rules::number(0)});
    const Expression rank = rules::call("rank", {rules::named(batch)});
    return rules::list({rules::call("range", {rules::number(0), rank}), rules::add(rank, rules::number(1)), rank});
  }
  Attributes attributes(const SmallGraph& graph, std::size_t value, const Choice& c, bool source) {
    const auto integers = [](std::initializer_list<std::int64_t> values) {
      std::vector<Expression> elements;
      for (const std::int64_t v : values) elements.push_back(rules::number(v));
      return rules::list(std::move(elements));
    };
    const std::vector<Parts> dims =
        source ? shapes_.source_dims(static_cast<std::uint8_t>(value)) : shapes_.target_dims(static_cast<std::uint8_t>(value));
    if (CopyAttributes::are_of(c)) {
      if (generalisation_ != Generalisation::open) fail("a reshape, an expansion, a slice or a cast is of tensors of any shape");
      return copies_.of(c, dims, source, expressible_);
    }
    switch (c.shape) {
      case ShapeRule::transpose:
        return {rules::attribute("perm", transposition(graph, value))};
      case ShapeRule::to_kernels:
        return {rules::attribute("shape", kernels(dims))};
      case ShapeRule::concat:
        return {rules::attribute("axis", axis(c, dims, source))};
      case ShapeRule::split: {
        // The sizes may need the name of the axis, which is therefore bound first.
        Expression along = axis(c, dims, source);
        return {rules::attribute("axis", std::move(along)), rules::attribute("sizes", split_sizes(graph, value, c, source))};
      }
      case ShapeRule::convolution:
      case ShapeRule::depthwise:
        return convolution_attributes(generalisation_, c);
      case ShapeRule::enlarge:
        return {rules::attribute("begins", integers({0, 0, 1, 1})), rules::attribute("ends", integers({0, 0, 1, 1}))};
      case ShapeRule::reduce:
        return {rules::attribute("axes", integers({generalisation_ == Generalisation::matrices ? 1 : -1}))};
      default:
        break;
    }
    if (c.is(ops::Op::AveragePool) || c.is(ops::Op::MaxPool)) return pool_attributes(generalisation_, c);
    if (c.is(ops::Op::Clip)) return {rules::attribute("min", rules::number(0)), rules::attribute("max", rules::number(6))};
    if (c.is(ops::Op::HardSigmoid)) {
      return {rules::attribute("alpha", rules::number(*ir::Rational::make(1, 6))),
              rules::attribute("beta", rules::number(*ir::Rational::make(1, 2)))};
    }
    if (c.is(ops::Op::Softmax)) return {rules::attribute("axis", rules::number(-1))};
    return {};
  }

  // The statements of a side. An operation gets a name if it is read twice, has two outputs, or is an
  // output.
  std::vector<rules::Statement> side(const SmallGraph& graph, bool source) {
    std::vector<rules::Statement> statements;
    std::vector<Term> terms;
    for (std::size_t k = 0; k < signature_.leaves().size(); ++k) terms.push_back(names_.term(static_cast<std::uint8_t>(k)));
    std::vector<std::size_t> reads(signature_.leaves().size() + 2 * graph.nodes.size(), 0);
    for (const SmallGraphNode& n : graph.nodes)
      for (const std::uint8_t o : n.operands) ++reads[o];
    const auto output_name = [&](std::size_t value) -> std::string {
      const auto at = std::find(graph.outputs.begin(), graph.outputs.end(), value);
      if (at == graph.outputs.end()) return {};
      return name_of_output(graph, static_cast<std::size_t>(at - graph.outputs.begin()));
    };
    std::size_t value = signature_.leaves().size();
    for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
      const SmallGraphNode& n = graph.nodes[number];
      const Choice& c = signature_.choice(n.choice);
      std::vector<Term> operands;
      operands.reserve(n.operands.size());
      for (const std::uint8_t o : n.operands) operands.push_back(is_constant(o) ? constant(o) : terms[o]);
      const bool product = c.shape == ShapeRule::convolution || c.shape == ShapeRule::matmul;
      if (product && !source) make_tensor(operands[0], shapes_.target_dims(n.operands[0]));
      if (!source && has_groups(generalisation_) && c.is(ops::Op::Mul)) scale_kernels(n, operands);
      const bool is_column =
          !source && c.shape == ShapeRule::transpose && has_leading_ones() && is_vector(shapes_.target_dims(n.operands[0]));
      const std::string op(is_column ? "reshape" : ops::get(c.op).signature.name);
      Term term = rules::application(op, std::move(operands), is_column ? column(n.operands[0]) : attributes(graph, value, c, source));
      const std::string own = fmt::format("{}{}", source ? "c" : "e", number + 1);
      if (c.outputs == 1 && output_name(value).empty() && reads[value] == 1) {
        terms.push_back(std::move(term));
      } else {
        std::vector<std::string> outputs;
        for (std::size_t k = 0; k < c.outputs; ++k) {
          const std::string output = output_name(value + k);
          outputs.push_back(!output.empty() ? output : c.outputs == 1 ? own : fmt::format("{}_{}", own, k + 1));
          terms.push_back(rules::variable(outputs.back()));
        }
        statements.push_back({std::move(outputs), std::move(term), {}});
      }
      value += c.outputs;
    }
    name_leaves(graph, source, statements);
    return statements;
  }
  static std::string name_of_output(const SmallGraph& graph, std::size_t k) {
    return graph.outputs.size() == 1 ? "y" : fmt::format("y{}", k + 1);
  }
  // Names the outputs that are leaves.
  void name_leaves(const SmallGraph& graph, bool source, std::vector<rules::Statement>& statements) {
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      const std::uint8_t o = graph.outputs[k];
      if (o >= signature_.leaves().size()) continue;
      // A constant output has the batch of the source's output.
      const bool batched = generalisation_ == Generalisation::batches || generalisation_ == Generalisation::batch;
      const bool is_input = o < signature_.inputs();
      Term term =
          is_input ? names_.term(o) : constant(o, batched ? batch_of(candidate_.source, candidate_.source.outputs[k]) : std::string());
      if (source) fail("a side that is an input or a constant cannot be a source");
      statements.push_back({{name_of_output(graph, k)}, std::move(term), {}});
    }
  }

  // The name of the batch sequence of a value; empty if it has none. A value with several sequences cannot
  // be an operand of a transpose.
  const std::string& batch_of(const SmallGraph& graph, std::size_t value) {
    static const std::string kNone;
    const std::vector<int> b = batches_.of(graph, value);
    if (b.empty()) return kNone;
    if (b.size() > 1) fail("a transpose is of what has several batches");
    return batch_name(b[0]);
  }
  const std::string& batch_name(int b) {
    static constexpr std::array<const char*, 6> kNames = {"B", "C", "U", "V", "W", "X"};
    return batch_names_.try_emplace(batches_.root(b), numbered_name(kNames, batch_names_.size())).first->second;
  }

  std::vector<rules::Declaration> declarations() {
    std::vector<rules::Declaration> result;
    if (generalisation_ == Generalisation::open || generalisation_ == Generalisation::axes) return result;
    for (std::size_t k = 0; k < shapes_.inputs().size(); ++k)
      result.push_back({names_.input(shapes_.inputs()[k]), false, std::nullopt, declared_dims(k), {}});
    return result;
  }
  std::vector<Expression> declared_dims(std::size_t k) {
    const std::uint8_t input = shapes_.inputs()[k];
    const std::vector<Parts> parts = shapes_.dims(input);
    std::vector<Expression> dims;
    if (is_vector(parts)) {
      dims = vector_dims(signature_.kind(), generalisation_, declared_dim(parts[1]), has_leading_ones(), scales_window(input) ? "W" : "S");
      const bool optional = (broadcasts_ >> (2 * k + 1) & 1U) != 0;
      if (optional) dims[1] = rules::optional(std::move(dims[1]));
      return dims;
    }
    if (generalisation_ == Generalisation::batches || generalisation_ == Generalisation::batch) {
      const int root = batches_.root(static_cast<int>(k));
      if (batches_.has_batch(root)) dims.push_back(rules::sequence(batch_name(root)));
    }
    const bool kernel = signature_.is_kernel(signature_.leaves()[input].type);
    for (std::size_t d = 0; d < parts.size(); ++d) {
      if (is_image() && d >= 2 && !has_enumerated_windows(generalisation_)) {
        // Spatial dimensions are declared as one sequence, of any number.
        if (d > 2) continue;
        const bool ones = kernel && parts[2] == Parts{kOnePart};
        dims.push_back(ones ? rules::named(Expression::Kind::ones, "S") : rules::sequence(kernel ? "W" : "S"));
        continue;
      }
      // With groups, a kernel has fewer input channels than the image.
      const bool grouped = has_groups(generalisation_) && kernel && d == 1 && parts[d].size() == 1 && parts[d][0] >= 0;
      Expression dim = grouped ? per_group(parts[d][0]) : declared_dim(parts[d]);
      const bool optional = (broadcasts_ >> (2 * k + d) & 1U) != 0;
      dims.push_back(optional ? rules::optional(std::move(dim)) : std::move(dim));
    }
    return dims;
  }
  Expression per_group(int part) {
    constexpr int kPerGroup = 1000;
    return rules::named(dimension_name(part + kPerGroup));
  }
  Expression declared_dim(const Parts& parts) {
    if (parts.size() == 1 && parts[0] == diagonal_) return part(parts[0]);
    if (parts.size() == 1) return parts[0] >= 0 ? rules::named(dimension_name(parts[0])) : part(parts[0]);
    // A sum of dimensions of other inputs, or a name for the whole sum.
    std::vector<Expression> terms;
    for (const int p : parts) {
      if (!is_whole(p)) return rules::named(whole_name(parts));
      terms.push_back(part(p));
    }
    return sum(std::move(terms));
  }

  static rules::Guard at_most(Expression value, std::int64_t most) { return rules::at_least(rules::number(most), std::move(value)); }

  std::vector<rules::Guard> guards() {
    std::vector<rules::Guard> result = copies_.guards();
    for (const auto& [leaf, name] : names_.scalars()) result.push_back(rules::predicate(rules::Guard::Kind::is_scalar, name));
    if (generalisation_ == Generalisation::batches || generalisation_ == Generalisation::batch) {
      for (const auto& [root, name] : batch_names_)
        result.push_back(at_most(rules::call("rank", {rules::named(name)}), small_ranks_ ? 0 : 2));
    }
    if (has_leading_ones()) result.push_back(at_most(rules::call("rank", {rules::named(kLeadingOnes)}), 1));
    if (!has_axes() || shapes_.inputs().empty()) return result;
    if (const Acceptance compared = compare_inputs(shapes_, names_, axes_, result); !compared) {
      expressible_ = compared;
      return result;
    }
    if (axes_.is_bound[0] && axes_.is_bound[1])
      result.push_back(rules::relation(rules::Guard::Kind::not_equal, rules::named("a"), rules::named("b")));
    result.push_back(at_most(of_input(names_, "rank", shapes_.inputs()[0]), small_ranks_ ? 2 : 4));
    return result;
  }

  const GraphSignature& signature_;
  const RuleCandidate& candidate_;
  std::string name_;
  Generalisation generalisation_;
  bool small_ranks_;
  unsigned broadcasts_;
  GeneralShapes shapes_;
  Acceptance expressible_;  // refused with the first reason
  LeafNames names_;
  CopyAttributes copies_;
  std::map<int, std::string> bound_parts_;
  std::map<int, std::string> dimension_names_;
  std::map<Parts, std::string> whole_names_;
  NamedAxes axes_;
  BatchSequences batches_;
  std::map<int, std::string> batch_names_;
  int diagonal_ = kOnePart - 2;       // with groups: the channels of an identity kernel, which are those of a group times g
  bool vectors_are_tensors_ = false;  // a product or convolution of the source reads a vector
};

}  // namespace

std::optional<rules::Rule> generalised_rule(const GraphSignature& signature, const RuleCandidate& candidate, const std::string& name,
                                            Generalisation generalisation, const Openness& open, bool small_ranks, std::string& why) {
  GeneralisationWriter writer(signature, candidate, name, generalisation, open, small_ranks);
  auto rule = writer.rule();
  if (!rule) why = writer.why();
  return rule;
}

}  // namespace xflow::generator
