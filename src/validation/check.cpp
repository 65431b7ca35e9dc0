#include "src/validation/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "src/eval/compare.h"
#include "src/support/acceptance.h"
#include "src/validation/check_inputs.h"
#include "src/validation/check_sample.h"
#include "src/validation/deadline.h"
#include "src/validation/models_in_runner.h"
#include "src/validation/runnable.h"
#include "src/validation/same_interface.h"

namespace xflow::api {
namespace {

eval::Tolerance tolerance_in_runner(const eval::Tensor& tensor) {
  const bool half = tensor.data_type == ir::DataType::float16 || tensor.data_type == ir::DataType::bfloat16;
  return {4, half ? 5e-2 : 1e-3};
}

// "float32[2,3]"
std::string type_text(ir::DataType type, const eval::Sample& sample) {
  std::vector<std::int64_t> dims;
  for (const eval::Positions& positions : sample) dims.push_back(positions.size);
  return fmt::format("{}[{}]", ir::name(type), fmt::join(dims, ","));
}

// Why the models were not compared on all inputs. `where`: how far the call came.
Error why_undecided(const Deadline& deadline, const std::string& where) {
  if (deadline.cancel().is_stopping()) return {ErrorCode::limit, "cancelled", {}};
  if (deadline.cancel().is_finishing()) return {ErrorCode::limit, fmt::format("not decided: cancelled {}", where), {}};
  return {ErrorCode::limit,
          fmt::format("not decided: the time limit of {:g} s was reached {}; set option 'time_limit' to a longer time", deadline.seconds(),
                      where),
          {}};
}

class Check {
 public:
  // `runner` is null if the models are evaluated in this process.
  Check(Runnable& a, Runnable& b, const CheckOptions& options, const Deadline& deadline, ModelsInRunner* runner)
      : a_(a), b_(b), options_(options), deadline_(deadline), runner_(runner) {
    for (const onnx_io::ValueInfo& output : a.document().main().outputs) report_.outputs.emplace_back().name = output.name;
    worst_.resize(report_.outputs.size());
  }

  Result<CheckReport> run() {
    const Result<void> ran = options_.inputs.empty() ? run_seeded() : run_files();
    if (deadline_.cancel().is_stopping()) return fail(undecided());
    const bool is_over = deadline_.is_over() && compared_ < wanted_;
    if (!ran && !is_over) return fail(ran.error());
    // Differences in anything but outputs were found earlier and are reported unchanged.
    std::optional<std::size_t> worst;
    for (std::size_t k = 0; k < worst_.size(); ++k) {
      CheckReport::Output& output = report_.outputs[k];
      if (output.inputs.empty()) continue;  // not compared
      output.agrees = worst_[k].agrees;
      output.reason = worst_[k].reason;
      output.error = worst_[k].error;
      output.allowed = worst_[k].allowed;
      if (!worst || worst_[k].severity() > worst_[*worst].severity() || (worst_[*worst].agrees && !worst_[k].agrees)) worst = k;
    }
    if (equal_ && worst && !worst_[*worst].agrees) {
      const CheckReport::Output& output = report_.outputs[*worst];
      equal_ = refused(fmt::format("output '{}' is {} for {}", output.name, output.reason, output.inputs));
    }
    if (is_over && equal_) return fail(undecided());
    report_.equal = equal_.accepted;
    report_.difference = std::move(equal_.reason);
    return std::move(report_);
  }

 private:
  // Models that were not compared on all inputs are not reported as equal.
  Error undecided() const {
    return why_undecided(
        deadline_, fmt::format("after {} of {} sets of inputs{}", compared_, wanted_, compared_ == 0 ? "" : ", on which the models agree"));
  }

