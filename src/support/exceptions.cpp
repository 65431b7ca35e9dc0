#include "src/support/exceptions.h"

#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace xflow::api {

Error error_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::limit, "out of memory", {}};
  } catch (const std::length_error&) {  // a container exceeded max_size()
    return {ErrorCode::limit, "out of memory", {}};
  } catch (const std::filesystem::filesystem_error& e) {
    return {ErrorCode::io, "cannot be used: " + e.code().message(), e.path1().string()};
  } catch (const std::system_error& e) {
    return {ErrorCode::io, "the system refused a request of xflow: " + e.code().message(), {}};
  } catch (const std::exception& e) {
    return {ErrorCode::internal, "this is a bug in xflow, please report it with the model (" + std::string(e.what()) + ")", {}};
  } catch (...) {
    return {ErrorCode::internal, "this is a bug in xflow, please report it with the model", {}};
  }
}

}  // namespace xflow::api
