#include "src/validation/region_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "src/eval/compare.h"
#include "src/eval/sampled.h"
#include "src/validation/original_run.h"

namespace xflow::api {
namespace {

using ir::ValueId;

// The most elements that are drawn for an input or for an output of an opaque node.
constexpr std::uint64_t kMostDrawn = std::uint64_t{1} << 22;

// A value that a rewrite made, the value that it replaced, and the start of its region.
struct Root {
  ValueId before;
  ValueId after;
  // Values of the original, and the equal values that `after` is computed from.
  std::vector<std::pair<ValueId, ValueId>> frontier;
  std::vector<ValueId> constants;  // constant expressions that the region reads
};

// A region whose first element takes more is not checked. The last block of a transformer is one region
// where a slice of one token moved through it, and that token reads the keys and values of all others.
constexpr std::uint64_t kWorkOfAnElement = 8 * RunBounds::most().work;

class Checker {
 public:
  explicit Checker(const RegionCheck& check)
      : check_(check),
        arena_(check.arena),
        bounds_(RunBounds{}.within(check.max_bytes)),
        most_(RunBounds::most().within(check.max_bytes)),
        original_(arena_, check.original),
        result_(arena_, check.result) {}

  Result<CheckedRegions> run() {
    find_roots();
    for (const Root& root : roots_) {
      checked_.regions.push_back({check_.name_of(root.before), true, {}, 0, 0, 0});
      checked_.replaced.push_back(replaced_by(root));
    }
    if (roots_.empty()) return std::move(checked_);
    const std::size_t sets = check_.runs.sets.size();
    for (std::size_t k = 0; k < std::max<std::size_t>(sets, 1); ++k) {
      XFLOW_TRY(const Sizes sizes, choose_fitting_sizes(arena_, check_.original, check_.inputs, check_.runs.shapes[k], check_.runs.inner));
      XFLOW_CHECK(run_at(sizes.values, k));
      SizeMap of_inputs = sizes.values;
      std::erase_if(of_inputs, [&](const auto& size) { return sizes.inner.contains(size.first); });
      if (sets == 0 && !of_inputs.empty()) XFLOW_CHECK(run_at_second_sizes(of_inputs));
    }
    for (CheckedRegion& region : checked_.regions) {
      if (region.checked_values > 0 || !region.agrees) continue;
      region.agrees = false;
      region.message = "it could not be executed";
    }
    return std::move(checked_);
  }

 private:
  // A second choice that the model refuses (it may need a multiple of 32) is no error, since the first
  // choice ran. It is reported as skipped.
  Result<void> run_at_second_sizes(const SizeMap& first) {
    if (check_.options.stop && check_.options.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
    const auto changed = [&](std::int64_t one, const auto& other) {
      SizeMap sizes = first;
      for (auto& [symbol, size] : sizes) size = size == 1 ? one : other(size);
      return sizes;
    };
    const auto half = [](std::int64_t size) { return size >= 64 && size % 2 == 0 ? size / 2 : size; };
    const auto same = [](std::int64_t size) { return size; };
    const auto twice = [](std::int64_t size) { return size <= 512 ? 2 * size : size; };
    for (SizeMap& sizes : std::vector<SizeMap>{changed(2, half), changed(2, same), changed(1, twice)}) {
      const std::string text = sizes_text(arena_, check_.inputs, sizes);
      Result<void> ran = adjust_sizes(arena_, check_.original, {}, sizes);
      if (ran && sizes == first) continue;
      Sizes all;
      all.values = sizes;
      add_inner_sizes(arena_, check_.original, check_.runs.inner, all);
      if (ran) ran = run_at(all.values, 1);
      if (ran) return {};
      if (ran.error().code != ErrorCode::unsupported && ran.error().code != ErrorCode::invalid_argument) return ran;
      checked_.skipped.push_back(fmt::format("{} ({})", text, ran.error().text()));
    }
    return {};
  }

  ValueId current(ValueId v) const {
    const auto found = check_.correspondence.find(v);
    return found == check_.correspondence.end() ? v : found->second;
  }

  void find_roots() {
    // Values of the result that equal a value of the original.
    std::unordered_map<ValueId, ValueId> before_of;
    for (const ir::NodeId id : original_.order()) {
      const ir::Node& node = arena_.node(id);
      if (node.is_constant) continue;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const ValueId v{id, k};
        if (result_.contains(current(v).node)) before_of.try_emplace(current(v), v);
      }
    }
    for (const ir::NodeId id : original_.order()) {
      const ir::Node& node = arena_.node(id);
      if (node.is_constant) continue;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
        const ValueId before{id, k};
        const ValueId after = current(before);
        const auto known = before_of.find(after);
        if (after == before || known == before_of.end() || is_rebuilt(before, after)) continue;
        if (known->second == before) {
          add_root(before, after, before_of);
        } else {
          // Another value of the original took its place. Both exist and are compared.
          roots_.push_back({before, after, {{known->second, after}}, {}});
        }
      }
    }
  }

