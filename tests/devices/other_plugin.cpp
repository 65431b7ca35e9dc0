// A library of devices that another build of xflow made.
extern "C" {
__attribute__((visibility("default"))) const char* xflow_plugin_build();
__attribute__((visibility("default"))) void* xflow_plugin();

const char* xflow_plugin_build() { return "xflow 0.0.1, interface 0"; }
void* xflow_plugin() { return nullptr; }
}
