// Of the toolkit, for the model: asynchronous copies as the primitives of cuda_pipeline.h start and await them.
#pragma once

#include "common/cuda/vocabulary.hpp"

SIMT_INLINE void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes) {
  simt::device::async_copy(shared, global, bytes);
}
SIMT_INLINE void __pipeline_commit() { simt::device::commit_async_copies(); }
SIMT_INLINE void __pipeline_wait_prior(int pending) { simt::device::wait_for_async_copies(pending); }
