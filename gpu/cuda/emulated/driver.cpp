// libcuda.so.1 without a card: the functions of the driver that `gpu/src/driver` calls, over the kernels of this
// folder compiled as C++.
//
// A stream is a queue that runs when somebody waits for it, so a result that is read without waiting, or a staging
// buffer that is written again too early, shows. Each allocation lies before a guard page and is filled with NaN.
// Devices 0 and 1 are alike, but that device 1 runs lanes, warps and blocks from the last to the first; device 2 has
// little memory; device 3 is too old; on device 6 kernels return at once; device 7 forgets what is set in a graph (a planted
// mistake of the driver's caller); from device 8 on, device 8 + i runs the kernels with the planted mistake i.
// `emulated_fail`, or TRIBUNAL_EMULATED_FAIL=DEVICE:KIND:N, makes a coming call of a device fail.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>

#include "launch.h"

using namespace emulated;

enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
    ECC_UNCORRECTABLE = 214,
};

// What `emulated_fail` may choose.
enum Kind { FAIL_ALLOCATION = 0, FAIL_LAUNCH = 1, LOSE_DEVICE = 2, FAIL_IMAGE = 3, KINDS = 4 };

namespace {

constexpr size_t PAGE = 4096;
constexpr int NULL_DEVICE = 6, STALE_DEVICE = 7, FIRST_PLANTED = 8;

struct Module {
    u32 variant;
};
struct Function {
    const Kernel* kernel;
    size_t max_shared = 48 << 10;
};

struct Device;
struct Stream {
    Device* device;
    std::mutex running;
    std::vector<std::function<Result()>> queue;
};

struct Device {
    int ordinal = 0;
    bool reversed = false;
    int major = 9, minor = 0;
    size_t memory = (size_t)4 << 30;
    u32 variant = 0;
    // Of the context: an error that stays until the context goes.
    Result lost = SUCCESS;
    int contexts = 0;
    size_t used = 0;
    long calls_until_failure[KINDS] = {-1, -1, -1, -1};
    std::vector<std::shared_ptr<Stream>> streams;
};

// What is global is never destroyed: a program may end while another of its threads calls the driver, as it may with a real one.
// Of kernel variants by name; filled before main by the kernels' files.
std::map<u32, std::map<std::string, Kernel>>& kernels() {
    static auto& all = *new std::map<u32, std::map<std::string, Kernel>>;
    return all;
}

auto& lock = *new std::recursive_mutex;
auto& devices = *new std::map<int, Device>;
struct Allocation {
    Device* device;
    size_t bytes, mapped;
    u8* base;
};
auto& allocations = *new std::map<u64, Allocation>;
auto& pinned = *new std::map<u64, size_t>;
thread_local Device* current = nullptr;

using Guard = std::lock_guard<std::recursive_mutex>;

int count() {
    u32 last = kernels().empty() ? 0 : kernels().rbegin()->first;
    return last == 0 ? 4 : FIRST_PLANTED + (int)last;
}

// The device of an ordinal, or null.
Device* device_of(int ordinal) {
    if (ordinal < 0 || ordinal >= count()) return nullptr;
    Device& device = devices[ordinal];
    device.ordinal = ordinal;
    device.reversed = ordinal == 1;
    if (ordinal == 2) device.memory = (size_t)16 << 20;
    if (ordinal == 3) device.major = 7, device.minor = 5;
    if (ordinal >= FIRST_PLANTED) device.variant = (u32)(ordinal - FIRST_PLANTED + 1);
    return &device;
}

bool fails(Device& device, Kind kind) {
    long& left = device.calls_until_failure[kind];
    if (left < 0) return false;
    return left-- == 0;
}

void set_failure(int ordinal, int kind, long calls) {
    Device* device = device_of(ordinal);
    if (device != nullptr && kind >= 0 && kind < KINDS) device->calls_until_failure[kind] = calls;
}

Result run(Stream& stream) {
    std::lock_guard<std::mutex> one(stream.running);
    std::vector<std::function<Result()>> queue;
    {
        Guard guard(lock);
        queue.swap(stream.queue);
    }
    for (auto& work : queue) {
        if (stream.device->lost != SUCCESS) break;
        Result result = work();
        if (result != SUCCESS) {
            Guard guard(lock);
            stream.device->lost = result;
        }
    }
    return stream.device->lost;
}

Result run_all(Device& device) {
    std::vector<std::shared_ptr<Stream>> streams;
    {
        Guard guard(lock);
        streams = device.streams;
    }
    for (auto& stream : streams) {
        Result result = run(*stream);
        if (result != SUCCESS) return result;
    }
    return device.lost;
}

// The error of the context that is current, or what there is instead of one.
Result ready() {
    if (current == nullptr) return INVALID_CONTEXT;
    return current->lost;
}

void enqueue(Stream* stream, std::function<Result()> work) {
    Guard guard(lock);
    stream->queue.push_back(std::move(work));
}

// Whether a range of host memory was given out by cuMemHostAlloc.
bool is_pinned(const void* at) {
    Guard guard(lock);
    auto next = pinned.upper_bound((u64)at);
    return next != pinned.begin() && (u64)at < std::prev(next)->first + std::prev(next)->second;
}

// Whether the bytes lie in one allocation.
bool is_ours(u64 at, size_t bytes) {
    Guard guard(lock);
    auto next = allocations.upper_bound(at);
    return next != allocations.begin() && at + bytes <= std::prev(next)->first + std::prev(next)->second.bytes;
}

}  // namespace

