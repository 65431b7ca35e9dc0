// What a model or a rule looks like, for people.
#pragma once

#include <xflow/result.h>

#include <string>
#include <vector>

namespace xflow::api {

// Format and opsets, inputs, outputs, operators by count, constants, and what the optimiser does not cross.
// `allow_external`: see OptimizeOptions. Errors as Document::open.
Result<std::string> show_model(const std::string& path, const std::vector<std::string>& allow_external = {});

// A shipped rule: its text, and what was found of it. Error::invalid_argument, with similar names, if there is none of that name.
Result<std::string> show_rule(const std::string& name);
// All rules of a file, printed. Errors: io, syntax, ill_typed.
Result<std::string> show_rules(const std::string& path);

}  // namespace xflow::api
