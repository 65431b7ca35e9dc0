// The operators that a user names, and the signatures made of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "src/generator/enumerate/graph_signature.h"
#include "src/ops/operator.h"

namespace xflow::generator {
namespace {

// An operator or constant that a user can name.
struct KnownOperator {
  std::string_view name;
  bool matrix = false;  // needs matrices
  bool image = false;
  bool ordered = false;  // compares numbers
  bool partial = false;  // not a function of integers
};

constexpr KnownOperator kKnownOperators[] = {
    {"abs"},
    {"add"},
    {"add_axis", true},
    {"average_kernel", false, true},
    {"average_pool", false, true},
    {"cast"},
    {"channels", false, true},
    {"clip"},
    {"concat"},
    {"conv", false, true},
    {"copy"},
    {"depthwise_conv", false, true},
    {"div", false, false, false, true},
    {"enlarge", false, true},
    {"exp", false, false, false, true},
    {"expand", true},
    {"half"},
    {"hard_sigmoid"},
    {"identity"},
    {"matmul", true},
    {"max_pool", false, true, true},
    {"maximum", false, false, true},
    {"minimum", false, false, true},
    {"minus_one"},
    {"mul"},
    {"neg"},
    {"one"},
    {"ones"},
    {"reciprocal", false, false, false, true},
    {"reduce_max", true, false, true},
    {"reduce_mean", true, false, false, true},
    {"reduce_sum", true},
    {"relu"},
    {"reshape", false, true},
    {"rows", true},
    {"sigmoid", false, false, false, true},
    {"six"},
    {"sixth"},
    {"slice"},
    {"softmax", true, false, false, true},
    {"split"},
    {"sqrt", false, false, false, true},
    {"sub"},
    {"tanh", false, false, false, true},
    {"three"},
    {"transpose", true},
    {"two"},
    {"zero"},
    {"zeros"},
};

const KnownOperator* find_operator(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKnownOperators), std::end(kKnownOperators), [&](const KnownOperator& w) { return w.name == name; });
  return found == std::end(kKnownOperators) ? nullptr : found;
}

bool contains(std::span<const std::string> operators, std::string_view name) {
  return std::find(operators.begin(), operators.end(), name) != operators.end();
}

// The length of the common prefix of two names.
std::size_t common_begin(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

Unexpected unknown_operator(std::string_view name) {
  std::string similar;
  for (const KnownOperator& w : kKnownOperators)
    if (common_begin(w.name, name) >= 3 || w.name.find(name) != std::string_view::npos)
      similar += fmt::format("{}{}", similar.empty() ? "; similar: " : ", ", w.name);
  return fail(ErrorCode::invalid_argument, fmt::format("unknown operator '{}'{}", name, similar));
}

}  // namespace

const char* name(TensorKind kind) { return kind == TensorKind::matrix ? "matrix" : "image"; }

std::vector<std::string> GraphSignature::known_operators() {
  std::vector<std::string> names;
  for (const KnownOperator& w : kKnownOperators) names.emplace_back(w.name);
  return names;
}

std::optional<std::vector<std::string>> GraphSignature::preset(std::string_view name) {
  if (name == "cnn") {
    return std::vector<std::string>{"add",      "average_pool", "channels", "concat", "conv",    "enlarge", "identity",
                                    "max_pool", "mul",          "one",      "relu",   "reshape", "split",   "zero"};
  }
  if (name == "rnn") return std::vector<std::string>{"add", "concat", "matmul", "mul", "one", "rows", "sigmoid", "split", "tanh"};
  if (name == "transformer") {
    return std::vector<std::string>{"add", "concat", "div",        "exp",     "identity", "matmul",   "mul",
                                    "one", "ones",   "reduce_sum", "softmax", "split",    "transpose"};
  }
  if (name == "all") return known_operators();
  return std::nullopt;
}

