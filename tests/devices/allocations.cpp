#include "tests/devices/allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> own{0};
std::atomic<std::size_t> of_library{0};

bool lies_in(const void* code, const char* object) {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, object) != nullptr;
}

// Functions of the standard library allocate for those that call them.
bool is_of_library(void* caller) {
  if (!lies_in(caller, "libstdc++")) return lies_in(caller, "dnnl");
  std::array<void*, 32> frames{};
  void** const end = frames.data() + backtrace(frames.data(), static_cast<int>(frames.size()));
  void** const user = std::find_if(std::find(frames.data(), end, caller), end, [](void* frame) { return !lies_in(frame, "libstdc++"); });
  return user != end && lies_in(*user, "dnnl");
}

void* allocate(std::size_t bytes, std::size_t alignment, void* caller) {
  if (counting) ++(is_of_library(caller) ? of_library : own);
  alignment = std::max(alignment, sizeof(void*));
  return std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment, void* caller) {
  void* place = allocate(bytes, alignment, caller);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

}  // namespace

// All of them: a sanitizer replaces those that are missing, and what one has given the other must not take back.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t /*bytes*/) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t /*bytes*/) noexcept { std::free(place); }
void operator delete(void* place, std::align_val_t /*alignment*/) noexcept { std::free(place); }
void operator delete[](void* place, std::align_val_t /*alignment*/) noexcept { std::free(place); }
void operator delete(void* place, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept { std::free(place); }
void operator delete(void* place, const std::nothrow_t& /*tag*/) noexcept { std::free(place); }
void operator delete[](void* place, const std::nothrow_t& /*tag*/) noexcept { std::free(place); }
void operator delete(void* place, std::align_val_t /*alignment*/, const std::nothrow_t& /*tag*/) noexcept { std::free(place); }
void operator delete[](void* place, std::align_val_t /*alignment*/, const std::nothrow_t& /*tag*/) noexcept { std::free(place); }

namespace xflow::testing {

Allocations allocations_of(const std::function<void()>& run) {
  own = 0;
  of_library = 0;
  counting = true;
  run();
  counting = false;
  return {own, of_library};
}

}  // namespace xflow::testing