  Result<void> run_files() {
    const std::vector<std::string_view> names = a_.input_names();
    XFLOW_TRY(const std::vector<InputSet> sets, read_inputs(options_.inputs, names));
    for (const InputSet& set : sets) {
      for (const NamedInput& input : a_.required())
        if (!set.tensors.contains(std::string(input.name)))
          return fail(ErrorCode::unreadable, fmt::format("no values for input '{}'", input.name), set.label);
      if (runner_ != nullptr) continue;  // the runner reports inputs that it refuses
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
    // If no other choice fits: for models that need longer inputs (sound), and for those whose batch is not
    // the first dimension of each input (states of recurrent nodes).
    constexpr OpenSizes kOthers[] = {OpenSizes::of(1, 1024), {1, 1, 256}};
    std::vector<Sizes> choices;
    std::set<std::vector<std::int64_t>> known;
    for (const auto& [first, other] : kChoices) {
      XFLOW_TRY(Sizes sizes, choose_sizes(a_.arena(), a_.inputs(), options_.shapes, OpenSizes::of(first, other)));
      if (known.insert(sizes_of(sizes)).second) choices.push_back(std::move(sizes));
    }
    const std::size_t total = choices.size() * static_cast<std::size_t>(options_.runs);
    wanted_ = total;
    std::optional<Error> first_error;
    std::size_t run = 0;
    for (const Sizes& sizes : choices) {
      for (int k = 0; k < options_.runs; ++k, ++run) {
        const auto ran = run_seeded_at(sizes, run, total);
        if (!ran && (deadline_.is_over() || is_undecided_)) return fail(ran.error());
        if (ran) continue;
        report_.skipped.push_back(ran.error().text());
        ++compared_;
        if (!first_error) first_error = ran.error();
      }
    }
    if (!report_.runs.empty() || !first_error) return {};
    for (const OpenSizes& open : kOthers) {
      XFLOW_TRY(const Sizes sizes, choose_sizes(a_.arena(), a_.inputs(), options_.shapes, open));
      if (known.insert(sizes_of(sizes)).second && run_seeded_at(sizes, run, total + 1)) return {};
      if (deadline_.is_over() || is_undecided_) break;
    }
    first_error->message +=
        a_.runs_as_document() ? "; option 'runner' runs both models in a runtime" : "; give other sizes with option 'shapes'";
    return fail(*first_error);
  }

  // Returns the sizes of all dimensions of the required inputs.
  std::vector<std::int64_t> sizes_of(const Sizes& sizes) const {
    std::vector<std::int64_t> all;
    for (const NamedInput& input : a_.required())
      for (const ir::Poly& dim : a_.arena().type(input.value).shape)
        all.push_back(a_.arena().symbols().evaluate(dim, sizes.valuation()).value_or(-1));
    return all;
  }

  // Errors: those of running A.
  Result<void> run_seeded_at(const Sizes& sizes, std::size_t run, std::size_t total) {
    // The first run draws integers from {0, 1}, which few operators refuse. Later runs try larger integers
    // first.
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

  // `part`: the part of the three runs of a set of inputs that precedes this one.
  std::function<void()> progress(CheckPhase phase, double part, const char* what, std::size_t run, std::size_t total) const {
    return [this, phase, part, what, run, total] {
      if (!options_.progress) return;
      options_.progress({phase, (static_cast<double>(run) + part) / static_cast<double>(total),
                         fmt::format("{}, inputs {} of {}", what, run + 1, total)});
    };
  }

  // Chooses the elements to compare, too.
  Result<std::vector<eval::Tensor>> in_double(const InputSet& set, std::size_t run, std::size_t total) {
    samples_.clear();
    Result<std::vector<eval::Tensor>> reference = fail(ErrorCode::internal, "not run");
    if (runner_ != nullptr) {
      XFLOW_CHECK(runner_->take(set));
      progress(CheckPhase::running_a, 0, "A in the runner", run, total)();
      reference = runner_->run(0, false);
    } else if (const auto fits = a_.accepts(set); !fits) {
      reference = fail(fits.error());
    } else {
      samples_ = choose_samples(a_, b_, set);
      reference = a_.run(set, eval::Number::float64, samples_, progress(CheckPhase::running_a, 0, "A in double", run, total));
    }
    if (!reference) {
      Error error = std::move(reference).error();
      // Keep the name of the operator: the path of the model alone says little.
      error.where = error.where.empty() ? a_.path() : fmt::format("{}: {}", a_.path(), error.where);
      return fail(std::move(error));
    }
    return reference;
  }

  // The models are not compared, whatever other runs find.
  Unexpected undecided_by(const Runnable& model, const std::string& why) {
    is_undecided_ = true;
    return fail(ErrorCode::unsupported, why, model.path());
  }

  // Errors: unsupported if B has a node that cannot be executed, or runs as a document and fails; and for a
  // shape of A's results that depends on rounding. Any other failure of B alone is a difference.
  Result<void> compare(const InputSet& set, const std::vector<eval::Tensor>& reference, std::size_t run, std::size_t total) {
    XFLOW_TRY(const std::vector<eval::Tensor> own,
              runner_ != nullptr
                  ? runner_->run(0, true)
                  : a_.run(set, eval::Number::float32, samples_, progress(CheckPhase::running_a, 1.0 / 3, "A in float", run, total)));
    Result<std::vector<eval::Tensor>> actual = fail(ErrorCode::internal, "not run");
    bool is_run = false;
    if (runner_ != nullptr) {
      progress(CheckPhase::running_b, 2.0 / 3, "B in the runner", run, total)();
      actual = runner_->run(1, false);
    } else if (const auto fits = b_.accepts(set); !fits) {
      actual = fail(fits.error());
    } else {
      is_run = true;
      actual = b_.run(set, eval::Number::float32, samples_, progress(CheckPhase::running_b, 2.0 / 3, "B in float", run, total));
    }
    if (!actual && deadline_.is_over()) return fail(actual.error());
    // A run of a document may end where ONNX defines a result.
    if (!actual && is_run && b_.runs_as_document()) return undecided_by(b_, actual.error().text());
    for (std::size_t k = 0; k < reference.size(); ++k)
      if (reference[k].dims != own[k].dims)
        return undecided_by(a_, fmt::format("the shape of output '{}' depends on rounding", report_.outputs[k].name));
    ++compared_;
    report_.runs.push_back(set.label);
    if (!actual) {
      if (equal_) equal_ = refused(fmt::format("B does not run where A does: {} (for {})", actual.error().text(), set.label));
      return {};
    }
    for (std::size_t k = 0; k < reference.size(); ++k) {
      eval::Comparison comparison =
          eval::compare(reference[k], own[k], (*actual)[k], runner_ != nullptr ? tolerance_in_runner(reference[k]) : eval::Tolerance{});
      CheckReport::Output& output = report_.outputs[k];
      const eval::Comparison& before = worst_[k];
      const bool worse = output.inputs.empty() || (before.agrees && !comparison.agrees) ||
                         (before.agrees == comparison.agrees && comparison.severity() > before.severity());
      if (!worse) continue;
      eval::SampledTensor compared{{reference[k].data_type, reference[k].dims, {}}, eval::whole(reference[k].dims)};
      if (!samples_.empty()) compared.sample = samples_[k];
      if (!comparison.agrees && !compared.all())
        comparison.reason +=
            fmt::format(" of the elements that were checked, [{}] of all", fmt::join(compared.index_of(comparison.worst), ","));
      output.type = type_text(reference[k].data_type, compared.sample);
      output.checked_values = eval::count_of(compared.sample);
      output.values = eval::size_of(compared.sample);
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
  std::size_t compared_ = 0;  // compared sets, and sets that A refuses
  bool is_undecided_ = false;
  ModelsInRunner* runner_;
  std::vector<eval::Sample> samples_;  // of the outputs for the current inputs; empty: all elements
  CheckReport report_;
  Acceptance equal_;                     // refused with the difference
  std::vector<eval::Comparison> worst_;  // over all runs, by output
};

}  // namespace

Result<CheckReport> check_models(const std::string& a, const std::string& b, const CheckOptions& options) {
  const Deadline deadline(options.time_limit.count(), options.cancel);
  const auto open = [&](const std::string& path) -> Result<std::unique_ptr<Runnable>> {
    auto model = Runnable::open(path, options, deadline);
    if (model || model.error().code != ErrorCode::limit || !deadline.is_over()) return model;
    return fail(why_undecided(deadline, "before the models were read"));
  };
  XFLOW_TRY(const auto first, open(a));
  XFLOW_TRY(const auto second, open(b));
  if (options.cancel.is_stopping()) return fail(why_undecided(deadline, ""));
  if (Acceptance same = same_interface(*first, *second); !same) {
    CheckReport report;
    report.difference = std::move(same.reason);
    return report;
  }
  if (!options.runner.empty()) {
    const auto runner = ModelsInRunner::open(*first, *second, options.runner, deadline);
    if (!runner) return fail(options.cancel.is_finishing() ? why_undecided(deadline, "before the runner was started") : runner.error());
    return Check(*first, *second, options, deadline, runner->get()).run();
  }
  XFLOW_CHECK(first->can_execute());
  XFLOW_CHECK(second->can_execute());
  return Check(*first, *second, options, deadline, nullptr).run();
}

}  // namespace xflow::api
