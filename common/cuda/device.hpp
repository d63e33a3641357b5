// What a launcher asks of the machine before it chooses a kernel. Implemented twice:
// device_gpu.cpp here, and common/model/device_model.cpp; the linker picks one.
#pragma once

namespace tile::machine {

struct Device {
  int sms;  ///< streaming multiprocessors
  /// it has mbarriers and the tensor memory accelerator: compute capability 9.0 or newer
  bool copies_in_bulk;
};

/// The GPU's, asked once; the model stands for an H200.
const Device& device();

}  // namespace tile::machine
