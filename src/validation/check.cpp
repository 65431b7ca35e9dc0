#include "src/validation/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "src/devices/runner/runner_executor.h"
#include "src/eval/compare.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/check_inputs.h"

namespace xflow::api {
namespace {

using onnx_io::DeclaredType;
using onnx_io::Document;
using onnx_io::GraphId;

// When the comparison ends.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool is_over() const { return std::chrono::duration<double>(Clock::now() - start_).count() >= seconds_; }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double seconds_;
};

// A model that is ready to run.
class Runnable {
 public:
  static Result<std::unique_ptr<Runnable>> open(const std::string& path, const CheckOptions& options, const Deadline& deadline) {
    XFLOW_TRY(Document document, Document::open(path, options.allow_external));
    auto model = std::unique_ptr<Runnable>(new Runnable(std::move(document), path, deadline));
    XFLOW_TRY(model->lifted_, onnx_io::lift(model->document_, model->arena_, {.stop = [&deadline] { return deadline.is_over(); }}));
    model->graph_.outputs.assign(model->lifted_.graph.outputs.begin(),
                                 model->lifted_.graph.outputs.begin() + static_cast<std::ptrdiff_t>(model->lifted_.output_count));
    XFLOW_CHECK(model->bind_strings());
    for (std::size_t k = 0; k < model->lifted_.inputs.size(); ++k) {
      const std::string_view name = model->lifted_.input_names[k];
      const onnx_io::Definition& definition = *model->document_.find(GraphId{0}, name);
      if (definition.initializer) {
        XFLOW_CHECK(model->set_default(name, model->lifted_.inputs[k], *definition.initializer));
        model->inputs_.push_back(
            {name, model->lifted_.inputs[k], model->document_.main().initializers[*definition.initializer].tensor.dims});
      } else {
        model->required_.push_back({name, model->lifted_.inputs[k]});
        model->inputs_.push_back(model->required_.back());
      }
    }
    return model;
  }

  const std::string& path() const { return path_; }
  const ir::Arena& arena() const { return arena_; }
  const Document& document() const { return document_; }
  const std::vector<NamedInput>& inputs() const { return inputs_; }
  // Inputs without defaults.
  const std::vector<NamedInput>& required() const { return required_; }
  std::vector<std::string_view> input_names() const { return lifted_.input_names; }
  const DeclaredType& declared_input(std::string_view name) const {
    return document_.main().inputs[*document_.find(GraphId{0}, name)->input].type;
  }

  // Error::unsupported, "cannot execute: If at NAME", if an output needs something that is outside xflow's operators.
  Result<void> can_execute() const {
    for (const ir::NodeId id : ir::topological_order(arena_, graph_)) {
      const ir::Node& node = arena_.node(id);
      if (node.kind == ir::NodeKind::opaque && !defaults_.contains({id, 0}))
        return fail(ErrorCode::unsupported, fmt::format("cannot execute: {}; --runner CMD runs both models in a runtime", name_of(node)),
                    path_);
    }
    return {};
  }

  // Error::ill_typed for a tensor that is not of the declared type; unsupported for sizes that do not fit together in some operator.
  Result<void> accepts(const InputSet& set) {
    std::unordered_map<ir::SymbolId, std::int64_t> sizes;
    for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
      const auto given = set.tensors.find(std::string(lifted_.input_names[k]));
      if (given == set.tensors.end()) continue;
      const ir::TensorType& type = arena_.type(lifted_.inputs[k]);
      if (type.data_type != given->second.data_type || !eval::bind_shape(arena_.symbols(), type, given->second.dims, sizes))
        return fail(ErrorCode::ill_typed, fmt::format("input '{}' is {}, not {}", lifted_.input_names[k],
                                                      declared_input(lifted_.input_names[k]).text(), eval::type_text(given->second)));
    }
    return take_sizes(arena_, graph_, sizes);
  }

