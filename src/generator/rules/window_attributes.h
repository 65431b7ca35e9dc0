// The attributes of operators on windows in each generalisation of a rule.
#pragma once

#include <vector>

#include "src/generator/enumerate/graph_signature.h"
#include "src/generator/rules/generalisation.h"
#include "src/rules/rule.h"

namespace xflow::generator {

std::vector<rules::Term::NamedExpression> convolution_attributes(Generalisation generalisation, const Choice& choice);
std::vector<rules::Term::NamedExpression> pool_attributes(Generalisation generalisation, const Choice& choice);

}  // namespace xflow::generator
