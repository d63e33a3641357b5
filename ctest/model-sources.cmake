# Writes the C++ source that the SIMT model compiles for one .cu file: the same text, line for line.
#
# CMake compiles a file as one language per directory, hence the copy; #line keeps file names and line numbers those of
# the .cu. Two constructs are rewritten. `extern __shared__ T name[];`, an array whose size the launch decides, has no meaning
# in C++ and becomes a pointer to the model's block of dynamic shared memory. A constant `__device__` array, or a static constant one
# in a function, whose reads would go uncounted, becomes an error of the compiler that says so.
#
# Usage: cmake -DSOURCE=chapter.cu -DOUTPUT=chapter.cpp -P model-sources.cmake
file(READ "${SOURCE}" text)
string(REGEX REPLACE "(extern[ \t]+__shared__[^;]*)__align__[ \t]*\\([^)]*\\)" "\\1" text "${text}")
string(REGEX REPLACE
  "extern[ \t]+__shared__[ \t]+([^;]*[^A-Za-z0-9_;])([A-Za-z_][A-Za-z0-9_]*)[ \t]*\\[[ \t]*\\][ \t]*;"
  "auto* const \\2 = static_cast<\\1*>(simt::device::dynamic_shared(\"\\2\"));" text "${text}")
set(words "([A-Za-z_0-9:]+([ \t]*\\([0-9]+\\))?[ \t]+)*")
set(table "[^(){};=]*\\[")
string(REGEX REPLACE "(__device__[ \t]+${words}const(expr)?[ \t]${table})" "SIMT_NO_TABLE \\1" text "${text}")
string(REGEX REPLACE "(const(expr)?[ \t]+${words}__device__[ \t]${table})" "SIMT_NO_TABLE \\1" text "${text}")
string(REGEX REPLACE "(\n[ \t]+static[ \t]+const(expr)?[ \t]${table})" "SIMT_NO_TABLE \\1" text "${text}")
file(WRITE "${OUTPUT}" "#line 1 \"${SOURCE}\"\n${text}")
