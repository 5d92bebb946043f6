"""Makes forks of this interpreter cheap. None of it changes what a fork does.

A fork costs by the pages of its parent, and each page that it writes to or that is mapped from a file costs
another one or two microseconds when it is first touched.
"""

PAGE, HUGE_PAGE = os.sysconf("SC_PAGE_SIZE"), 2 << 20
MADV_HUGEPAGE = 14
# Of the interpreter's allocator: what it takes from the system for blocks of one size, and the head of that.
POOL, POOL_HEAD = 16 << 10, 48
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
        if run(code, new_module("__main__")) != 0:
            os._exit(1)
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


def fill_pools():
    """Takes the blocks of memory that are free among others, and returns them: what is allocated while they are kept
    lies together, on few pages."""
    taken = []
    for size in range(16, 513, 16):
        # No more than any interpreter has.
        for _ in range(4096):
            block = object() if size == 16 else len(taken) | 1 << 40 if size == 32 else bytes(size - 33)
            taken.append(block)
            if id(block) % POOL == POOL_HEAD:
                break
    return taken


def mappings():
    """Start, end, mode and name of every mapping of this process."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, mode, _, _, _, *name = line.split()
            start, end = (int(part, 16) for part in span.split("-"))
            yield start, end, mode, name[0] if name else ""


def read_only_blocks():
    """The aligned blocks of a huge page's size that are mapped from programs and cannot be written to."""
    spans = []
    for start, end, mode, name in mappings():
        if name.startswith("/") and mode[:2] == "r-" and mode[3] == "p":
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


def unmap(start, end):
    if start < end:
        check(LIBC.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start)))


def new_memory(size):
    """The address of new memory; 0 if there is none."""
    LIBC.mmap.restype = ctypes.c_void_p
    flags = MAP_PRIVATE | MAP_ANONYMOUS
    made = LIBC.mmap(None, ctypes.c_size_t(size), PROT_READ | PROT_WRITE, flags, -1, ctypes.c_long(0))
    return 0 if made == ctypes.c_void_p(-1).value else made


def new_huge_pages(size):
    """The address of new memory that the kernel gives huge pages if it has them; 0 if there is none."""
    made = new_memory(size + HUGE_PAGE)
    if not made:
        return 0
    start = -(-made // HUGE_PAGE) * HUGE_PAGE
    unmap(made, start)
    unmap(start + size, made + size + HUGE_PAGE)
    LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), MADV_HUGEPAGE)
    return start


def use_huge_pages():
    """Moves the interpreter's code and constants to huge pages, where the kernel has them: a fork then finds
    all of it mapped."""
    size = ctypes.c_size_t(HUGE_PAGE)
    for block in list(read_only_blocks()):
        start = new_huge_pages(HUGE_PAGE)
        if not start:
            return
        place = ctypes.c_void_p(start)
        ctypes.memmove(place, block, HUGE_PAGE)
        # Small pages would be copied one by one.
        if not is_huge(start) or LIBC.mprotect(place, size, PROT_READ | PROT_EXEC) != 0:
            unmap(start, start + HUGE_PAGE)
            return
        # Equal bytes take the place of those that run.
        LIBC.mremap(place, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, ctypes.c_void_p(block))


def used_parts(start, end):
    """Ranges of pages that are in memory, over small gaps."""
    state = ctypes.create_string_buffer((end - start) // PAGE)
    if LIBC.mincore(ctypes.c_void_p(start), ctypes.c_size_t(end - start), state) != 0:
        # Something of it is not there any more.
        return []
    parts = []
    for page, byte in enumerate(state.raw):
        if byte & 1 and parts and page - parts[-1][1] <= 16:
            parts[-1][1] = page + 1
        elif byte & 1:
            parts.append([page, page + 1])
    # A part is a mapping of its own, which costs as much as some pages.
    return [(start + first * PAGE, start + last * PAGE) for first, last in parts if last - first >= 16]


def join_mappings():
    """Makes the constants of a library a part of its code's mapping, and what only its start wrote of its data's: a
    fork copies fewer mappings. Not after a fork, when the kernel keeps what was written apart."""
    known = list(mappings())
    for before, (start, end, mode, name), after in zip(known, known[1:], known[2:]):
        if mode != "r--p" or not name.startswith("/"):
            continue
        if after[::3] == (end, name) and after[2] == "rw-p":
            own = PROT_WRITE
        elif (after[0], after[2:]) == (end, ("r-xp", name)) or before[1:] == (start, "r-xp", name):
            own = PROT_EXEC
        else:
            continue
        LIBC.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), PROT_READ | own)


def written_memory():
    """The larger mappings that this process writes to, as long as procfs is in reach."""
    return [
        (start, end, name) for start, end, mode, name in mappings()
        if mode == "rw-p" and end - start >= 1 << 17 and (name[:1] in ("", "/") or name == "[heap]")
    ]


def gather_memory(written):
    """Moves memory that a process writes to, which forks for others, to huge pages. They are mapped as small ones,
    because they lie at the old addresses, but a fork copies and drops the mappings of neighbours at once."""
    contexts = new_memory(1 << 16) if hasattr(LIBC, "makecontext") else 0
    LIBC.sbrk.restype = ctypes.c_void_p
    for start, end, name in written if contexts else ():
        for first, last in used_parts(start, LIBC.sbrk(0) if name == "[heap]" else end):
            move_to_huge_pages(first, last - first, contexts)


def move_to_huge_pages(start, size, contexts):
    """Moves memory to huge pages, at the addresses that it had. No Python may run between the copy and the move, or it
    would change what is copied. So they are two contexts of the C library, each of which continues with the next."""
    to = new_huge_pages(-(-size // HUGE_PAGE) * HUGE_PAGE)
    if not to:
        return
    back, copy, move, stack = (contexts + part * (1 << 13) for part in (0, 1, 2, 4))
    address = ctypes.c_void_p
    steps = (
        (copy, move, "memmove", (to, start, size)),
        (move, back, "mremap", (to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start)),
    )
    for context, following, function, arguments in steps:
        LIBC.getcontext(address(context))
        # struct ucontext_t { unsigned long flags; struct ucontext_t *link; stack_t stack; ... }
        ctypes.memmove(context + struct.calcsize("@N"), struct.pack("@PPi4xN", following, stack, 0, 1 << 14), 32)
        stack += 1 << 14
        code = ctypes.cast(getattr(LIBC, function), address)
        LIBC.makecontext(address(context), code, len(arguments), *map(address, arguments))
    LIBC.swapcontext(address(back), address(copy))
    unmap(to + size, to + -(-size // HUGE_PAGE) * HUGE_PAGE)
