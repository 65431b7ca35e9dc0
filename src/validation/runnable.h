// A model of `xflow check` that is ready to run.
#pragma once

#include <xflow/check.h>
#include <xflow/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/check_inputs.h"
#include "src/validation/deadline.h"
#include "src/validation/original_run.h"

namespace xflow::api {

class Runnable {
 public:
  // Opens and lifts a model. `deadline` ends the runs of the model and must outlive it.
  static Result<std::unique_ptr<Runnable>> open(const std::string& path, const CheckOptions& options, const Deadline& deadline);

  const std::string& path() const { return path_; }
  const ir::Arena& arena() const { return arena_; }
  const onnx_io::Document& document() const { return document_; }
  const std::vector<NamedInput>& inputs() const { return inputs_; }
  // Inputs without defaults.
  const std::vector<NamedInput>& required() const { return required_; }
  std::vector<std::string_view> input_names() const { return lifted_.input_names; }
  const onnx_io::DeclaredType& declared_input(std::string_view name) const;

  // Error::unsupported, "cannot execute: Frobnicate at NAME", if an output depends on a node that xflow has
  // no operator for. If such a node reads results of a node of only_documents_run, only a run decides.
  Result<void> can_execute();
  // Whether runs are those of run_document, because an output depends on a node of only_documents_run. Known
  // after can_execute().
  bool runs_as_document() const { return runs_as_document_; }
  // Error::ill_typed for a tensor that does not have the declared type; unsupported for sizes that an
  // operator refuses.
  Result<void> accepts(const InputSet& set);
  // The outputs. With `samples`, the chosen elements of each, as a whole run computes them.
  Result<std::vector<eval::Tensor>> run(const InputSet& set, eval::Number number, std::span<const eval::Sample> samples,
                                        const std::function<void()>& progress);

  // The sizes of the outputs for inputs that the model accepts.
  Result<std::vector<std::vector<std::int64_t>>> output_dims(const InputSet& set);
  // What run() takes: without samples, and for a sample of output `k` by itself. Error::unsupported if
  // runs_as_document().
  Result<RunBounds> needs(const InputSet& set);
  Result<RunBounds> needs(const InputSet& set, std::size_t k, const eval::Sample& sample);

 private:
  Runnable(onnx_io::Document document, std::string path, const Deadline& deadline)
      : document_(std::move(document)), path_(std::move(path)), deadline_(deadline) {}

  eval::Bindings bindings(const InputSet& set) const;
  eval::Options options() const;
  // The same, with the sizes that the bound values determine.
  Result<eval::Options> sized_options(const eval::Bindings& bindings) const;
  Result<void> set_default(std::string_view name, ir::ValueId value, std::uint32_t initializer);
  Result<void> bind_strings(ir::ValueId value, const onnx_io::TensorView& tensor);
  // Binds constants of strings like inputs, because they are opaque in the graph.
  Result<void> bind_strings();
  // Returns "If at NAME"; a node without a name is named by its first output.
  std::string name_of(const ir::Node& node) const;

  onnx_io::Document document_;
  std::string path_;
  const Deadline& deadline_;
  ir::Arena arena_;
  onnx_io::LiftedModel lifted_;
  ir::Graph graph_;
  std::vector<NamedInput> inputs_;
  std::vector<NamedInput> required_;
  eval::Bindings defaults_;
  bool runs_as_document_ = false;
};

}  // namespace xflow::api
