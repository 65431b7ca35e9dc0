// XFLOW_API marks what libxflow.so exports. The library is compiled with hidden visibility, so a public function or class without it
// cannot be linked to: `XFLOW_API Result<void> f();`, `class XFLOW_API C { ... };`.
#pragma once

#define XFLOW_API __attribute__((visibility("default")))