void emulated::add(u32 variant, const Kernel& kernel) { kernels()[variant][kernel.name] = kernel; }

extern "C" {

// Lets the call number `calls` (from 0) of a kind fail on a device: 0 an allocation, 1 a launch, 2 a launch that takes
// the device with it, 3 an image that it refuses. A negative number takes it back.
void emulated_fail(int ordinal, int kind, long calls) {
    Guard guard(lock);
    set_failure(ordinal, kind, calls);
}

int cuInit(unsigned) {
    Guard guard(lock);
    int ordinal, kind;
    long calls;
    const char* wish = getenv("TRIBUNAL_EMULATED_FAIL");
    if (wish != nullptr && sscanf(wish, "%d:%d:%ld", &ordinal, &kind, &calls) == 3) set_failure(ordinal, kind, calls);
    return SUCCESS;
}
// For tests of an old one, another version may be given.
int cuDriverGetVersion(int* version) {
    const char* given = std::getenv("EMULATED_CUDA_VERSION");
    return *version = given == nullptr ? 12090 : std::atoi(given), SUCCESS;
}
int cuDeviceGetCount(int* n) { return *n = count(), SUCCESS; }
int cuDeviceGet(int* device, int ordinal) {
    Guard guard(lock);
    if (device_of(ordinal) == nullptr) return INVALID_DEVICE;
    return *device = ordinal, SUCCESS;
}
int cuDeviceGetName(char* name, int room, int ordinal) {
    snprintf(name, (size_t)room, "emulated card %d", ordinal);
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, int ordinal) {
    Guard guard(lock);
    return *bytes = device_of(ordinal)->memory, SUCCESS;
}
int cuDeviceGetAttribute(int* value, int attribute, int ordinal) {
    Guard guard(lock);
    const Device& device = *device_of(ordinal);
    switch (attribute) {
        case 16: *value = 4; break;           // multiprocessors
        case 75: *value = device.major; break;
        case 76: *value = device.minor; break;
        case 97: *value = 227 << 10; break;   // shared memory a block may ask for
        default: return INVALID_VALUE;
    }
    return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void** context, int ordinal) {
    Guard guard(lock);
    Device& device = *device_of(ordinal);
    ++device.contexts;
    return *context = &device, SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int ordinal) {
    Guard guard(lock);
    Device& device = *device_of(ordinal);
    if (--device.contexts == 0) device.lost = SUCCESS;
    return SUCCESS;
}
int cuCtxSetCurrent(void* context) { return current = (Device*)context, SUCCESS; }

int cuStreamCreate(void** stream, unsigned) {
    if (Result result = ready()) return result;
    Guard guard(lock);
    current->streams.push_back(std::make_shared<Stream>());
    current->streams.back()->device = current;
    return *stream = current->streams.back().get(), SUCCESS;
}
int cuStreamSynchronize(void* stream) {
    if (Result result = ready()) return result;
    return run(*(Stream*)stream);
}
int cuStreamDestroy_v2(void* stream) {
    Result result = run(*(Stream*)stream);
    Guard guard(lock);
    auto& all = ((Stream*)stream)->device->streams;
    for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].get() == stream) {
            all.erase(all.begin() + (long)i);
            break;
        }
    }
    return result;
}

// An event is the stream that it was recorded in: waiting for it waits for more than it must.
int cuEventCreate(void** event, unsigned) { return *event = new void*(nullptr), SUCCESS; }
int cuEventRecord(void* event, void* stream) { return *(void**)event = stream, ready(); }
int cuEventSynchronize(void* event) {
    if (Result result = ready()) return result;
    void* stream = *(void**)event;
    return stream == nullptr ? SUCCESS : run(*(Stream*)stream);
}
int cuEventDestroy_v2(void* event) { return delete (void**)event, SUCCESS; }

