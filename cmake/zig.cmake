# cmake --toolchain cmake/zig.cmake -DZIG_TARGET=<target> ...: cross-compiles by the zig on PATH, which PyPI has
# as ziglang: x86_64-linux-musl, whose programs run here; x86_64-windows-gnu, for wine; aarch64-macos.
# Without optimization: the kernels take a quarter of the time, and these programs are not for use.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG_TARGET)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # linking needs a C++ library, which zig compiles first
find_program(ZIG zig REQUIRED)
string(REPLACE "-" ";" words ${ZIG_TARGET})
list(GET words 0 CMAKE_SYSTEM_PROCESSOR)
list(GET words 1 system)
set(system_linux Linux)
set(system_macos Darwin)
set(system_windows Windows)
set(CMAKE_SYSTEM_NAME ${system_${system}})
set(CMAKE_CXX_COMPILER ${ZIG} c++ -target ${ZIG_TARGET})
# zig knows two modes, by the last -O; one compiler's test without -O would compile the libraries twice.
set(CMAKE_CXX_FLAGS_INIT "-O2 -g0 -Xclang -O0")
if(system STREQUAL macos)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${CMAKE_CURRENT_LIST_DIR}/macos")
  set(CMAKE_USER_MAKE_RULES_OVERRIDE ${CMAKE_CURRENT_LIST_DIR}/macos/rules.cmake)
endif()
set(CMAKE_CXX_COMPILER_LAUNCHER "" CACHE STRING "none: zig has a cache of its own")
set(CMAKE_CXX_ARCHIVE_CREATE "\"${ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"${ZIG}\" ranlib <TARGET>")
find_program(CMAKE_NM NAMES llvm-nm llvm-nm-16 llvm-nm-14 REQUIRED)  # that of binutils reads no Mach-O
if(system STREQUAL windows)
  find_program(WINE wine64 PATHS /usr/lib/wine)
  if(WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${WINE})
  endif()
endif()
