# cmake -DNM=... -DOBJECT=... -DSTAMP=... -P check_symbols.cmake
# Fails if an ISA object holds a weak or unique symbol: the linker would merge it with another ISA's
# copy, and an old CPU would run instructions that it lacks. Fails also if it runs code when loaded.
execute_process(COMMAND ${NM} ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* ([wWvVu] |t _GLOBAL__sub_I_)[^\n]*" offenders "${symbols}")
if(offenders)
  list(JOIN offenders "\n  " offenders)
  message(FATAL_ERROR "Weak symbols, or code run at load, in ${OBJECT}:\n  ${offenders}\n"
    "Put what it includes into an anonymous namespace, and use no standard library there.")
endif()
file(TOUCH ${STAMP})
