# Of -bundle, which CMake takes for a module, zig 0.17.1 dies.
set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -shared)