Result<std::vector<SignatureOptions>> GraphSignature::divide(std::span<const std::string> operators, std::size_t inputs) {
  bool image = false;
  bool matrix = false;
  bool ordered = false;
  bool partial = false;
  for (const std::string& name : operators) {
    const KnownOperator* w = find_operator(name);
    if (w == nullptr) return unknown_operator(name);
    image = image || w->image;
    matrix = matrix || w->matrix;
    ordered = ordered || w->ordered;
    partial = partial || w->partial;
  }
  if (operators.empty()) return fail(ErrorCode::invalid_argument, "no operators are named");
  std::vector<SignatureOptions> result;
  for (const TensorKind kind : {TensorKind::matrix, TensorKind::image}) {
    if (!(kind == TensorKind::image ? image : matrix || !image)) continue;
    for (const bool with_order : {false, true}) {
      SignatureOptions options;
      options.kind = kind;
      options.inputs = inputs;
      bool worth = !with_order && !ordered;
      for (const std::string& name : operators) {
        const KnownOperator& w = *find_operator(name);
        if ((kind == TensorKind::matrix && w.image) || (kind == TensorKind::image && w.matrix)) continue;
        if (with_order ? w.partial : w.ordered) continue;
        // Without order: all operators except comparisons. With order: comparisons and all functions of
        // integers.
        worth = worth || (with_order ? w.ordered : !w.ordered);
        options.operators.push_back(name);
      }
      std::sort(options.operators.begin(), options.operators.end());
      options.operators.erase(std::unique(options.operators.begin(), options.operators.end()), options.operators.end());
      if (worth && !options.operators.empty()) result.push_back(std::move(options));
    }
  }
  return result;
}

// Builds a signature.
class GraphSignatureBuilder {
 public:
  explicit GraphSignatureBuilder(const SignatureOptions& options) : options_(options) {}

