// A list that stores its first elements inline, without allocation: index polynomials rarely have more than
// two terms of two symbols.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace xflow::ir {

// The subset of std::vector<T> that polynomials need, with inline storage for N elements. Moving a T must
// not throw.
template <typename T, std::uint32_t N>
class SmallList {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallList() noexcept {}
  SmallList(std::initializer_list<T> list) : SmallList() { append(list.begin(), list.end()); }
  SmallList(const SmallList& other) : SmallList() {
    if (is_plain && other.capacity_ == N) {
      copy_inside(other);
    } else {
      append(other.begin(), other.end());
    }
  }
  SmallList(SmallList&& other) noexcept { take(other); }
  SmallList& operator=(const SmallList& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallList& operator=(SmallList&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallList() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? heap_ : reinterpret_cast<T*>(inside_); }
  const T* data() const { return capacity_ > N ? heap_ : reinterpret_cast<const T*>(inside_); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t k) { return data()[k]; }
  const T& operator[](std::size_t k) const { return data()[k]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(std::size_t wanted) {
    if (wanted > capacity_) grow(static_cast<std::uint32_t>(wanted));
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  // The arguments must not refer to elements of this list.
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) grow(2 * capacity_);
    T* const place = new (end()) T(std::forward<Arguments>(arguments)...);
    ++size_;
    return *place;
  }
  // Inserts before `at`, which must be an iterator of this list.
  void insert(const T* at, T value) {
    const std::ptrdiff_t place = at - data();
    push_back(std::move(value));
    std::rotate(data() + place, end() - 1, end());
  }
  void erase(const T* at) {
    T* const place = data() + (at - data());
    std::move(place + 1, end(), place);
    std::destroy_at(end() - 1);
    --size_;
  }

  friend bool operator==(const SmallList& a, const SmallList& b) { return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin()); }
  friend auto operator<=>(const SmallList& a, const SmallList& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // Whether elements can be copied, moved and destroyed as bytes: one copy of the whole inline storage, no
  // loop.
  static constexpr bool is_plain = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>;

  void copy_inside(const SmallList& other) noexcept {
    std::memcpy(inside_, other.inside_, sizeof inside_);
    size_ = other.size_;
  }
  void append(const T* first, const T* last) {
    reserve(size_ + static_cast<std::size_t>(last - first));
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<std::uint32_t>(last - first);
  }
  void grow(std::uint32_t capacity) {
    T* const larger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), larger);
    std::destroy(begin(), end());
    if (capacity_ > N) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = larger;
    capacity_ = capacity;
  }
  // Moves the elements of `other` into this list, which must be empty. `other` is empty afterwards.
  void take(SmallList& other) noexcept {
    if (other.capacity_ > N) {
      heap_ = other.heap_;
      capacity_ = other.capacity_;
      size_ = other.size_;
      other.capacity_ = N;
    } else if (is_plain) {
      copy_inside(other);
    } else {
      std::uninitialized_move(other.begin(), other.end(), begin());
      std::destroy(other.begin(), other.end());
      size_ = other.size_;
    }
    other.size_ = 0;
  }
  void release() noexcept {
    std::destroy(begin(), end());
    if (capacity_ > N) std::allocator<T>().deallocate(heap_, capacity_);
    capacity_ = N;
    size_ = 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;  // above N: the elements are on the heap
  union {
    T* heap_ = nullptr;
    alignas(T) std::byte inside_[N * sizeof(T)];
  };
};

}  // namespace xflow::ir
