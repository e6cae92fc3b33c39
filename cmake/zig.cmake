# cmake --toolchain cmake/zig.cmake -DZIG_TARGET=<target> ...: cross-compiles for macOS, Windows or musl by
# zig, which PyPI has as ziglang, and which brings the C and C++ libraries of each target. zig on PATH.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG_TARGET)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # linking would build the C++ library once more
find_program(ZIG zig REQUIRED)
string(REPLACE "-" ";" words ${ZIG_TARGET})  # aarch64-macos, x86_64-windows-gnu, x86_64-linux-musl
list(GET words 0 CMAKE_SYSTEM_PROCESSOR)
list(GET words 1 system)
set(system_macos Darwin)
set(system_windows Windows)
set(system_linux Linux)
set(CMAKE_SYSTEM_NAME ${system_${system}})
set(CMAKE_CXX_COMPILER ${ZIG} c++ -target ${ZIG_TARGET})
set(CMAKE_CXX_FLAGS_INIT "-g0 -Xclang -O0")
set(CMAKE_CXX_COMPILER_LAUNCHER "" CACHE STRING "zig has a cache of its own")
# CMake has these as paths, without an argument before the objects.
set(CMAKE_CXX_ARCHIVE_CREATE "\"${ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"${ZIG}\" ranlib <TARGET>")
