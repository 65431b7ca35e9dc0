// XFLOW_API marks the functions and classes that libxflow.so exports. The library is compiled with hidden
// visibility, so programs cannot link to a function or class without the mark:
// `XFLOW_API Result<void> f();`, `class XFLOW_API C { ... };`.
#pragma once

// Marks what libxflow.so exports.
#define XFLOW_API __attribute__((visibility("default")))