  // Returns true if both are the same operation on corresponding values.
  bool is_rebuilt(ValueId before, ValueId after) const {
    const ir::Node& x = arena_.node(before);
    const ir::Node& y = arena_.node(after);
    if (x.kind != y.kind || before.output != after.output || x.operands.size() != y.operands.size()) return false;
    if (x.kind == ir::NodeKind::opaque) return x.serial == y.serial;
    if (x.kind != ir::NodeKind::operation || x.op != y.op || !(x.attributes == y.attributes)) return false;
    for (std::size_t k = 0; k < x.operands.size(); ++k)
      if (current(x.operands[k]) != y.operands[k]) return false;
    return true;
  }

  void add_root(ValueId before, ValueId after, const std::unordered_map<ValueId, ValueId>& before_of) {
    Root root{before, after, {}, {}};
    std::vector<ValueId> stack{after};
    std::unordered_set<ValueId> seen{after};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      const auto known = before_of.find(v);
      if (known != before_of.end() && v != after) {
        root.frontier.emplace_back(known->second, v);
        continue;
      }
      for (const ValueId operand : arena_.node(v).operands) {
        if (arena_.is_absent(operand) || !seen.insert(operand).second) continue;
        if (arena_.is_constant(operand)) {
          root.constants.push_back(operand);
        } else {
          stack.push_back(operand);
        }
      }
    }
    roots_.push_back(std::move(root));
  }

  // Returns the values of the original that the region recomputes: from the replaced value back to values
  // that the result still has.
  std::vector<ValueId> replaced_by(const Root& root) const {
    std::vector<ValueId> values{root.before};
    std::unordered_set<ValueId> seen{root.before};
    for (std::size_t k = 0; k < values.size(); ++k) {
      for (const ValueId operand : arena_.node(values[k]).operands) {
        if (arena_.is_absent(operand) || arena_.is_constant(operand) || result_.contains(current(operand).node)) continue;
        if (seen.insert(operand).second) values.push_back(operand);
      }
    }
    return values;
  }

