// Rules as they are named on the command line: files, folders of *.rules files, names.
#pragma once

#include <string>
#include <vector>

#include "src/rules/rule.h"
#include "src/verifier/checker/records.h"
#include "xflow/result.h"

namespace xflow::cli {

struct SelectedRules {
  std::vector<rules::Rule> rules;   // those that are named, or all
  std::vector<rules::Rule> others;  // of the same files, or of the shipped rules; empty where none is named
  verifier::RecordFile records;     // of the proofs of all, where they were asked for and there are some
};

// All rules of the files, or those that are named: of the files, or of the shipped rules where no file is given.
Result<SelectedRules> select_rules(const std::vector<std::string>& arguments, bool with_records = false);

// All rules of a file or of the *.rules files of a folder. Error::unreadable where there are none.
Result<std::vector<rules::Rule>> read_rules(const std::string& path);

// The equation that the comment above a rule gives, or what else its comment begins with; of a rule without one its terms.
std::string equation_of(const rules::Rule& rule);

}  // namespace xflow::cli