int cuMemAlloc_v2(u64* at, size_t bytes) {
    if (Result result = ready()) return result;
    Guard guard(lock);
    if (bytes == 0) return INVALID_VALUE;
    size_t room = (bytes + 255) / 256 * 256, mapped = (room + PAGE - 1) / PAGE * PAGE + PAGE;
    if (fails(*current, FAIL_ALLOCATION) || current->used + room > current->memory) return OUT_OF_MEMORY;
    u8* base = (u8*)mmap(nullptr, mapped + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return OUT_OF_MEMORY;
    mprotect(base, PAGE, PROT_NONE);
    mprotect(base + mapped, PAGE, PROT_NONE);
    u8* first = base + mapped - room;
    memset(first, 0xff, room);
    current->used += room;
    allocations[(u64)first] = {current, bytes, mapped + PAGE, base};
    return *at = (u64)first, SUCCESS;
}
int cuMemFree_v2(u64 at) {
    Device* device;
    {
        Guard guard(lock);
        auto found = allocations.find(at);
        if (found == allocations.end()) return INVALID_VALUE;
        device = found->second.device;
    }
    Result result = run_all(*device);
    Guard guard(lock);
    const Allocation& gone = allocations[at];
    device->used -= (gone.bytes + 255) / 256 * 256;
    munmap(gone.base, gone.mapped);
    allocations.erase(at);
    return result;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    if (Result result = ready()) return result;
    Guard guard(lock);
    *free = current->memory - current->used;
    return *total = current->memory, SUCCESS;
}
int cuMemHostAlloc(void** at, size_t bytes, unsigned) {
    if (Result result = ready()) return result;
    Guard guard(lock);
    *at = malloc(bytes);
    pinned[(u64)*at] = bytes;
    return SUCCESS;
}
int cuMemFreeHost(void* at) {
    Guard guard(lock);
    pinned.erase((u64)at);
    free(at);
    return SUCCESS;
}

// From pageable memory the driver has copied when it returns; pinned memory is read when the stream comes to it.
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream) {
    if (Result result = ready()) return result;
    if (!is_ours(to, bytes)) return INVALID_VALUE;
    if (is_pinned(from)) {
        enqueue((Stream*)stream, [=] { return memcpy((void*)to, from, bytes), SUCCESS; });
    } else {
        auto copy = std::make_shared<std::vector<u8>>((const u8*)from, (const u8*)from + bytes);
        enqueue((Stream*)stream, [=] { return memcpy((void*)to, copy->data(), bytes), SUCCESS; });
    }
    return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream) {
    if (Result result = ready()) return result;
    if (!is_ours(from, bytes)) return INVALID_VALUE;
    enqueue((Stream*)stream, [=] { return memcpy(to, (const void*)from, bytes), SUCCESS; });
    return SUCCESS;
}
int cuMemsetD8Async(u64 at, unsigned char value, size_t bytes, void* stream) {
    if (Result result = ready()) return result;
    if (!is_ours(at, bytes)) return INVALID_VALUE;
    enqueue((Stream*)stream, [=] { return memset((void*)at, value, bytes), SUCCESS; });
    return SUCCESS;
}

// An image is the text that the emulated compiler gives (nvrtc.cpp).
int cuModuleLoadData(void** module, const void* image) {
    if (Result result = ready()) return result;
    if (fails(*current, FAIL_IMAGE) || strncmp((const char*)image, "emulated ", 9) != 0) return INVALID_IMAGE;
    return *module = new Module{current->variant}, SUCCESS;
}
int cuModuleUnload(void* module) {
    delete (Module*)module;
    return SUCCESS;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    static auto& functions = *new std::map<const Kernel*, Function>;
    Guard guard(lock);
    for (u32 variant : {((Module*)module)->variant, 0u}) {
        auto found = kernels()[variant].find(name);
        if (found == kernels()[variant].end()) continue;
        Function& there = functions[&found->second];
        there.kernel = &found->second;
        return *function = &there, SUCCESS;
    }
    return NOT_FOUND;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
    if (attribute != 8 || value > 227 << 10) return INVALID_VALUE;
    ((Function*)function)->max_shared = (size_t)value;
    return SUCCESS;
}

// A kernel with its arguments, taken at the call.
struct Node {
    const Function* called;
    Grid grid;
    std::shared_ptr<std::vector<u8>> parameters;
};
// What cuGraphAddKernelNode_v2 is given.
struct NodeParams {
    void* function;
    unsigned gx, gy, gz, bx, by, bz, shared;
    void** parameters;
    void** extra;
    void *kernel, *context;
};

