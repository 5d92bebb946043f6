// libnvrtc.so.12 for the emulated driver, which has all kernels already: the image of a source is its name. A source
// with `#error` at the start of a line does not compile.
#include <cstring>
#include <string>

struct Program {
    std::string image, log;
    bool fails;
};

extern "C" {
int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 9, 0; }
int nvrtcCreateProgram(Program** program, const char* source, const char* name, int, const char* const*, const char* const*) {
    bool fails = strncmp(source, "#error", 6) == 0 || strstr(source, "\n#error") != nullptr;
    *program = new Program{std::string("emulated ") + name, fails ? std::string(name) + ": #error" : "", fails};
    return 0;
}
int nvrtcDestroyProgram(Program** program) { return delete *program, *program = nullptr, 0; }
int nvrtcCompileProgram(Program* program, int, const char* const*) { return program->fails ? 6 : 0; }
int nvrtcGetProgramLogSize(Program* program, size_t* size) { return *size = program->log.size() + 1, 0; }
int nvrtcGetProgramLog(Program* program, char* log) { return strcpy(log, program->log.c_str()), 0; }
int nvrtcGetCUBINSize(Program* program, size_t* size) { return *size = program->image.size() + 1, 0; }
int nvrtcGetCUBIN(Program* program, char* image) { return strcpy(image, program->image.c_str()), 0; }
}
