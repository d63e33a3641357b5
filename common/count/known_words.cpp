#include "common/count/known_words.hpp"

namespace tile::counting {
namespace {

struct Advice {
  const char* beginning;  // of words
  const char* instead;
};
// The first that fits counts.
const Advice words[] = {
    {"cudaMallocHost", "keep host data in a std::vector"},
    {"cudaHostAlloc", "keep host data in a std::vector"},
    {"cudaMalloc", "write auto a = tile::array<float>(\"a\", n), and hand a.device() to the kernel"},
    {"cudaFree", "leave it out: a tile::array frees itself"},
    {"cudaMemcpy", "fill an array with a.set(values) and read it with a.host()"},
    {"cudaMemset", "fill an array with a.set(std::vector<float>(n))"},
    {"cudaEvent", "leave it out: the model counts and has no clock"},
    {"cudaStream", "leave it out: launches run one after the other"},
    {"cudaError", "leave it out: a launch throws what is wrong with it"},
    {"cudaFunc", "leave it out: tile::launch asks for the shared memory that it is told"},
    {"cudaLaunchKernel", "write tile::launch(kernel, grid, block, shared bytes, arguments...)"},
    {"cudaLaunchCooperativeKernel", "count the kernel without its grid-wide barriers"},
    {"cudaTexture", "the model has no textures: load from an array"},
    {"cudaSurface", "the model has no surfaces: use an array"},
    {"cudaOccupancy", "leave it out: the count says how many blocks fit"},
    {"cuda", "leave it out: only kernels and their launches are counted"},
    {"cublas", "leave it out: only kernels of the file itself are counted"},
    {"curand", "fill arrays on the host: a.set(values)"},
    {"cub", "leave it out: only kernels of the file itself are counted"},
    {"thrust", "leave it out: only kernels of the file itself are counted"},
    {"clock", "leave it out: the model counts and has no clock"},
    {"globaltimer", "leave it out: the model counts and has no clock"},
    {"nvcuda", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"wmma", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"mma", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"tex1D", "the model has no textures: load from an array"},
    {"tex2D", "the model has no textures: load from an array"},
    {"tex3D", "the model has no textures: load from an array"},
    {"surf", "the model has no surfaces: use an array"},
    {"__shfl", "write __shfl_sync(mask, ...), __shfl_down_sync(mask, ...) and so on, as CUDA has since Volta"},
    {"__ballot", "write __ballot_sync(mask, predicate), as CUDA has since Volta"},
    {"__any", "write __any_sync(mask, predicate), as CUDA has since Volta"},
    {"__all", "write __all_sync(mask, predicate), as CUDA has since Volta"},
    {"__cvta_generic_to_shared",
     "inline PTX takes such addresses, and the model has none: write the CUDA function that does it, or the one of "
     "common/cuda/ptx.hpp"},
    {"__v", "the model has no arithmetic on bytes or half words at once: write it out, which changes no access"},
    {"__nv_fp8", "the model has no 8-bit floats yet: count with unsigned char"},
};

// Of headers that are not there, by how they are included.
const Advice headers[] = {
    {"mma.h", "the model has no tensor cores yet: count what loads the fragments as plain loads"},
    {"cuda_fp8", "the model has no 8-bit floats yet: count with unsigned char"},
    {"cub/", "leave it out: only kernels of the file itself are counted"},
    {"thrust/", "leave it out: only kernels of the file itself are counted"},
    {"cutlass/", "leave it out: only kernels of the file itself are counted"},
    {"cute/", "leave it out: only kernels of the file itself are counted"},
    {"torch/", "leave it out: only kernels of the file itself are counted"},
    {"ATen/", "leave it out: only kernels of the file itself are counted"},
    {"c10/", "leave it out: only kernels of the file itself are counted"},
    {"helper_cuda", "leave it out: a launch throws what is wrong with it"},
    {"cooperative_groups/memcpy_async", "write __pipeline_memcpy_async() and its kin, of <cuda_pipeline.h>"},
    {"cuda/pipeline", "write __pipeline_memcpy_async() and its kin, of <cuda_pipeline.h>"},
    {"cuda/", "leave it out: the model has no libcu++; atomicAdd() and its kin, and <cooperative_groups.h>, are there"},
};

template <std::size_t n>
std::string advice_on(const Advice (&known)[n], const std::string& word) {
  for (const Advice& a : known)
    if (word.starts_with(a.beginning)) return a.instead;
  return "";
}

}  // namespace

std::string instead_of(const std::string& word) { return advice_on(words, word); }
std::string instead_of_header(const std::string& name) { return advice_on(headers, name); }

}  // namespace tile::counting
