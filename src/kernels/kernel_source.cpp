#include "src/kernels/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "src/codegen/source_text.h"
#include "src/kernels/device.h"
#include "src/kernels/kernel_graph.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using eval::SourceStage;
using eval::SourceText;
using ir::NodeId;
using ir::ValueId;
using Kind = SourceArgument::Kind;

constexpr int kThreads = 256;          // of a block in which each thread computes an element
constexpr std::int64_t kLongSum = 64;  // number of terms from which on a block computes one element
constexpr int kLeastThreads = 32;

constexpr std::string_view kMacros = R"(#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define XFLOW_KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#define XFLOW_BLOCK ((long long)blockIdx.x)
#define XFLOW_EACH_THREAD(thread, threads) for (int thread = threadIdx.x, once = 1; once; once = 0)
#define XFLOW_WAIT __syncthreads();
#define XFLOW_SHARED __shared__
#else
#define XFLOW_KERNEL(name, ...) extern "C" void name(long long xflow_block, __VA_ARGS__)
#define XFLOW_BLOCK xflow_block
#define XFLOW_EACH_THREAD(thread, threads) for (int thread = 0; thread < threads; ++thread)
#define XFLOW_WAIT
#define XFLOW_SHARED
#endif
)";

// The order in which a layout stores dimensions: for each stored dimension its number in the plain tensor.
// nullopt for blocked layouts.
std::optional<std::vector<std::int64_t>> order_of(Layout layout, std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (layout == Layout::channels_last && rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  if (layout == Layout::plain || layout == Layout::channels_last) return order;
  return std::nullopt;
}

// A reorder as a transposition of the tensor in its storage order.
Result<ops::KernelSpec> reorder_as_transpose(const ops::KernelSpec& spec) {
  const auto layout = [&](const char* name) { return static_cast<Layout>(spec.find(name)->at(0)); };
  const std::vector<std::int64_t>& dims = spec.operands.at(0).dims;
  const auto from = order_of(layout("from"), dims.size());
  const auto to = order_of(layout("to"), dims.size());
  if (!from || !to) return fail(ErrorCode::unsupported, "cannot bring tensors to and from blocks of channels");
  ops::KernelSpec transpose;
  transpose.family = ops::KernelFamily::copy;
  transpose.function.op = ops::Op::Transpose;
  transpose.operands = spec.operands;
  transpose.results = spec.results;
  transpose.integers = {{"perm", {}}};
  for (std::size_t k = 0; k < dims.size(); ++k) {
    transpose.operands[0].dims[k] = dims[static_cast<std::size_t>((*from)[k])];
    transpose.results[0].dims[k] = dims[static_cast<std::size_t>((*to)[k])];
    transpose.integers[0].second.push_back(std::ranges::find(*from, (*to)[k]) - from->begin());
  }
  return transpose;
}

// The number of threads of a block that computes a sum of `terms` terms.
int threads_for(std::int64_t terms) {
  int threads = kThreads;
  while (threads > kLeastThreads && threads >= 2 * terms) threads /= 2;
  return threads;
}

// A tensor as rows of contiguous elements.
struct Rows {
  std::int64_t count = 0;
  std::int64_t length = 0;
  int threads = 0;  // of each row
};

// The rows of a softmax or normalisation along the last dimensions, whose parts all stay within one row.
// nullopt for other kernels, and where long rows are too few to give each one a block.
std::optional<Rows> rows_of(const ops::KernelSpec& spec) {
  constexpr std::int64_t kLeastRows = 64;
  constexpr std::int64_t kMostOfOneRow = 1 << 14;
  if (!spec.is(ops::KernelFamily::softmax) && !ops::is_normalization(spec)) return std::nullopt;
  const std::vector<std::int64_t>* axes = spec.find(spec.is(ops::KernelFamily::softmax) ? "axis" : "axes");
  if (axes == nullptr || axes->empty()) return std::nullopt;
  const std::vector<std::int64_t>& dims = spec.results.at(0).dims;
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::set<std::int64_t> along;
  for (const std::int64_t axis : *axes) along.insert(axis < 0 ? axis + rank : axis);
  Rows rows{1, 1, 0};
  for (std::int64_t k = 0; k < rank; ++k) {
    const std::int64_t extent = dims[static_cast<std::size_t>(k)];
    if (!along.contains(k) && extent != 1 && *along.begin() < k) return std::nullopt;
    (along.contains(k) ? rows.length : rows.count) *= extent;
  }
  if (rows.length < 2 || rows.count < 1 || (rows.count < kLeastRows && rows.length > kMostOfOneRow)) return std::nullopt;
  rows.threads = threads_for(rows.length);
  return rows;
}

// Writes the functions of a graph. Some values are passed on within a function ("handed"), others are stored
// in memory.
class Writer {
 public:
  Writer(std::string_view name, std::int64_t least_terms, std::optional<Rows> rows) : name_(name), least_terms_(least_terms), rows_(rows) {}

  Result<SourceProgram> write(const ops::KernelSpec& spec) {
    std::vector<ValueId> operands;
    for (const ops::TensorSpec& tensor : all_operands(spec)) {
      const ValueId operand = arena_.input({tensor.data_type, true, ir::polys(tensor.dims)}, static_cast<std::uint32_t>(operands.size()));
      places_[operand] = {Kind::operand, operands.size()};
      operands.push_back(operand);
    }
    XFLOW_TRY(results_, graph_of(arena_, spec, operands));
    order(results_);
    XFLOW_CHECK(compile());
    choose_heads();
    for (const NodeId node : nodes_)
      for (std::uint32_t k = 0; k < arena_.node(node).outputs.size(); ++k) XFLOW_CHECK(root({node, k}));
    if (rows_) write_row();
    return std::move(source_);
  }

 private:
  const ir::Node& node(NodeId id) const { return arena_.node(id); }
  const ir::Shape& dims(ValueId value) const { return arena_.type(value).shape; }

  // Sorts the operations topologically into nodes_.
  void order(std::span<const ValueId> results) {
    std::vector<std::pair<NodeId, std::size_t>> stack;
    std::set<NodeId> seen;
    for (const ValueId result : results) {
      if (seen.insert(result.node).second) stack.emplace_back(result.node, 0);
      while (!stack.empty()) {
        auto& [id, next] = stack.back();
        if (next == node(id).operands.size()) {
          if (node(id).kind == ir::NodeKind::operation) nodes_.push_back(id);
          stack.pop_back();
          continue;
        }
        const NodeId operand = node(id).operands[next++].node;
        if (seen.insert(operand).second) stack.emplace_back(operand, 0);
      }
    }
  }

  // Whether the operation is a function of the elements at one position (operands may be broadcast).
  bool is_elementwise(NodeId id) const {
    const std::vector<SourceText>& own = texts_.at(id);
    return ops::get(node(id).op).signature.pointwise && own.size() == 1 && own[0].stages.size() == 1 && own[0].stages[0].terms == 0;
  }

  Result<void> compile() {
    for (const NodeId id : nodes_) {
      std::vector<SourceText>& own = texts_[id];
      for (std::size_t k = 0; k < node(id).outputs.size(); ++k) {
        XFLOW_TRY(own.emplace_back(), eval::source_text(arena_, id, static_cast<int>(k)));
      }
      for (const ValueId operand : node(id).operands) users_[operand].insert(id);
    }
    return {};
  }

  bool is_result(ValueId value) const { return std::ranges::find(results_, value) != results_.end(); }

  // Whether the value may be computed where it is used: all its users are elementwise and of its size.
  bool may_be_handed(ValueId value) const {
    const auto users = users_.find(value);
    if (is_result(value) || users == users_.end() || node(value.node).outputs.size() != 1) return false;
    return std::ranges::all_of(users->second, [&](NodeId user) { return is_elementwise(user) && dims({user, 0}) == dims(value); });
  }
  bool is_handed(ValueId value) const {
    return node(value.node).kind == ir::NodeKind::operation && may_be_handed(value) &&
           (is_elementwise(value.node) || heads_.contains(value));
  }

  // Collects the values in memory that are computed from `value`.
  void roots_of(ValueId value, std::set<ValueId>& roots) const {
    if (!may_be_handed(value)) {
      roots.insert(value);
      return;
    }
    for (const NodeId user : users_.at(value)) roots_of({user, 0}, roots);
  }

  // Chooses heads: operations that are not elementwise and begin a function. A head feeds one value in
  // memory, and each such value has at most one head.
  void choose_heads() {
    std::set<ValueId> taken;
    for (const NodeId id : nodes_) {
      const ValueId value{id, 0};
      if (is_elementwise(id) || !may_be_handed(value) || texts_.at(id)[0].stages.empty()) continue;
      std::set<ValueId> roots;
      roots_of(value, roots);
      if (roots.size() == 1 && taken.insert(*roots.begin()).second) heads_.insert(value);
    }
  }

  SourceArgument add_scratch(const SourceStage& stage) {
    source_.scratch.push_back(static_cast<std::size_t>(stage.elements) * stage.bytes);
    return {Kind::scratch, source_.scratch.size() - 1};
  }

  // The arguments of one function.
  struct Function {
    std::vector<SourceArgument> arguments;

    std::string parameter(SourceArgument argument) {
      const auto found = std::ranges::find(arguments, argument);
      const auto k = found - arguments.begin();
      if (found == arguments.end()) arguments.push_back(argument);
      return fmt::format("a{}", k);
    }
  };

  // Writes the functions that compute a value in memory.
  Result<void> root(ValueId value) {
    if (is_handed(value) || (!is_result(value) && !users_.contains(value))) return {};
    if (texts_.at(value.node)[value.output].stages.empty()) return {};  // no elements
    std::vector<NodeId> chain;
    std::optional<ValueId> head;
    collect(value, chain, head);
    // All stages of the head but the last are stored in memory.
    std::vector<SourceArgument> stages;
    if (head) {
      const SourceText& text = texts_.at(head->node)[head->output];
      for (std::size_t k = 0; k + 1 < text.stages.size(); ++k) {
        stages.push_back(add_scratch(text.stages[k]));
        XFLOW_CHECK(function(*head, k, stages, {}, stages.back()));
      }
    }
    SourceArgument out{Kind::result, static_cast<std::size_t>(std::ranges::find(results_, value) - results_.begin())};
    if (!is_result(value)) out = add_scratch(texts_.at(value.node)[value.output].stages.back());
    places_[value] = out;
    return function(head.value_or(value), SIZE_MAX, stages, chain, out);
  }

  // Collects the elementwise operations that end in `value`, in order, and the head that they begin with.
  void collect(ValueId value, std::vector<NodeId>& chain, std::optional<ValueId>& head) {
    if (std::ranges::find(chain, value.node) != chain.end()) return;
    if (!is_elementwise(value.node)) {
      head = value;
      return;
    }
    for (const ValueId operand : node(value.node).operands)
      if (is_handed(operand)) collect(operand, chain, head);
    chain.push_back(value.node);
  }

  // Writes the assignments of the pointers that stage `k` of a text reads: "p0.x0 = (decltype(p0.x0))a0;".
  std::string fill(Function& function, const std::string& places, const SourceText& text, std::size_t k, NodeId id,
                   std::span<const SourceArgument> stages, const std::map<ValueId, std::string>& elements) {
    std::string lines;
    for (const int operand : text.operands[k]) {
      const ValueId value = node(id).operands[static_cast<std::size_t>(operand)];
      const std::string member = fmt::format("{}.x{}", places, operand);
      const auto element = elements.find(value);
      lines += element != elements.end()
                   ? fmt::format("      {} = {};\n", member, element->second)
                   : fmt::format("      {} = (decltype({})){};\n", member, member, function.parameter(places_.at(value)));
    }
    for (const int before : text.intermediate[k]) {
      const std::string member = fmt::format("{}.t{}", places, before);
      lines += fmt::format("      {} = (decltype({})){};\n", member, member, function.parameter(stages[static_cast<std::size_t>(before)]));
    }
    return lines;
  }

  // The statements that compute the elements of one tensor in memory.
  struct ElementCode {
    std::string places;  // statements before the threads diverge
    // The namespace of the sum that a block computes as "parts[0]"; empty if a thread computes an element.
    std::string sum_of;
    std::size_t stage = 0;  // the stage of that sum
    std::string element;    // statements that compute the element `at`
    std::string value;      // the name of the computed element
    std::string type;
    std::int64_t count = 0;
    int threads = kThreads;
  };

  // Writes the function that computes stage `k` of `first` (SIZE_MAX: its last stage), followed by `chain`.
  Result<void> function(ValueId first, std::size_t k, std::span<const SourceArgument> stages, std::span<const NodeId> chain,
                        SourceArgument out) {
    Function own;
    Function& function = rows_ ? row_ : own;
    XFLOW_TRY(const ElementCode made, element_code(function, first, k, stages, chain));
    if (rows_) return add_to_row(made, out);
    write_function(made, own, out);
    return {};
  }

  Result<ElementCode> element_code(Function& function, ValueId first, std::size_t k, std::span<const SourceArgument> stages,
                                   std::span<const NodeId> chain) {
    const std::string name = fmt::format("{}_{}", name_, functions_++);
    std::map<ValueId, std::string> elements;
    ElementCode made;
    if (chain.empty() || !is_elementwise(first.node)) {
      const SourceText& text = texts_.at(first.node)[first.output];
      if (k == SIZE_MAX) k = text.stages.size() - 1;
      const SourceStage& stage = text.stages[k];
      const std::string space = name + "_h";
      source_.text += fmt::format("namespace {} {{\n{}}}\n", space, text.text);
      made.places = fmt::format("    {}::xflow_places_{} p;\n", space, k) + fill(function, "p", text, k, first.node, stages, elements);
      made.type = stage.type;
      made.count = stage.elements;
      if (stage.terms >= least_terms_) {
        made.threads = threads_for(stage.terms);
        made.sum_of = space;
        made.stage = k;
        made.element = fmt::format("      const {} e = {}::xflow_finish_{}(parts[0]);\n", made.type, space, k);
      } else {
        made.element = fmt::format("      const {} e = {}::xflow_element_{}(p, ({}::xflow_index)at);\n", made.type, space, k, space);
      }
      elements[first] = made.value = "e";
    }
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const ir::Node& own = node(chain[i]);
      std::vector<int> handed;
      for (std::size_t operand = 0; operand < own.operands.size(); ++operand)
        if (elements.contains(own.operands[operand])) handed.push_back(static_cast<int>(operand));
      XFLOW_TRY(const SourceText text, eval::source_text(arena_, chain[i], 0, handed));
      const std::string space = fmt::format("{}_{}", name, i);
      source_.text += fmt::format("namespace {} {{\n{}}}\n", space, text.text);
      made.value = fmt::format("e{}", i);
      made.element += fmt::format("      {}::xflow_places_0 p{};\n", space, i) +
                      fill(function, fmt::format("p{}", i), text, 0, chain[i], {}, elements) +
                      fmt::format("      const {} {} = {}::xflow_element_0(p{}, ({}::xflow_index)at);\n", text.stages[0].type, made.value,
                                  space, i, space);
      elements[{chain[i], 0}] = made.value;
      made.type = text.stages[0].type;
      made.count = text.stages[0].elements;
    }
    return made;
  }

  // Each thread of a block computes a partial sum of element `at`; a tree reduction combines them.
  static std::string sum_by(const ElementCode& made, int threads) {
    if (made.sum_of.empty()) return {};
    return fmt::format(
        "    XFLOW_SHARED decltype({0}::xflow_part_{1}(p, 0, 0, 1)) parts[{2}];\n"
        "    XFLOW_EACH_THREAD(thread, {2}) parts[thread] = {0}::xflow_part_{1}(p, ({0}::xflow_index)at, thread, {2});\n"
        "    for (int half = {3}; half > 0; half /= 2) {{\n      XFLOW_WAIT\n"
        "      XFLOW_EACH_THREAD(thread, {2})\n"
        "        if (thread < half) parts[thread] = {0}::xflow_combine_{1}(parts[thread], parts[thread + half]);\n    }}\n",
        made.sum_of, made.stage, threads, threads / 2);
  }

  // Writes a separate function with a block or a thread for each element.
  void write_function(const ElementCode& made, Function& function, SourceArgument out) {
    const std::string name = fmt::format("{}_{}", name_, source_.launches.size());
    std::string body = made.places;
    if (made.sum_of.empty()) {
      body +=
          fmt::format("    XFLOW_EACH_THREAD(thread, {0}) {{\n    const long long at = XFLOW_BLOCK * {0} + thread;\n    if (at < {1}) {{\n",
                      made.threads, made.count);
    } else {
      body += fmt::format("    const long long at = XFLOW_BLOCK;\n{}    XFLOW_EACH_THREAD(thread, {}) {{\n    if (thread == 0) {{\n",
                          sum_by(made, made.threads), made.threads);
    }
    body += made.element + fmt::format("      (({}*){})[at] = {};\n    }}\n    }}\n", made.type, function.parameter(out), made.value);
    const std::int64_t blocks = made.sum_of.empty() ? (made.count + made.threads - 1) / made.threads : made.count;
    finish_function(name, body, function, {name, blocks, made.threads, {}});
  }

  void finish_function(const std::string& name, const std::string& body, Function& function, SourceLaunch launch) {
    std::string parameters;
    for (std::size_t a = 0; a < function.arguments.size(); ++a) parameters += fmt::format("{}const void* a{}", a == 0 ? "" : ", ", a);
    source_.text += fmt::format("XFLOW_KERNEL({}, {}) {{\n{}}}\n", name, parameters, body);
    launch.arguments = std::move(function.arguments);
    source_.launches.push_back(std::move(launch));
  }

  // Appends to the function that computes a whole row: one number of the row, or each of its elements.
  Result<void> add_to_row(const ElementCode& made, SourceArgument out) {
    const std::string to = row_.parameter(out);
    std::string body = "    {\n" + made.places;
    if (made.count == rows_->count) {
      body += fmt::format("    const long long at = XFLOW_BLOCK;\n{}    XFLOW_EACH_THREAD(thread, {}) {{\n    if (thread == 0) {{\n",
                          sum_by(made, rows_->threads), rows_->threads);
    } else if (made.count == rows_->count * rows_->length && made.sum_of.empty()) {
      body += fmt::format(
          "    XFLOW_EACH_THREAD(thread, {0}) {{\n"
          "    for (long long at = XFLOW_BLOCK * {1} + thread; at < (XFLOW_BLOCK + 1) * {1}; at += {0}) {{\n",
          rows_->threads, rows_->length);
    } else {
      return fail(ErrorCode::unsupported, "its parts are not rows");
    }
    row_body_ +=
        body + made.element + fmt::format("      (({}*){})[at] = {};\n    }}\n    }}\n    }}\n    XFLOW_WAIT\n", made.type, to, made.value);
    return {};
  }

  void write_row() {
    const std::string name = name_ + "_row";
    finish_function(name, row_body_, row_, {name, rows_->count, rows_->threads, {}});
  }

  std::string name_;
  std::int64_t least_terms_;  // of sums that a block computes
  std::optional<Rows> rows_;  // set if one function computes everything, a block for each row
  Function row_;
  std::string row_body_;
  std::size_t functions_ = 0;
  ir::Arena arena_;
  std::vector<ValueId> results_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, std::vector<SourceText>> texts_;  // by output
  std::map<ValueId, std::set<NodeId>> users_;
  std::set<ValueId> heads_;
  std::map<ValueId, SourceArgument> places_;  // of values in memory
  SourceProgram source_;
};

}  // namespace

std::string kernel_source_prelude() { return std::string(eval::source_prelude()) + std::string(kMacros); }

Result<SourceProgram> kernel_source(const ops::KernelSpec& spec, std::string_view name, SourceWay way) {
  const std::optional<Rows> rows = way == SourceWay::row ? rows_of(spec) : std::nullopt;
  if (way == SourceWay::row && !rows) return fail(ErrorCode::unsupported, "it has no rows");
  if (spec.is(ops::KernelFamily::reorder)) {
    XFLOW_TRY(const ops::KernelSpec transpose, reorder_as_transpose(spec));
    return Writer(name, kLongSum, std::nullopt).write(transpose);
  }
  const std::int64_t least_terms = way == SourceWay::thread ? std::numeric_limits<std::int64_t>::max()
                                   : way == SourceWay::row  ? 1
                                                            : kLongSum;
  return Writer(name, least_terms, rows).write(spec);
}

}  // namespace xflow::cost