static Result make_node(const NodeParams& of, Node& node) {
    const Function& called = *(Function*)of.function;
    const Kernel& kernel = *called.kernel;
    bool empty = (u64)of.gx * of.gy * of.gz == 0, wide = of.gy > 65535 || of.gz > 65535;
    if (empty || wide || of.by != 1 || of.bz != 1 || of.bx == 0 || of.bx > kernel.threads ||
        of.shared > called.max_shared)
        return INVALID_VALUE;
    auto bytes = (u8*)of.parameters[0];
    auto copy = std::make_shared<std::vector<u8>>(bytes, bytes + kernel.parameters);
    node = {&called, {{of.gx, of.gy, of.gz}, of.bx, of.shared, current->reversed}, copy};
    return SUCCESS;
}

static Result start(const Node& node, Stream* stream) {
    Device& device = *current;
    bool lost;
    {
        Guard guard(lock);
        if (fails(device, FAIL_LAUNCH)) return OUT_OF_RESOURCES;
        lost = fails(device, LOSE_DEVICE);
    }
    if (device.ordinal == NULL_DEVICE) return SUCCESS;
    enqueue(stream, [=] {
        if (lost) return ECC_UNCORRECTABLE;
        switch (launch(*node.called->kernel, node.grid, node.parameters->data())) {
            case Fault::None: return SUCCESS;
            case Fault::Address: return ILLEGAL_ADDRESS;
            case Fault::Barrier: return LAUNCH_FAILED;
        }
        return LAUNCH_FAILED;
    });
    return SUCCESS;
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void**) {
    if (Result result = ready()) return result;
    Node node;
    if (Result result = make_node({function, gx, gy, gz, bx, by, bz, shared, parameters, nullptr, nullptr, nullptr}, node))
        return result;
    return start(node, (Stream*)stream);
}

// A graph is a chain: each node depends on the one before. A started graph runs the arguments of the time of its start.
typedef std::vector<std::unique_ptr<Node>> Graph;
struct StartedGraph {
    const Graph* of;
    std::vector<Node> nodes;
};

int cuGraphCreate(void** graph, unsigned) {
    if (Result result = ready()) return result;
    return *graph = new Graph(), SUCCESS;
}
int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* before, size_t n, const NodeParams* of) {
    if (Result result = ready()) return result;
    Graph& all = *(Graph*)graph;
    bool chained = all.empty() ? n == 0 : n == 1 && before[0] == all.back().get();
    if (!chained) return INVALID_VALUE;
    auto made = std::make_unique<Node>();
    if (Result result = make_node(*of, *made)) return result;
    *node = made.get();
    all.push_back(std::move(made));
    return SUCCESS;
}
int cuGraphInstantiateWithFlags(void** started, void* graph, u64) {
    if (Result result = ready()) return result;
    Guard guard(lock);
    if (fails(*current, FAIL_ALLOCATION)) return OUT_OF_MEMORY;
    auto made = new StartedGraph{(Graph*)graph, {}};
    for (const auto& node : *made->of) made->nodes.push_back(*node);
    return *started = made, SUCCESS;
}
int cuGraphExecKernelNodeSetParams_v2(void* started, void* node, const NodeParams* of) {
    if (Result result = ready()) return result;
    StartedGraph& graph = *(StartedGraph*)started;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        if ((*graph.of)[i].get() != node) continue;
        if (of->function != graph.nodes[i].called) return INVALID_VALUE;
        Node changed;
        if (Result result = make_node(*of, changed)) return result;
        if (current->ordinal != STALE_DEVICE) graph.nodes[i] = changed;
        return SUCCESS;
    }
    return INVALID_VALUE;
}
int cuGraphLaunch(void* started, void* stream) {
    if (Result result = ready()) return result;
    for (const Node& node : ((StartedGraph*)started)->nodes) {
        if (Result result = start(node, (Stream*)stream)) return result;
    }
    return SUCCESS;
}
int cuGraphExecDestroy(void* started) { return delete (StartedGraph*)started, SUCCESS; }
int cuGraphDestroy(void* graph) { return delete (Graph*)graph, SUCCESS; }

static const char* text(int error) {
    switch (error) {
        case OUT_OF_MEMORY: return "out of memory";
        case INVALID_VALUE: return "invalid argument";
        case INVALID_DEVICE: return "invalid device ordinal";
        case INVALID_IMAGE: return "device kernel image is invalid";
        case NOT_FOUND: return "named symbol not found";
        case ILLEGAL_ADDRESS: return "an illegal memory access was encountered";
        case OUT_OF_RESOURCES: return "too many resources requested for launch";
        case LAUNCH_FAILED: return "unspecified launch failure";
        case ECC_UNCORRECTABLE: return "uncorrectable ECC error encountered";
        default: return "unknown error";
    }
}
int cuGetErrorName(int error, const char** name) { return *name = text(error), SUCCESS; }
int cuGetErrorString(int error, const char** string) { return *string = text(error), SUCCESS; }
}
