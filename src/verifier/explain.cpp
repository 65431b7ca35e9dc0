#include "src/verifier/explain.h"

namespace xflow::verifier {

namespace {

std::string numbers(const std::vector<std::size_t>& list) {
  std::string text;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (k > 0) text += k + 1 == list.size() ? " and " : ", ";
    text += std::to_string(list[k]);
  }
  return text;
}

std::string maps_of(const Names& names, const Term& term, const Member& member) {
  std::string text;
  for (std::size_t k = 0; k < member.maps.size(); ++k) {
    if (k > 0) text += ", ";
    // An added binder is 0.
    text += (k < term.binders.size() ? names.symbols.info(term.binders[k]).name : std::string("0")) + " = " +
            names.symbols.to_string(member.maps[k]);
  }
  return text.empty() ? text : text + " in " + std::to_string(member.term);
}

}  // namespace

std::string explain(const Names& names, const Proof::OutputProof& proof) {
  if (proof.terms.empty()) return "both sides have the same normal form";
  std::string text;
  for (std::size_t k = 0; k < proof.terms.size(); ++k) text += std::to_string(k) + ": " + to_string(names, proof.terms[k]) + "\n";
  if (!proof.certificate) return text + "no reason was found why these sum to 0";
  for (const Cluster& c : proof.certificate->clusters) {
    std::vector<std::size_t> members;
    std::string maps;
    for (const Member& m : c.members) {
      members.push_back(m.term);
      const std::string here = maps_of(names, proof.terms[m.term], m);
      if (!here.empty()) maps += (maps.empty() ? ", with " : ", ") + here;
    }
    text += numbers(members) + (members.size() == 1 ? " is 0" : " cancel") + maps + "\n";
  }
  if (!proof.certificate->arithmetic.terms.empty())
    text += numbers(proof.certificate->arithmetic.terms) + " sum to 0 by arithmetic on their values\n";
  text.pop_back();
  return text;
}

}  // namespace xflow::verifier
