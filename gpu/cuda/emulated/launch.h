// What the driver of driver.cpp needs of the card of device.cpp.
#pragma once
#include "device.h"

namespace emulated {

struct Grid {
    Dim blocks;
    u32 threads;
    size_t shared;
    bool reversed;
};

enum class Fault { None, Address, Barrier };

// Runs all blocks of a kernel.
Fault launch(const Kernel& kernel, const Grid& grid, const void* parameters);

}  // namespace emulated