  Result<std::vector<eval::Tensor>> run(const InputSet& set, eval::Number number, const std::function<void()>& progress) {
    eval::Bindings bindings = defaults_;
    for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
      const auto given = set.tensors.find(std::string(lifted_.input_names[k]));
      if (given != set.tensors.end()) bindings.insert_or_assign(lifted_.inputs[k], given->second);
    }
    eval::Options options;
    options.number = number;
    options.name_of = [this](const ir::Node& node) { return name_of(node); };
    options.stop = [&] {
      progress();
      return deadline_.is_over();
    };
    return eval::evaluate(arena_, graph_, bindings, options);
  }

 private:
  Runnable(Document document, std::string path, const Deadline& deadline)
      : document_(std::move(document)), path_(std::move(path)), deadline_(deadline) {}

  Result<void> set_default(std::string_view name, ir::ValueId value, std::uint32_t initializer) {
    const onnx_io::TensorView& tensor = document_.main().initializers[initializer].tensor;
    const auto placed = [&](const Error& error) {
      return fail(error.code, error.message, fmt::format("{}: default of input '{}'", path_, name));
    };
    if (tensor.data_type == ir::DataType::string) {
      if (const auto bound = bind_strings(value, tensor); !bound) return placed(bound.error());
      return {};
    }
    auto constant = document_.constant(tensor);
    if (!constant) return placed(constant.error());
    defaults_.emplace(value, eval::Tensor::of(*std::move(constant)));
    return {};
  }

  Result<void> bind_strings(ir::ValueId value, const onnx_io::TensorView& tensor) {
    XFLOW_TRY(const auto strings, onnx_io::strings(tensor));
    defaults_.emplace(value, eval::Tensor::of_strings(tensor.dims, {strings.begin(), strings.end()}));
    return {};
  }

  // Constants of strings are opaque in the graph: they are bound like inputs.
  Result<void> bind_strings() {
    for (const onnx_io::Initializer& initializer : document_.main().initializers) {
      const ir::ValueId value = lifted_.values.at(initializer.tensor.name);
      if (initializer.tensor.data_type != ir::DataType::string || arena_.node(value.node).kind != ir::NodeKind::opaque) continue;
      XFLOW_CHECK(bind_strings(value, initializer.tensor));
    }
    for (const onnx_io::OpaqueNode& opaque : lifted_.opaque) {
      const onnx_io::Node& node = document_.node(opaque.node);
      if (node.op_type != "Constant" || !onnx_io::is_default_domain(node.domain) || node.outputs.size() != 1) continue;
      const ir::ValueId value = lifted_.values.at(node.outputs[0]);
      if (const onnx_io::Attribute* tensor = node.find("value")) {
        XFLOW_TRY(const onnx_io::TensorView view, document_.tensor(*tensor));
        if (view.data_type == ir::DataType::string) XFLOW_CHECK(bind_strings(value, view));
      } else if (const onnx_io::Attribute* string = node.find("value_string")) {
        XFLOW_TRY(const std::string_view text, string->string());
        defaults_.emplace(value, eval::Tensor::of_strings({}, {std::string(text)}));
      } else if (const onnx_io::Attribute* strings = node.find("value_strings")) {
        XFLOW_TRY(const auto texts, strings->strings());
        defaults_.emplace(value, eval::Tensor::of_strings({static_cast<std::int64_t>(texts.size())}, {texts.begin(), texts.end()}));
      }
    }
    return {};
  }

  // "If at NAME"; a node without a name is at its first output.
  std::string name_of(const ir::Node& node) const {
    if (node.kind == ir::NodeKind::input) return "an input";
    if (node.serial >= document_.nodes().size()) return fmt::format("a constant of type {}", ir::name(node.outputs[0].data_type));
    const onnx_io::Node& origin = document_.node(onnx_io::NodeId{node.serial});
    std::string_view name = origin.name;
    for (const std::string_view output : origin.outputs)
      if (name.empty()) name = output;
    return fmt::format("{} at {}", origin.op_type, name);
  }

  Document document_;
  std::string path_;
  const Deadline& deadline_;
  ir::Arena arena_;
  onnx_io::LiftedModel lifted_;
  ir::Graph graph_;
  std::vector<NamedInput> inputs_;
  std::vector<NamedInput> required_;
  eval::Bindings defaults_;
};

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

