// The attributes of operators on windows in each form of a rule.
#pragma once

#include <vector>

#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/rules/rule_form.h"
#include "src/rules/rule.h"

namespace xflow::generator {

std::vector<rules::Term::NamedExpression> convolution_attributes(Form form, const Choice& choice);
std::vector<rules::Term::NamedExpression> pool_attributes(Form form, const Choice& choice);

}  // namespace xflow::generator
