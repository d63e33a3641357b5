// What a launcher asks of the machine before it chooses a kernel. Implemented twice:
// machine_gpu.cu here, and common/sim/machine_model.cpp; the linker picks one.
#pragma once

namespace tile::machine {

struct Device {
  int sms;  ///< streaming multiprocessors
  /// It has mbarriers and the tensor memory accelerator, and the program was compiled to use
  /// them: both begin with compute capability 9.0.
  bool copies_in_bulk;
};

/// The GPU's, asked once; the model stands for an H200.
const Device& device();

}  // namespace tile::machine
