#include "src/capi/handles.h"

using xflow::Result;
using xflow::capi::clear;
using xflow::capi::give;
using xflow::capi::guarded;

xflow_status xflow_devices_list(xflow_devices** devices, xflow_error** error) {
  clear(devices);
  return guarded(error, [&]() -> Result<void> {
    give(devices, xflow::devices());
    return {};
  });
}

size_t xflow_devices_size(const xflow_devices* devices) { return devices == nullptr ? 0 : devices->devices.size(); }
const char* xflow_devices_name(const xflow_devices* devices, size_t number) {
  return number < xflow_devices_size(devices) ? devices->devices[number].name.c_str() : "";
}
const char* xflow_devices_text(const xflow_devices* devices, size_t number) {
  return number < xflow_devices_size(devices) ? devices->devices[number].text.c_str() : "";
}
bool xflow_devices_is_usable(const xflow_devices* devices, size_t number) {
  return number < xflow_devices_size(devices) && devices->devices[number].usable;
}
void xflow_devices_free(xflow_devices* devices) { delete devices; }