// Types that no tensor can have at the same time.
bool contradict(const DeclaredType& a, const DeclaredType& b) {
  if (a.kind == DeclaredType::Kind::missing || b.kind == DeclaredType::Kind::missing) return false;
  if (a.kind != b.kind || a.data_type_number != b.data_type_number) return true;
  if (!a.ranked || !b.ranked) return false;
  if (a.dims.size() != b.dims.size()) return true;
  for (std::size_t k = 0; k < a.dims.size(); ++k) {
    const auto fixed = [](const onnx_io::Dimension& d) { return d.kind == onnx_io::Dimension::Kind::value && d.value >= 0; };
    if (fixed(a.dims[k]) && fixed(b.dims[k]) && a.dims[k].value != b.dims[k].value) return true;
  }
  return false;
}

struct Port {
  std::string_view name;
  const DeclaredType* type;
};

// One line if the ports of the models are not the same, in order.
std::optional<std::string> port_difference(std::string_view kind, const std::vector<Port>& a, const std::vector<Port>& b) {
  if (a.size() != b.size()) return fmt::format("A has {} {}{}, B has {}", a.size(), kind, plural(a.size()), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k].name != b[k].name) return fmt::format("{} {} is '{}' in A and '{}' in B", kind, k, a[k].name, b[k].name);
  for (std::size_t k = 0; k < a.size(); ++k)
    if (contradict(*a[k].type, *b[k].type))
      return fmt::format("{} '{}' is {} in A and {} in B", kind, a[k].name, a[k].type->text(), b[k].type->text());
  return std::nullopt;
}

std::optional<std::string> interface_difference(const Runnable& a, const Runnable& b) {
  const auto inputs = [](const Runnable& model) {
    std::vector<Port> ports;
    for (const NamedInput& input : model.required()) ports.push_back({input.name, &model.declared_input(input.name)});
    return ports;
  };
  const auto outputs = [](const Runnable& model) {
    std::vector<Port> ports;
    for (const onnx_io::ValueInfo& output : model.document().main().outputs) ports.push_back({output.name, &output.type});
    return ports;
  };
  if (auto difference = port_difference("input", inputs(a), inputs(b))) return difference;
  return port_difference("output", outputs(a), outputs(b));
}

// Both models in a runner.
class InRunner {
 public:
  static Result<std::unique_ptr<InRunner>> open(const Runnable& a, const Runnable& b, const std::string& command,
                                                const Deadline& deadline) {
    auto executor = RunnerExecutor::open({command, 1, kStartSeconds, [&deadline] { return deadline.is_over(); }});
    if (!executor) return fail(ErrorCode::unsupported, executor.error().text());
    auto models = std::unique_ptr<InRunner>(new InRunner());
    models->executor_ = *std::move(executor);
    for (const Runnable* model : {&a, &b}) {
      const bool is_whole = model->document().external_files().empty();
      const std::string path = std::filesystem::absolute(model->path()).string();
      models->programs_.push_back(
          models->executor_->add({is_whole ? model->document().bytes() : std::string_view(), is_whole ? "" : path}));
    }
    for (const onnx_io::ValueInfo& output : a.document().main().outputs) models->outputs_.emplace_back(output.name);
    return models;
  }

  // The inputs of the runs that follow, and the same perturbed.
  Result<void> take(const InputSet& set) {
    std::vector<NamedTensor> tensors;
    std::vector<NamedTensor> perturbed_tensors;
    for (const auto& [name, tensor] : set.tensors) {
      tensors.push_back({name, tensor});
      XFLOW_TRY(eval::Tensor other, perturbed(tensor, 1));
      perturbed_tensors.push_back({name, std::move(other)});
    }
    executor_->add_inputs(std::move(tensors));
    executor_->add_inputs(std::move(perturbed_tensors));
    ++sets_;
    return {};
  }

