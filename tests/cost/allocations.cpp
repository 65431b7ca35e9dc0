#include "tests/cost/allocations.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::size_t> allocations{0};

bool is_of_library(const void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "dnnl") != nullptr;
}

void* allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (counting && !is_of_library(caller)) ++allocations;
  alignment = std::max(alignment, sizeof(void*));
  void* place = std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
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

namespace xflow::testing {

std::size_t allocations_of(const std::function<void()>& run) {
  allocations = 0;
  counting = true;
  run();
  counting = false;
  return allocations;
}

}  // namespace xflow::testing