  // Draws a tensor of seeded values.
  Result<eval::SampledTensor> seeded(const ir::TensorType& type, const ir::Symbols::Valuation& sizes, std::uint64_t most,
                                     std::mt19937_64& random) const {
    std::vector<std::int64_t> dims;
    if (!type.ranked) return fail(ErrorCode::unsupported, "a value of unknown rank");
    for (const ir::Poly& d : type.shape) {
      const auto size = arena_.symbols().evaluate(d, sizes);
      if (!size || *size < 0) return fail(ErrorCode::unsupported, "a size is not known");
      dims.push_back(*size);
    }
    eval::Sample sample = eval::sample_of(dims, most);
    const std::uint64_t count = eval::count_of(sample);
    dims.clear();
    for (const eval::Positions& positions : sample) dims.push_back(positions.count());
    if (ir::is_floating(type.data_type)) {
      std::vector<double> values(count);
      for (double& v : values) v = static_cast<double>(static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0));
      XFLOW_TRY(eval::Tensor tensor, eval::rounded(eval::Tensor::of_doubles(type.data_type, std::move(dims), std::move(values))));
      return eval::SampledTensor{std::move(tensor), std::move(sample)};
    }
    if (ir::is_integer(type.data_type) || type.data_type == ir::DataType::boolean) {
      // Small values are in range if they are indices.
      std::vector<std::int64_t> values(count);
      for (std::int64_t& v : values) v = static_cast<std::int64_t>(random() & 1U);
      return eval::SampledTensor{eval::Tensor::of_integers(type.data_type, std::move(dims), std::move(values)), std::move(sample)};
    }
    if (type.data_type == ir::DataType::string) {
      std::vector<std::string> values(count);
      for (std::string& v : values) v = fmt::format("s{}", random() % 10);
      return eval::SampledTensor{eval::Tensor::of_strings(std::move(dims), std::move(values)), std::move(sample)};
    }
    return fail(ErrorCode::unsupported, fmt::format("no values of type {}", ir::name(type.data_type)));
  }

  // Returns 0 if a size is unknown; nothing is drawn then.
  std::uint64_t elements_of(const ir::TensorType& type, const ir::Symbols::Valuation& sizes) const {
    std::uint64_t count = type.ranked ? 1 : 0;
    for (const ir::Poly& dim : type.shape) {
      const auto size = arena_.symbols().evaluate(dim, sizes);
      if (!size || *size <= 0) return 0;
      if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(*size), &count)) return kMostDrawn;
    }
    return std::min(count, kMostDrawn);
  }

  // Returns the initial values of run `number`: the set of inputs of that number, if there are sets,
  // otherwise seeded ones.
  eval::SampledBindings given_values(const ir::Symbols::Valuation& valuation, std::size_t number) const {
    std::mt19937_64 random(number + 1);
    eval::SampledBindings given;
    if (!check_.runs.sets.empty()) {
      const auto& tensors = check_.runs.sets[number].tensors;
      for (const NamedInput& input : check_.inputs)
        if (const auto tensor = tensors.find(std::string(input.name)); tensor != tensors.end())
          given.emplace(input.value, eval::SampledTensor::of(tensor->second));
    }
    std::vector<ValueId> drawn;
    for (const ir::NodeId id : original_.order()) {
      const ir::Node& node = arena_.node(id);
      if (node.kind != ir::NodeKind::input && node.kind != ir::NodeKind::opaque) continue;
      for (std::uint32_t k = 0; k < node.outputs.size(); ++k)
        if (!given.contains({id, k})) drawn.push_back({id, k});
    }
    // All drawn values together have no more elements than the bound for computed values.
    std::vector<std::uint64_t> counts;
    counts.reserve(drawn.size());
    for (const ValueId value : drawn) counts.push_back(elements_of(arena_.type(value), valuation));
    const std::uint64_t most = std::min(kMostDrawn, std::max<std::uint64_t>(share_of(bounds_.elements, std::move(counts)), 1));
    for (const ValueId value : drawn) {
      auto tensor = seeded(arena_.type(value), valuation, most, random);
      if (tensor) given.emplace(value, *std::move(tensor));
    }
    return given;
  }

  // Returns the values that the regions read and the values that they replace.
  std::vector<ValueId> wanted_values() const {
    std::vector<ValueId> wanted;
    std::unordered_set<ValueId> known;
    const auto want = [&](ValueId v) {
      if (known.insert(v).second) wanted.push_back(v);
    };
    for (const Root& root : roots_) {
      want(root.before);
      for (const auto& [before, after] : root.frontier) want(before);
    }
    return wanted;
  }

  // Returns the sizes of a run: those of the choice, those read from tensors, and those that appear only in
  // outputs of opaque nodes.
  Result<std::unordered_map<ir::SymbolId, std::int64_t>> all_sizes(const SizeMap& sizes, const ir::Symbols::Valuation& valuation,
                                                                   const eval::SampledBindings& given) const {
    std::unordered_map<ir::SymbolId, std::int64_t> all = sizes;
    for (const ir::NodeId id : original_.order()) {
      if (arena_.node(id).kind != ir::NodeKind::opaque) continue;
      for (const ir::TensorType& type : arena_.node(id).outputs) {
        for (const ir::Poly& dim : type.shape) {
          const auto symbol = dim.as_symbol();
          if (symbol && arena_.symbols().info(*symbol).kind == ir::SymbolKind::dimension) all.try_emplace(*symbol, *valuation(*symbol));
        }
      }
    }
    for (const auto& [value, tensor] : given) {
      std::vector<std::int64_t> dims;
      for (const eval::Positions& positions : tensor.sample) dims.push_back(positions.size);
      XFLOW_CHECK(eval::bind_shape(arena_.symbols(), arena_.type(value), dims, all));
    }
    return all;
  }

  // A region, with the sample at which its value is compared.
  struct Part {
    eval::Sample sample;
    std::unordered_map<ValueId, const eval::SampledTensor*> leaves;  // by value of the result
    eval::SampledBindings constants;
    eval::SampledEvaluation::SamplePlan own;
    eval::SampledEvaluation::SamplePlan made;
    std::uint64_t work() const { return 2 * own.work + made.work; }
    std::uint64_t elements() const { return own.elements + made.elements; }
  };

  // Executes run `number`.
  Result<void> run_at(const SizeMap& sizes, std::size_t number) {
    Sizes open;
    open.values = sizes;
    const std::vector<CheckedRegion> before = checked_.regions;
    XFLOW_TRY(const RunBounds needs, run_in(sizes, number, bounds_));
    // Sampled values, which stand in for others, may be inconsistent with each other where the original's
    // values are not. A disagreement is decided on all elements if the bounds allow it.
    const auto fails = [&](std::size_t k) { return before[k].agrees && !checked_.regions[k].agrees; };
    bool disagrees = false;
    for (std::size_t k = 0; k < before.size(); ++k) disagrees = disagrees || fails(k);
    const bool was_sampled = needs.work > bounds_.work || needs.elements > bounds_.elements;
    if (disagrees && was_sampled && needs.work <= most_.work && needs.elements <= most_.elements) {
      checked_.regions = before;
      XFLOW_CHECK(run_in(sizes, number, most_));
    }
    checked_.sizes.push_back(check_.runs.label(arena_, check_.inputs, number, open));
    return {};
  }

  // Executes a run within `bounds`. Returns the bounds that computing all elements would need.
  Result<RunBounds> run_in(const SizeMap& sizes, std::size_t number, const RunBounds& bounds) {
    Sizes open;
    open.values = sizes;
    const ir::Symbols::Valuation valuation = open.valuation();
    eval::SampledBindings given = given_values(valuation, number);
    eval::Options in_double;
    in_double.stop = check_.options.stop;
    in_double.most_elements = check_.options.most_elements;
    in_double.bytes_left = check_.options.bytes_left;
    XFLOW_TRY(in_double.symbols, all_sizes(sizes, valuation, given));
    eval::Options in_float = in_double;
    in_float.number = eval::Number::float32;
    XFLOW_TRY(const OriginalRun original, run_original(arena_, wanted_values(), in_double, bounds, given));
    eval::SampledEvaluation reference(arena_, in_double);
    eval::SampledEvaluation single(arena_, in_float);
    // The rounding error of the original: its value is computed again from the values around it, not read.
    ValueId replaced{};
    const eval::SampledEvaluation::Lookup around = [&](ValueId value) -> const eval::SampledTensor* {
      const auto at = value == replaced ? given.end() : given.find(value);
      return at == given.end() ? nullptr : &at->second;
    };
    std::vector<Part> parts(roots_.size());
    RunBounds needs{original.work, original.elements};
    std::vector<std::uint64_t> works;
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      replaced = roots_[r].before;
      XFLOW_TRY(const auto dims, reference.dims_of(replaced));
      parts[r].sample = eval::whole(dims);
      XFLOW_CHECK(plan(roots_[r], single, around, given, parts[r]));
      works.push_back(parts[r].work());
      needs.work += works.back();
      needs.elements = std::max(needs.elements, parts[r].elements());
    }
    const std::uint64_t work = share_of(bounds.work, works);
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      const Root& root = roots_[r];
      Part& part = parts[r];
      replaced = root.before;
      while ((part.work() > work || part.elements() > bounds.elements) && eval::halve(part.sample))
        XFLOW_CHECK(plan(root, single, around, given, part));
      if (part.work() > kWorkOfAnElement || part.elements() > most_.elements) {
        checked_.regions[r].agrees = false;
        checked_.regions[r].message = "it could not be executed: one element takes more than a check may";
        part = {};
        continue;
      }
      XFLOW_TRY(const eval::SampledTensor expected, original.exact.contains(root.before)
                                                        ? reference.compute(root.before, part.sample, lookup_in(given))
                                                        : reference.run(part.own, around));
      XFLOW_TRY(const eval::SampledTensor own, single.run(part.own, around));
      XFLOW_TRY(const eval::SampledTensor made, single.run(part.made, leaves_of(part)));
      const CheckedRegion before = checked_.regions[r];
      XFLOW_CHECK(compare(expected, own.tensor, made.tensor, checked_.regions[r]));
      const auto is_exact = [&](const auto& pair) { return original.exact.contains(pair.first); };
      if (before.agrees && !checked_.regions[r].agrees && !std::ranges::all_of(root.frontier, is_exact))
        XFLOW_CHECK(compare_from_frontier(r, before, part, made, given, reference, single));
      part = {};
    }
    return needs;
  }

  // A disagreement of sampled values. The original may read elements that were not computed as their
  // neighbours where the region computes them, with constants at all elements: of x + s, a neighbour is not
  // x of the neighbour + s. So the value is computed again from the values that the region reads.
  Result<void> compare_from_frontier(std::size_t r, const CheckedRegion& before, const Part& part, const eval::SampledTensor& made,
                                     const eval::SampledBindings& given, eval::SampledEvaluation& reference,
                                     eval::SampledEvaluation& single) {
    std::unordered_set<ValueId> read;
    for (const auto& [value, after] : roots_[r].frontier) read.insert(value);
    const eval::SampledEvaluation::Lookup frontier = [&](ValueId value) -> const eval::SampledTensor* {
      const bool is_computed = arena_.node(value).kind == ir::NodeKind::operation && !read.contains(value);
      const auto at = is_computed ? given.end() : given.find(value);
      return at == given.end() ? nullptr : &at->second;
    };
    XFLOW_TRY(const auto plan, single.plan(roots_[r].before, part.sample, frontier));
    if (2 * plan.work > most_.work || plan.elements > most_.elements) return {};
    XFLOW_TRY(const eval::SampledTensor expected, reference.run(plan, frontier));
    XFLOW_TRY(const eval::SampledTensor own, single.run(plan, frontier));
    checked_.regions[r] = before;
    return compare(expected, own.tensor, made.tensor, checked_.regions[r]);
  }

  static eval::SampledEvaluation::Lookup lookup_in(const eval::SampledBindings& bindings) {
    return [&bindings](ValueId value) -> const eval::SampledTensor* {
      const auto at = bindings.find(value);
      return at == bindings.end() ? nullptr : &at->second;
    };
  }

  Result<void> plan(const Root& root, eval::SampledEvaluation& evaluation, const eval::SampledEvaluation::Lookup& around,
                    const eval::SampledBindings& given, Part& part) const {
    if (part.leaves.empty()) {
      for (const auto& [before, after] : root.frontier) part.leaves.insert_or_assign(after, &given.at(before));
      for (const ValueId constant : root.constants) {
        XFLOW_TRY(ir::Constant folded, check_.fold(constant));
        const auto at = part.constants.insert_or_assign(constant, eval::SampledTensor::of(eval::Tensor::of(std::move(folded)))).first;
        part.leaves.insert_or_assign(constant, &at->second);
      }
    }
    XFLOW_TRY(part.own, evaluation.plan(root.before, part.sample, around));
    XFLOW_TRY(part.made, evaluation.plan(root.after, part.sample, leaves_of(part)));
    return {};
  }

  static eval::SampledEvaluation::Lookup leaves_of(const Part& part) {
    return [&part](ValueId value) -> const eval::SampledTensor* {
      const auto at = part.leaves.find(value);
      return at == part.leaves.end() ? nullptr : at->second;
    };
  }

  static Result<void> compare(const eval::SampledTensor& expected, const eval::Tensor& own, const eval::Tensor& made,
                              CheckedRegion& region) {
    const eval::Tensor& reference = expected.tensor;
    const eval::Comparison comparison = eval::compare(reference, own, made);
    region.checked_values += reference.count();
    region.values += eval::size_of(expected.sample);
    if (!comparison.agrees && region.agrees) {
      region.agrees = false;
      region.message = comparison.reason;
      if (!expected.all())
        region.message +=
            fmt::format(" of the elements that were checked, [{}] of all", fmt::join(expected.index_of(comparison.worst), ","));
    }
    if (!ir::is_floating(reference.data_type)) return {};
    XFLOW_TRY(const std::vector<double> elements, eval::doubles(reference));
    double magnitude = 0;
    for (const double element : elements)
      if (std::isfinite(element)) magnitude = std::max(magnitude, std::fabs(element));
    if (std::isfinite(comparison.error)) region.error = std::max(region.error, comparison.error / (magnitude > 0 ? magnitude : 1));
    return {};
  }

  const RegionCheck& check_;
  ir::Arena& arena_;
  const RunBounds bounds_;
  const RunBounds most_;
  const ir::Uses original_;
  const ir::Uses result_;
  std::vector<Root> roots_;
  CheckedRegions checked_;
};

}  // namespace

Result<CheckedRegions> check_regions(const RegionCheck& check) { return Checker(check).run(); }

}  // namespace xflow::api
