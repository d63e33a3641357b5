// A replacement for the driver's NVML, for the test of clocks.hpp: it has one GPU, whose SM clock falls with every query.
extern "C" {

int nvmlInit_v2() { return 0; }

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  const char text[] = "123.45.6";
  if (length < sizeof text) return 7;
  for (unsigned i = 0; i < sizeof text; ++i) version[i] = text[i];
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  static int gpu;
  if (pci_bus_id[0] != '0') return 6;
  *device = &gpu;
  return 0;
}

int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  static unsigned sm = 2000;
  *mhz = type == 1 ? --sm : 3201;
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = 123456, 0; }
int nvmlDeviceGetPowerManagementLimit(void*, unsigned* milliwatts) { return *milliwatts = 700000, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 45, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) { return *reasons = 0x1 | 0x4, 0; }
}
