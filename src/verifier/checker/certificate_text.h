// Certificates as text that does not depend on the names of one run: symbols are numbered in the order in
// which the normal forms mention them.
//
//   certificate = cluster ... [ "v(" terms ":" component ... ")" ] [ "d(" demand ... ")" ]
//   cluster     = "(" [ size of the space ":" ] member " " ... ")"
//   member      = term [ "[" map "," ... "]" ] [ "<" pairing "," ... ">" ] [ "{" factor ... "}" ]
//   factor      = "." | "f(" certificate "|" ... ")" | "m(" cover ... "/" cover ... ")"
//   cover       = "(" [ size of the space ":" ] by " " ... ")"
//   by          = piece [ "[" map "," ... "]" ] "{" certificate "}"
//   demand      = [ guard "," ... ] cover
//   component   = number [ "{" certificate "}" ]
//
// Maps are polynomials such as z0-2*s3*z1+1: s3 is a free symbol of the normal forms, z1 a symbol of the
// enclosing spaces. Identities are omitted: maps z0,z1,..., pairing 0,1,..., factors that need no proof.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/verifier/proof/proof.h"

namespace xflow::verifier {

// Prints the certificate of a proved output. Error::unsupported: it mentions a symbol that the normal forms
// do not mention.
Result<std::string> write_certificate(const ir::Symbols& symbols, const Proof::OutputProof& proof);

// Parses a certificate, and makes new symbols for the spaces. Error::syntax with the column if the text is
// not a certificate, or mentions a symbol that the normal forms of `proof` do not have.
Result<Certificate> read_certificate(std::string_view text, ir::Symbols& symbols, const Proof::OutputProof& proof);

}  // namespace xflow::verifier
