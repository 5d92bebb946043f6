"""Makes forks of this interpreter cheap. None of it changes what a fork does.

A fork costs by the pages of its parent, and each page that it writes to or that is mapped from a file costs
another one or two microseconds when it is first touched.
"""

HUGE_PAGE = 2 << 20
MADV_HUGEPAGE = 14
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MAP_PRIVATE, MAP_ANONYMOUS, MREMAP_MAYMOVE, MREMAP_FIXED = 2, 32, 1, 2

# What a common solution does. Run often before the first fork, it fills the interpreter's caches, each
# entry of which a fork would write to a page of its own.
COMMON = """
import sys
a, b = map(int, input().split())
print(a + b)
def read(line):
    return [int(word) for word in line.split()]
for line in sys.stdin:
    numbers = read(line)
    numbers.append(len(numbers)); numbers.sort()
    print(sum(numbers), max(numbers), min(numbers), *numbers)
    counts = {}
    for index, number in enumerate(numbers):
        counts[number] = counts.get(number, 0) + index
    print(" ".join(map(str, numbers)), f"{counts}", sorted(counts.items()), sep="", end="\\n".strip())
"""


def warm_up():
    """Runs a common solution until the interpreter has nothing left to learn from it."""
    main, code = sys.modules["__main__"], compile_source(COMMON)
    for _ in range(20):
        for file in (STDIN, STDOUT):
            empty(file)
        empty(STDIN, b"1 2\n3 4 5\n6 7\n")
        redirect()
        if guarded(lambda: load(code, "__main__")) != 0:
            os._exit(1)
        sys.stdout.flush()
    for file in (STDIN, STDOUT, STDERR):
        empty(file)
    sys.modules["__main__"] = main
    redirect()


def shrink():
    """Gives unused memory back, and keeps the collector of garbage from writing to what is there."""
    gc = __import__("gc")
    gc.collect()
    gc.freeze()
    if hasattr(PLAIN_LIBC, "malloc_trim"):
        PLAIN_LIBC.malloc_trim(0)


def read_only_blocks():
    """The aligned blocks of a huge page's size that are mapped from programs and cannot be written to."""
    spans = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, mode, _, _, _, *name = line.split()
            if not name or name[0][0] != "/" or mode[:2] != "r-" or mode[3] != "p":
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            if spans and spans[-1][1] == start:
                spans[-1][1] = end
            else:
                spans.append([start, end])
    for start, end in spans:
        first = -(-start // HUGE_PAGE) * HUGE_PAGE
        yield from range(first, end - HUGE_PAGE + 1, HUGE_PAGE)


def is_huge(address):
    """Whether the mapping that starts at `address` is on a huge page."""
    with open("/proc/self/smaps") as maps:
        lines = iter(maps)
        for line in lines:
            if line.startswith(f"{address:x}-"):
                return any(line.startswith("AnonHugePages:") and " 0 kB" not in line for line in lines)
    return False


def use_huge_pages():
    """Moves the interpreter's code and constants to huge pages, where the kernel has them: a fork then finds
    all of it mapped. Memory that it writes to cannot be moved under it."""
    size = ctypes.c_size_t(HUGE_PAGE)
    LIBC.mmap.restype = ctypes.c_void_p
    for block in list(read_only_blocks()):
        length = ctypes.c_size_t(2 * HUGE_PAGE)
        made = LIBC.mmap(None, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, ctypes.c_long(0))
        if made == ctypes.c_void_p(-1).value:
            return
        start = -(-made // HUGE_PAGE) * HUGE_PAGE
        for first, end in ((made, start), (start + HUGE_PAGE, made + 2 * HUGE_PAGE)):
            if first < end:
                check(LIBC.munmap(ctypes.c_void_p(first), ctypes.c_size_t(end - first)))
        place = ctypes.c_void_p(start)
        LIBC.madvise(place, size, MADV_HUGEPAGE)
        ctypes.memmove(place, block, HUGE_PAGE)
        # Small pages would be copied one by one.
        if not is_huge(start) or LIBC.mprotect(place, size, PROT_READ | PROT_EXEC) != 0:
            check(LIBC.munmap(place, size))
            return
        # Equal bytes take the place of those that run.
        LIBC.mremap.restype = ctypes.c_void_p
        LIBC.mremap(place, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, ctypes.c_void_p(block))
