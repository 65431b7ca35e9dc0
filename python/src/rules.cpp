// Rules, their proofs, and the generator.
#include <nanobind/make_iterator.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"

namespace xflow_python {
namespace {

using xflow::RuleDecision;
using xflow::RuleInfo;
using xflow::RuleSet;

std::vector<RuleDecision> verify(const RuleSet& rules, std::optional<double> max_time, int jobs, const xflow::CancellationToken& cancel) {
  xflow::VerifyOptions options;
  if (max_time) options.max_time = xflow::Seconds(*max_time);
  options.jobs = jobs;
  options.cancel = cancel;
  Call call(cancel);
  return call.run(OnInterrupt::stop, [&] { return xflow::verify(rules, options); });
}

using GenerateProgress = std::function<nb::object(const xflow::GenerateProgress&)>;

xflow::GenerateSummary generate(const std::string& out, const std::string& preset, std::vector<std::string> operators,
                                std::size_t max_operators, std::size_t inputs, bool pairs, const std::string& beside,
                                const std::string& name, int jobs, const xflow::CancellationToken& cancel,
                                const std::optional<GenerateProgress>& progress) {
  xflow::GenerateOptions options;
  options.operators = std::move(operators);
  if (!preset.empty()) {
    for (std::string& one : value_of(xflow::generator_preset(preset))) options.operators.push_back(std::move(one));
  }
  options.max_operators = max_operators;
  options.inputs = inputs;
  options.pairs = pairs;
  options.beside = beside;
  options.out = out;
  options.name = name;
  options.jobs = jobs;
  options.cancel = cancel;
  Call call(cancel);
  if (progress) {
    options.progress = [&](const xflow::GenerateProgress& now) { call.in_python([&] { (*progress)(now); }); };
  }
  return call.run(OnInterrupt::stop, [&] { return xflow::generate(options); });
}

const RuleInfo& rule_at(const RuleSet& rules, Py_ssize_t number) {
  const auto size = static_cast<Py_ssize_t>(rules.size());
  if (number < 0) number += size;
  if (number < 0 || number >= size) throw nb::index_error("no rule of that number");
  return rules.rule(static_cast<std::size_t>(number));
}

void bind_sets(nb::module_& module) {
  nb::class_<RuleInfo>(module, "RuleInfo", "A rule of a set.")
      .def_ro("name", &RuleInfo::name)
      .def_ro("equation", &RuleInfo::equation)
      .def_ro("guards", &RuleInfo::guards)
      .def_ro("place", &RuleInfo::place, "\"file:line:column\"")
      .def_ro("hash", &RuleInfo::hash, "Hash of the text without the comment: 32 hexadecimal digits.")
      .def_ro("float_effects", &RuleInfo::float_effects)
      .def_prop_ro(
          "float_class", [](const RuleInfo& rule) { return xflow::to_string(rule.float_class); }, "\"exact\", \"rounding\" or \"special\".")
      .def("__repr__", [](const RuleInfo& rule) { return "<rule " + rule.name + ">"; });
  nb::class_<RuleSet>(module, "Rules", "An immutable list of rules, parsed and type-checked, which need not be proved (see verify).")
      .def_static(
          "shipped", [] { return value_of(RuleSet::shipped()); }, "The rules that are built into the library.")
      .def_static(
          "read", [](const std::vector<std::string>& paths) { return value_of(RuleSet::read(paths)); }, nb::arg("paths"),
          "All rules of files and of the *.rules files of folders. Errors: unreadable, syntax, ill_typed.")
      .def_static(
          "parse", [](const std::string& text, const std::string& file) { return value_of(RuleSet::parse(text, file)); }, nb::arg("text"),
          nb::arg("file") = "<text>", "The rules of a text; errors name it `file`. Errors: syntax, ill_typed.")
      .def("__len__", &RuleSet::size)
      .def("__getitem__", &rule_at, nb::arg("number"), nb::rv_policy::copy)
      .def("text", &RuleSet::text, "The text of all rules, as a rule file.")
      .def(
          "describe",
          [](const RuleSet& rules, Py_ssize_t number) {
            rule_at(rules, number);
            return rules.describe(static_cast<std::size_t>(number < 0 ? number + static_cast<Py_ssize_t>(rules.size()) : number));
          },
          nb::arg("number"), "A description of a rule for people.")
      .def(
          "write",
          [](const RuleSet& rules, const std::string& path) {
            if (auto written = rules.write(path); !written) throw Failure{written.error()};
          },
          nb::arg("path"), "Writes text() to a file in one step. Errors: io.");
}

}  // namespace

void bind_rules(nb::module_& module) {
  bind_sets(module);
  nb::class_<RuleDecision>(module, "RuleDecision", "What was found out about a rule.")
      .def_ro("rule", &RuleDecision::rule)
      .def_prop_ro(
          "verdict", [](const RuleDecision& decision) { return xflow::to_string(decision.verdict); },
          "\"proved\", \"refuted\", \"unknown\", \"ill-typed\" or \"timeout\".")
      .def_prop_ro("proved", [](const RuleDecision& decision) { return decision.verdict == xflow::Verdict::proved; })
      .def_prop_ro(
          "time", [](const RuleDecision& decision) { return decision.time.count(); }, "Processor time in seconds.")
      .def_ro("open", &RuleDecision::open, "The open question of a rule that is neither proved nor refuted.")
      .def_ro("needed_guards", &RuleDecision::needed_guards)
      .def_ro("missing_guards", &RuleDecision::missing_guards)
      .def_prop_ro(
          "counterexample",
          [](const RuleDecision& decision) {
            return decision.counterexample ? std::optional(decision.counterexample->text) : std::nullopt;
          },
          "Sizes and entries on which the sides differ, for a refuted rule.")
      .def("__repr__", [](const RuleDecision& decision) { return "<" + decision.rule + ": " + xflow::to_string(decision.verdict) + ">"; });
  nb::class_<xflow::GenerateProgress>(module, "GenerateProgress")
      .def_prop_ro("phase", [](const xflow::GenerateProgress& now) { return xflow::to_string(now.phase); })
      .def_ro("fraction", &xflow::GenerateProgress::fraction, "The done part of the phase, from 0 to 1.")
      .def_ro("message", &xflow::GenerateProgress::message);
  nb::class_<xflow::GenerateSummary>(module, "GenerateSummary")
      .def_ro("graphs", &xflow::GenerateSummary::graphs, "Enumerated graphs.")
      .def_ro("candidates", &xflow::GenerateSummary::candidates, "Pairs of graphs that seem equal.")
      .def_ro("rules", &xflow::GenerateSummary::rules, "Kept rules.")
      .def_ro("unproved", &xflow::GenerateSummary::unproved, "Candidates without a proof.");
  module.def("verify", &verify, nb::arg("rules"), nb::arg("max_time").none(), nb::arg("jobs"), nb::arg("cancel"));
  module.def("generate", &generate, nb::arg("out"), nb::arg("preset"), nb::arg("operators"), nb::arg("max_operators"), nb::arg("inputs"),
             nb::arg("pairs"), nb::arg("beside"), nb::arg("name"), nb::arg("jobs"), nb::arg("cancel"), nb::arg("progress").none());
}

}  // namespace xflow_python