  Result<GraphSignature> build() {
    for (const std::string& name : options_.operators) {
      const KnownOperator* w = find_operator(name);
      if (w == nullptr) return unknown_operator(name);
      if (options_.kind == TensorKind::matrix ? w->image : w->matrix)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("'{}' is not an operator on {}", name, options_.kind == TensorKind::matrix ? "matrices" : "images"));
    }
    u_.kind_ = options_.kind;
    u_.one_ = u_.named("1", {1, 1});
    if (options_.kind == TensorKind::matrix) {
      matrices();
    } else {
      images();
    }
    for (std::size_t k = 0; k < u_.leaves_.size(); ++k)
      if (u_.leaves_[k].kind == Leaf::Kind::input && (k == 0 || u_.leaves_[k].group != u_.leaves_[k - 1].group))
        u_.group_begins_.push_back(k);
    u_.inputs_ = u_.leaves_.size();
    constants();
    choices();
    numbers();
    return std::move(u_);
  }

 private:
  bool has(std::string_view name) const { return contains(options_.operators, name); }

  void inputs(std::vector<DimId> dims, std::size_t count) {
    const TypeId type = u_.intern(std::move(dims));
    for (std::size_t k = 0; k < count; ++k) u_.leaves_.push_back({Leaf::Kind::input, type, groups_, {}, Leaf::Readers::all});
    ++groups_;
  }

  void matrices() {
    n_ = u_.named("n", {4, 5});
    u_.main_ = n_;
    inputs({n_, n_}, options_.inputs);
    if (has("split")) {
      const DimId two = u_.sum(n_, n_);
      inputs({n_, two}, options_.of_others);
      inputs({two, n_}, options_.of_others);
    }
    if (has("reduce_sum") || has("reduce_mean") || has("reduce_max") || has("softmax")) inputs({n_, u_.one_}, options_.of_others);
    if (has("rows")) inputs({u_.one_, n_}, options_.of_others);
  }

  void images() {
    const DimId n = u_.named("n", {2, 3});
    const DimId c = u_.named("c", {2, 3});
    const DimId h = u_.named("h", {4, 5});
    const DimId w = u_.named("w", {3, 4});
    c_ = c;
    u_.kernel_ = u_.named("r", {3, 3});
    inputs({n, c, h, w}, options_.inputs);
    if (has("channels")) inputs({u_.one_, c, u_.one_, u_.one_}, options_.of_others);
    if (has("conv")) {
      inputs({c, c, u_.kernel_, u_.kernel_}, options_.of_others);
      inputs({c, c, u_.one_, u_.one_}, options_.of_others);
    }
    if (has("depthwise_conv")) inputs({c, u_.one_, u_.kernel_, u_.kernel_}, options_.of_others);
    if (has("split")) {
      inputs({n, u_.sum(c, c), h, w}, options_.of_others);
      inputs({u_.sum(n, n), c, h, w}, options_.of_others);
    }
  }

  void constants() {
    const auto full = [&](std::string_view name, const ir::Rational& value) {
      if (has(name)) u_.leaves_.push_back({Leaf::Kind::full, u_.intern({}), 0, value, Leaf::Readers::all});
    };
    full("zero", 0);
    full("one", 1);
    full("two", 2);
    full("three", 3);
    full("six", 6);
    full("sixth", *ir::Rational::make(1, 6));
    full("half", *ir::Rational::make(1, 2));
    full("minus_one", -1);
    using Readers = Leaf::Readers;
    if (has("identity") && has("matmul")) u_.leaves_.push_back({Leaf::Kind::identity_matrix, u_.intern({n_, n_}), 0, {}, Readers::sums});
    if (has("identity") && has("conv")) {
      u_.leaves_.push_back({Leaf::Kind::identity_kernel, u_.intern({c_, c_, u_.kernel_, u_.kernel_}), 0, {}, Readers::sums});
      u_.leaves_.push_back({Leaf::Kind::identity_kernel, u_.intern({c_, c_, u_.one_, u_.one_}), 0, {}, Readers::sums});
    }
    for (const auto& [name, value] : {std::pair("ones", 1), std::pair("zeros", 0)}) {
      if (!has(name)) continue;
      for (const std::size_t first : u_.group_begins_) {
        const TypeId type = u_.leaves_[first].type;
        const bool column = u_.dims(type).size() == 2 && u_.dims(type)[1] == u_.one_;
        u_.leaves_.push_back({Leaf::Kind::full, type, 0, value, column ? Readers::products : Readers::none});
      }
    }
    if (has("average_kernel"))
      u_.leaves_.push_back(
          {Leaf::Kind::full, u_.intern({c_, u_.one_, u_.kernel_, u_.kernel_}), 0, *ir::Rational::make(1, 9), Readers::all});
  }

  void add(std::string_view name, std::string_view op, Choice choice) {
    if (!has(name)) return;
    if (choice.name.empty()) choice.name = name;
    choice.operator_name = name;
    choice.op = ops::id_of(op);
    u_.choices_.push_back(std::move(choice));
  }

  void choices() {
    const bool image = options_.kind == TensorKind::image;
    for (const std::string_view op : {"abs", "exp", "neg", "reciprocal", "relu", "sigmoid", "sqrt", "tanh"})
      add(op, op, {.weight = kPointwiseWeight});
    for (const std::string_view op : {"add", "mul", "maximum", "minimum"})
      add(op, op, {.shape = ShapeRule::broadcast, .operands = 2, .commutative = true, .weight = kPointwiseWeight});
    for (const std::string_view op : {"div", "sub"})
      add(op, op, {.shape = ShapeRule::broadcast, .operands = 2, .weight = kPointwiseWeight});
    add("cast", "cast", {.attributes = {{"to", ir::DataType::float32}}, .weight = kPointwiseWeight});
    add("copy", "identity", {});
    add("clip", "clip", {.attributes = {{"min", ir::Real(0)}, {"max", ir::Real(6)}}, .weight = kPointwiseWeight});
    const ir::Real sixth(*ir::Rational::make(1, 6));
    const ir::Real half(*ir::Rational::make(1, 2));
    add("hard_sigmoid", "hard_sigmoid", {.attributes = {{"alpha", sixth}, {"beta", half}}, .weight = kFunctionWeight});
    add("slice", "slice", {.name = "slice of everything"});
    if (!image) {
      add("add_axis", "reshape", {.name = "to matrix", .shape = ShapeRule::add_axis, .axis = kNoAxis});
      add("add_axis", "reshape", {.name = "add axis 0", .shape = ShapeRule::add_axis, .axis = 0});
      add("add_axis", "reshape", {.name = "add axis 2", .shape = ShapeRule::add_axis, .axis = 2});
      add("expand", "expand", {.shape = ShapeRule::expand});
      add("matmul", "matmul", {.shape = ShapeRule::matmul, .operands = 2, .weight = kProductWeight});
      add("transpose", "transpose",
          {.shape = ShapeRule::transpose, .attributes = {{"perm", ir::polys(std::array<std::int64_t, 2>{1, 0})}}});
      add("softmax", "softmax", {.attributes = {{"axis", ir::Poly(1)}}, .weight = kReductionWeight});
      for (const std::string_view op : {"reduce_sum", "reduce_mean", "reduce_max"})
        add(op, op,
            {.shape = ShapeRule::reduce,
             .axis = 1,
             .attributes = {{"axes", ir::polys(std::array<std::int64_t, 1>{1})}},
             .weight = kReductionWeight});
    } else {
      const std::vector<ir::Poly> same(4, ir::Poly(1));
      const std::vector<ir::Poly> none(4, ir::Poly(0));
      add("conv", "conv",
          {.name = "conv 3x3",
           .shape = ShapeRule::convolution,
           .operands = 2,
           .axis = 3,
           .attributes = {{"pads", same}},
           .weight = kConvolutionWeight});
      add("conv", "conv",
          {.name = "conv 1x1",
           .shape = ShapeRule::convolution,
           .operands = 2,
           .axis = 1,
           .attributes = {{"pads", none}},
           .weight = kPointConvolutionWeight});
      add("depthwise_conv", "conv",
          {.shape = ShapeRule::depthwise, .operands = 2, .attributes = {{"pads", same}}, .weight = kProductWeight});
      add("reshape", "reshape", {.shape = ShapeRule::to_kernels});
      const std::vector<ir::Poly> around = {0, 0, 1, 1};
      add("enlarge", "pad", {.shape = ShapeRule::enlarge, .attributes = {{"begins", around}, {"ends", around}}});
      const std::vector<ir::Poly> kernel(2, ir::Poly(3));
      add("average_pool", "average_pool",
          {.attributes = {{"kernel", kernel}, {"pads", same}, {"count_include_pad", ir::Poly(1)}}, .weight = kWindowWeight});
      add("max_pool", "max_pool", {.attributes = {{"kernel", kernel}, {"pads", same}}, .weight = kWindowWeight});
    }
    for (const int axis : {0, 1}) {
      add("concat", "concat",
          {.name = fmt::format("concat {}", axis),
           .shape = ShapeRule::concat,
           .operands = 2,
           .axis = axis,
           .attributes = {{"axis", ir::Poly(axis)}}});
      add("split", "split",
          {.name = fmt::format("split {}", axis),
           .shape = ShapeRule::split,
           .outputs = 2,
           .axis = axis,
           .attributes = {{"axis", ir::Poly(axis)}}});
    }
    std::stable_sort(u_.choices_.begin(), u_.choices_.end(), [](const Choice& a, const Choice& b) { return a.name < b.name; });
  }

  void numbers() {
    for (const std::string& name : options_.operators) {
      const KnownOperator& w = *find_operator(name);
      if (w.ordered) u_.numbers_ = GraphSignature::Numbers::integers;
      if (w.partial) u_.numbers_ = GraphSignature::Numbers::pairs;
    }
  }

  const SignatureOptions& options_;
  GraphSignature u_;
  std::size_t groups_ = 0;
  DimId n_{};
  DimId c_{};
};

Result<GraphSignature> GraphSignature::make(const SignatureOptions& options) { return GraphSignatureBuilder(options).build(); }

}  // namespace xflow::generator
