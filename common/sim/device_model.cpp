// Device: what the SIMT model stands for.
#include "common/cuda/device.hpp"

namespace tile::machine {

const Device& device() {
  static const Device modelled{132, true};  // an H200
  return modelled;
}

}  // namespace tile::machine