  // `model`: 0 for A, 1 for B. The outputs in A's order.
  Result<std::vector<eval::Tensor>> run(std::size_t model, bool is_perturbed) {
    XFLOW_TRY(std::vector<NamedTensor> named, executor_->outputs(programs_[model], 2 * (sets_ - 1) + (is_perturbed ? 1 : 0)));
    std::vector<eval::Tensor> tensors;
    for (const std::string& output : outputs_) {
      const auto found = std::ranges::find(named, output, &NamedTensor::name);
      if (found == named.end()) return fail(ErrorCode::unsupported, fmt::format("the runner gives no output '{}'", output));
      tensors.push_back(std::move(found->tensor));
    }
    return tensors;
  }

 private:
  using RunnerExecutor = cost::runner::RunnerExecutor;
  using NamedTensor = cost::NamedTensor;
  static constexpr double kStartSeconds = 120;  // it may load a large runtime

  InRunner() = default;

  std::unique_ptr<RunnerExecutor> executor_;
  std::vector<cost::ProgramId> programs_;
  std::vector<std::string> outputs_;
  std::size_t sets_ = 0;
};

eval::Tolerance tolerance_in_runner(const eval::Tensor& tensor) {
  const bool half = tensor.data_type == ir::DataType::float16 || tensor.data_type == ir::DataType::bfloat16;
  return {4, half ? 5e-2 : 1e-3};
}

class Check {
 public:
  // `runner` is null where the models are evaluated here.
  Check(Runnable& a, Runnable& b, const CheckOptions& options, const Deadline& deadline, InRunner* runner)
      : a_(a), b_(b), options_(options), deadline_(deadline), runner_(runner) {
    for (const onnx_io::ValueInfo& output : a.document().main().outputs) report_.outputs.emplace_back().name = output.name;
    worst_.resize(report_.outputs.size());
  }

  Result<CheckReport> run() {
    const Result<void> ran = options_.inputs.empty() ? run_seeded() : run_files();
    const bool is_over = deadline_.is_over() && compared_ < wanted_;
    if (!ran && !is_over) return fail(ran.error());
    // Differences other than of outputs were found first and are shown as they are.
    std::optional<std::size_t> worst;
    for (std::size_t k = 0; k < worst_.size(); ++k) {
      CheckReport::Output& output = report_.outputs[k];
      if (output.inputs.empty()) continue;  // it was not compared
      output.agrees = worst_[k].agrees;
      output.reason = worst_[k].reason;
      output.error = worst_[k].error;
      output.allowed = worst_[k].allowed;
      if (!worst || worst_[k].severity() > worst_[*worst].severity() || (worst_[*worst].agrees && !worst_[k].agrees)) worst = k;
    }
    if (report_.difference.empty() && worst && !worst_[*worst].agrees) {
      const CheckReport::Output& output = report_.outputs[*worst];
      report_.difference = fmt::format("output '{}' is {} for {}", output.name, output.reason, output.inputs);
    }
    if (is_over && report_.difference.empty()) return fail(why_undecided());
    report_.equal = report_.difference.empty();
    return std::move(report_);
  }

 private:
  // What was not compared on all inputs is not equal.
  Error why_undecided() const {
    return {ErrorCode::limit,
            fmt::format("not decided: the time limit of {:g} s was over after {} of {} sets of inputs{}; --time-limit gives more",
                        deadline_.seconds(), compared_, wanted_, compared_ == 0 ? "" : ", on which the models agree"),
            {}};
  }

  Result<void> run_files() {
    const std::vector<std::string_view> names = a_.input_names();
    XFLOW_TRY(const std::vector<InputSet> sets, read_inputs(options_.inputs, names));
    for (const InputSet& set : sets) {
      for (const NamedInput& input : a_.required())
        if (!set.tensors.contains(std::string(input.name)))
          return fail(ErrorCode::unreadable, fmt::format("no values for input '{}'", input.name), set.label);
      if (runner_ != nullptr) continue;  // it says itself what it does not take
      if (const auto fits = a_.accepts(set); !fits) return fail(ErrorCode::unreadable, fits.error().text(), set.label);
    }
    wanted_ = sets.size();
    for (std::size_t k = 0; k < sets.size(); ++k) {
      const auto reference = in_double(sets[k], k, sets.size());
      if (!reference) return fail(reference.error());
      XFLOW_CHECK(compare(sets[k], *reference, k, sets.size()));
    }
    return {};
  }

