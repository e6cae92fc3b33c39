# cmake -DNM=... -DOBJECT=... -DSTAMP=... -P check_symbols.cmake
# Fails if an ISA object defines a function that other objects see: the linker would merge a weak or
# unique one with another ISA's copy, and an old CPU would run instructions that it lacks. Formats
# other than ELF do not say which are weak. Fails also if the object runs code when loaded.
execute_process(COMMAND ${NM} ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* ([wWvVuT]|t _?_GLOBAL__sub_I_)[^\n]*" offenders "${symbols}")
if(offenders)
  list(JOIN offenders "\n  " offenders)
  message(FATAL_ERROR "Functions, weak symbols, or code run at load, in ${OBJECT}:\n  ${offenders}\n"
    "Put what it includes into an anonymous namespace, and use no standard library there.")
endif()
file(TOUCH ${STAMP})
