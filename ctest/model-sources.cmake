# Writes the C++ source that the SIMT model compiles for one .cu file: the same text, line for line.
#
# CMake compiles a file as one language per directory, hence the copy; #line keeps file names and line numbers those of
# the .cu. Four constructs are rewritten. `extern __shared__ T name[];`, an array whose size the launch decides, has no meaning
# in C++ and becomes a pointer to the model's block of dynamic shared memory. A constant `__device__` array, or a static constant one
# in a function, whose reads would go uncounted, becomes an error of the compiler that says so. Behind any other `__device__`
# variable that is declared by itself comes a line that makes it known as global memory.
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
set(own_map "[(,][ \t\n]*(const[ \t]+)?CUtensorMap[ \t]+(const[ \t]+)?[A-Za-z_0-9]+[ \t\n]*[,)]")
string(REGEX REPLACE "(__global__[^{};]*${own_map})" "SIMT_NO_GRID_CONSTANT \\1" text "${text}")
# A declaration has no parenthesis before its name's end, a function has; operators are hidden meanwhile.
string(REGEX REPLACE "operator([^A-Za-z0-9_])" "operator(@\\1" text "${text}")
set(name "([A-Za-z_][A-Za-z0-9_]*)")
set(extents "([ \t]*\\[[^];]*\\])*")
set(initialiser "([ \t\n]*=[^;]*|[ \t\n]*{[^;]*})?")
string(REGEX REPLACE "__device__([ \t]+[A-Za-z_][^(){};=,\n[]*[ \t*&])${name}(${extents}${initialiser}[ \t]*;)"
  "SIMT_DEVICE_VARIABLE\\1\\2\\3 static const simt::DeviceVariable simt_variable_\\2(\"\\2\", \\2);" text "${text}")
string(REPLACE "operator(@" "operator" text "${text}")
file(WRITE "${OUTPUT}" "#line 1 \"${SOURCE}\"\n${text}")