  Result<void> run_seeded() {
    constexpr std::pair<std::int64_t, std::int64_t> kChoices[] = {{1, 128}, {2, 64}, {3, 32}};
    // For models that need longer inputs (sound), where no other choice fits.
    constexpr std::pair<std::int64_t, std::int64_t> kLong{1, 1024};
    std::vector<Sizes> choices;
    std::set<std::vector<std::int64_t>> known;
    for (const auto& [first, other] : kChoices) {
      XFLOW_TRY(Sizes sizes, choose_sizes(a_.arena(), a_.inputs(), options_.shapes, first, other));
      if (known.insert(sizes_of(sizes)).second) choices.push_back(std::move(sizes));
    }
    const std::size_t total = choices.size() * static_cast<std::size_t>(options_.runs);
    wanted_ = total;
    std::optional<Error> first_error;
    std::size_t run = 0;
    for (const Sizes& sizes : choices) {
      for (int k = 0; k < options_.runs; ++k, ++run) {
        const auto ran = run_seeded_at(sizes, run, total);
        if (!ran && deadline_.is_over()) return fail(ran.error());
        if (ran) continue;
        report_.skipped.push_back(ran.error().text());
        ++compared_;
        if (!first_error) first_error = ran.error();
      }
    }
    if (!report_.runs.empty() || !first_error) return {};
    XFLOW_TRY(const Sizes sizes, choose_sizes(a_.arena(), a_.inputs(), options_.shapes, kLong.first, kLong.second));
    if (known.insert(sizes_of(sizes)).second && run_seeded_at(sizes, run, total + 1)) return {};
    first_error->message += "; give other sizes with --shape";
    return fail(*first_error);
  }

  // The sizes that the inputs get.
  std::vector<std::int64_t> sizes_of(const Sizes& sizes) const {
    std::vector<std::int64_t> all;
    for (const NamedInput& input : a_.required())
      for (const ir::Poly& dim : a_.arena().type(input.value).shape)
        all.push_back(a_.arena().symbols().evaluate(dim, sizes.valuation()).value_or(-1));
    return all;
  }

  // Errors: what A cannot run.
  Result<void> run_seeded_at(const Sizes& sizes, std::size_t run, std::size_t total) {
    // The first run draws integers from {0, 1}, which few operators refuse; later ones try larger ones first.
    SeededValues values{options_.seed + run, run == 0 ? 2 : 10};
    XFLOW_TRY(InputSet set, seeded_inputs(a_.arena(), a_.required(), sizes, values));
    auto reference = in_double(set, run, total);
    if (!reference && values.integer_bound > 2 && has_integers()) {
      values.integer_bound = 2;
      XFLOW_TRY(set, seeded_inputs(a_.arena(), a_.required(), sizes, values));
      reference = in_double(set, run, total);
    }
    if (!reference) {
      Error error = std::move(reference).error();
      error.message += fmt::format(" (with {})", set.label);
      return fail(std::move(error));
    }
    return compare(set, *reference, run, total);
  }

  bool has_integers() const {
    return std::any_of(a_.required().begin(), a_.required().end(),
                       [&](const NamedInput& input) { return ir::is_integer(a_.arena().type(input.value).data_type); });
  }

  std::function<void()> progress(std::string what, std::size_t run, std::size_t total) const {
    return [this, what = std::move(what), run, total] {
      if (options_.progress) options_.progress(fmt::format("{}, inputs {} of {}", what, run + 1, total));
    };
  }

