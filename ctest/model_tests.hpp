// Helpers for the tests of the SIMT model: traced launches, the model's findings about them, and its counts.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include "common/count/count.hpp"
#include "common/report/chapter.hpp"

/// Gives a test program the command line of the chapters.
#define MODEL_TESTS(what) TILE_CHAPTER(.number = 0, .title = what, .kernels = {}, .counted = {1, 1, 1}, .sizes = {})

/// Runs `work`, on the model with all checks.
template <class Work>
void run(Work work) {
#if TILE_ON_MODEL
  simt::trace(work);
#else
  work();
#endif
}

#if TILE_ON_MODEL

/// Whether `text` contains all these parts; the part "" requires an empty text: no finding. Shows the text if not.
template <class... Parts>
bool says(const std::string& text, const Parts&... parts) {
  const auto has = [&](const std::string& part) {
    return part.empty() ? text.empty() : text.find(part) != std::string::npos;
  };
  const bool all = (has(parts) && ...);
  if (!all) MESSAGE("the model says: ", text);
  return all;
}

/// The model's findings about `work`: the message of its simt::Error, or "".
template <class Work>
std::string said_by(Work work) {
  try {
    work();
  } catch (const simt::Error& e) {
    return e.what();
  }
  return "";
}

/// The argument to pass to a kernel: for an array, its memory.
template <class T>
decltype(auto) argument(T&& value) {
  if constexpr (requires { value.device(); })
    return value.device();
  else
    return std::forward<T>(value);
}

/// The counts of one launch. Arrays may be passed directly.
template <class... Parameters, class... Arguments>
simt::Counts counted(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  return simt::trace([&] { tile::launch(kernel, grid, block, 0, argument(arguments)...); }).front();
}

/// The model's findings about a traced launch.
template <class... Parameters, class... Arguments>
std::string said_of(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  return said_by([&] { counted(kernel, grid, block, arguments...); });
}

/// The model's findings about an untraced launch.
template <class... Parameters, class... Arguments>
std::string said_untraced(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments&&... arguments) {
  return said_by([&] { tile::launch(kernel, grid, block, 0, argument(arguments)...); });
}

/// A test case of one kernel with 1024 elements `out`: the parts that the findings about its traced launch must have.
#define TEST_KERNEL(title, kernel, T, blocks, threads, ...)          \
  static __global__ void kernel(T* out);                             \
  TEST_CASE(title) {                                                 \
    auto out = tile::array<T>("out", 1024);                          \
    CHECK(says(said_of(kernel, blocks, threads, out), __VA_ARGS__)); \
  }                                                                  \
  static __global__ void kernel([[maybe_unused]] T* out)

/// Calls `work` with the blocks of a grid on each of these numbers of host threads.
template <class Work>
void on_host_threads(std::initializer_list<int> numbers, Work work) {
  for (const int number : numbers) {
    CAPTURE(number);
    setenv("SIMT_THREADS", std::to_string(number).c_str(), 1);
    work();
  }
  unsetenv("SIMT_THREADS");
}

/// The only site of an operation in a space of memory.
inline const simt::Site& only_site(const simt::Counts& counts, simt::Op op, simt::Space space) {
  const simt::Site* found = nullptr;
  for (const auto& site : counts.sites)
    if (site.op == op && site.space == space) {
      REQUIRE(found == nullptr);
      found = &site;
    }
  REQUIRE(found != nullptr);
  return *found;
}

#endif