  Result<std::vector<eval::Tensor>> in_double(const InputSet& set, std::size_t run, std::size_t total) const {
    Result<std::vector<eval::Tensor>> reference = fail(ErrorCode::internal, "not run");
    if (runner_ != nullptr) {
      XFLOW_CHECK(runner_->take(set));
      progress("A in the runner", run, total)();
      reference = runner_->run(0, false);
    } else if (const auto fits = a_.accepts(set); !fits) {
      reference = fail(fits.error());
    } else {
      reference = a_.run(set, eval::Number::float64, progress("A in double", run, total));
    }
    if (!reference) {
      Error error = std::move(reference).error();
      // The operator's name stays: the model alone says little.
      error.where = error.where.empty() ? a_.path() : fmt::format("{}: {}", a_.path(), error.where);
      return fail(std::move(error));
    }
    return reference;
  }

  // Errors: unsupported where B holds something that cannot be executed; any other failure of B alone is a difference.
  Result<void> compare(const InputSet& set, const std::vector<eval::Tensor>& reference, std::size_t run, std::size_t total) {
    XFLOW_TRY(const std::vector<eval::Tensor> own,
              runner_ != nullptr ? runner_->run(0, true) : a_.run(set, eval::Number::float32, progress("A in float", run, total)));
    Result<std::vector<eval::Tensor>> actual = fail(ErrorCode::internal, "not run");
    if (runner_ != nullptr) {
      progress("B in the runner", run, total)();
      actual = runner_->run(1, false);
    } else if (const auto fits = b_.accepts(set); !fits) {
      actual = fail(fits.error());
    } else {
      actual = b_.run(set, eval::Number::float32, progress("B in float", run, total));
    }
    if (!actual && deadline_.is_over()) return fail(actual.error());
    ++compared_;
    report_.runs.push_back(set.label);
    if (!actual) {
      if (report_.difference.empty())
        report_.difference = fmt::format("B does not run where A does: {} (for {})", actual.error().text(), set.label);
      return {};
    }
    for (std::size_t k = 0; k < reference.size(); ++k) {
      const eval::Comparison comparison =
          eval::compare(reference[k], own[k], (*actual)[k], runner_ != nullptr ? tolerance_in_runner(reference[k]) : eval::Tolerance{});
      CheckReport::Output& output = report_.outputs[k];
      const eval::Comparison& before = worst_[k];
      const bool worse = output.inputs.empty() || (before.agrees && !comparison.agrees) ||
                         (before.agrees == comparison.agrees && comparison.severity() > before.severity());
      if (!worse) continue;
      output.type = eval::type_text(reference[k]);
      worst_[k] = comparison;
      output.inputs = set.label;
    }
    return {};
  }

  Runnable& a_;
  Runnable& b_;
  const CheckOptions& options_;
  const Deadline& deadline_;
  std::size_t wanted_ = 1;    // sets of inputs
  std::size_t compared_ = 0;  // of these, those that were, and those that A does not take
  InRunner* runner_;
  CheckReport report_;
  std::vector<eval::Comparison> worst_;  // of all runs, by output
};

}  // namespace

Result<CheckReport> check_models(const std::string& a, const std::string& b, const CheckOptions& options) {
  const Deadline deadline(options.time_limit.count());
  const auto open = [&](const std::string& path) -> Result<std::unique_ptr<Runnable>> {
    auto model = Runnable::open(path, options, deadline);
    if (model || model.error().code != ErrorCode::limit || !deadline.is_over()) return model;
    return fail(ErrorCode::limit, fmt::format("not decided: the time limit of {:g} s was over before the models were read; --time-limit "
                                              "gives more",
                                              deadline.seconds()));
  };
  XFLOW_TRY(const auto first, open(a));
  XFLOW_TRY(const auto second, open(b));
  if (auto difference = interface_difference(*first, *second)) {
    CheckReport report;
    report.difference = *std::move(difference);
    return report;
  }
  if (!options.runner.empty()) {
    XFLOW_TRY(const auto runner, InRunner::open(*first, *second, options.runner, deadline));
    return Check(*first, *second, options, deadline, runner.get()).run();
  }
  XFLOW_CHECK(first->can_execute());
  XFLOW_CHECK(second->can_execute());
  return Check(*first, *second, options, deadline, nullptr).run();
}

}  // namespace xflow::api
