"""Rungs of isolation that a worker enters once, before any untrusted code runs.

A rung that the kernel refuses ends the worker with `Refused`: a rung is in force or was not begun.
The supervisor then starts another worker without it, if its floor allows.
"""

import ctypes
import os
import resource
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
# For calls in forks: the copy of `errno` of the other one touches five times the pages.
PLAIN_LIBC = ctypes.PyDLL(None)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
# Not from `signal`, whose enumerations a fork would copy.
SIGKILL, SIGCHLD = 9, 17
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x0002_0000, 0x0400_0000, 0x0800_0000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x1000_0000, 0x2000_0000, 0x4000_0000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
LL_EXECUTE, LL_WRITE_FILE, LL_READ_FILE, LL_READ_DIR, LL_TRUNCATE = 1, 2, 4, 8, 1 << 14
# The same on every architecture since Linux 5.12; `capset` and `pivot_root` come from the job.
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_SELF = 442, 444, 445, 446

# The one writable folder, a file system of its own; absent without namespaces.
WORK = "/work"
# The path of stdin in a root of our own, and the mode of its file, which its owner, a guest of an ordinary user, may
# change.
STDIN_PATH, STDIN_MODE = "/dev/stdin", 0o444
# The worker, the process that forks templates, a template, and the first thread of a guest.
OWN_PROCESSES = 4
WORK_OPTIONS = "size=64m,nr_inodes=4096,mode=700"


def check(result):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option, value, more=0):
    check(LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0))


def syscall(number, *arguments):
    return check(LIBC.syscall(ctypes.c_long(number), *arguments))


def mount(source, target, kind, flags, options=None):
    text = [None if part is None else os.fsencode(part) for part in (source, target, kind, options)]
    check(LIBC.mount(text[0], text[1], text[2], ctypes.c_ulong(flags), text[3]))


def readable_paths():
    """What a guest may read: the library of this interpreter, shared libraries, a few devices."""
    folders = [path for path in sys.path if os.path.isdir(path)]
    folders += ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"]
    # A shared interpreter library may lie beside the standard library of a private prefix.
    folders.append(os.path.join(sys.base_prefix, "lib"))
    # What the tools of other languages need.
    folders += SETUP["tools"]
    files = ["/dev/null", "/dev/zero", "/dev/urandom", "/etc/ld.so.cache", "/etc/localtime"]
    real = [os.path.realpath(path) for path in folders + files]
    seen = []
    for path in sorted({*folders, *files, *real}, key=len):
        covered = any(path.startswith(known + "/") for known in seen)
        if os.path.exists(path) and path != "/" and not covered:
            seen.append(path)
    return seen


def enter_namespaces(pivot_root):
    """User (unless root), mount, pid, net, ipc and uts namespaces over a root of `readable_paths`."""
    user, group = os.geteuid(), os.getegid()
    flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
    check(LIBC.unshare(ctypes.c_int(flags if user == 0 else flags | CLONE_NEWUSER)))
    if user != 0:
        for name, text in [("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    # Opened in the new namespace, which alone may bind them, and before the new root covers any.
    sources = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in readable_paths()]
    root = "/tmp" if os.path.isdir("/tmp") else "/dev"
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1024,mode=755")
    for path, descriptor in sources:
        bind(f"/proc/self/fd/{descriptor}", root + path)
        os.close(descriptor)
    for path, target in SETUP["links"]:
        os.makedirs(os.path.dirname(root + path))
        os.symlink(target, root + path)
    os.mkdir(root + WORK)
    replace_stdin(root)
    mount("tmpfs", root + WORK, "tmpfs", MS_NOSUID | MS_NODEV, WORK_OPTIONS)
    os.chdir(root)
    syscall(pivot_root, b".", b".")
    check(LIBC.umount2(b".", MNT_DETACH))
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def replace_stdin(root):
    """Makes stdin a file that has a path, too: `/dev/stdin`, which elsewhere is a link into procfs. Guests may read
    it there. The file system that holds it is in no folder once this returns."""
    place = root + WORK
    options = f"size={SETUP['file'] + (1 << 16)},nr_inodes=4,mode=700"
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, options)
    made = os.open(place + "/stdin", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, STDIN_MODE)
    bind(place + "/stdin", root + STDIN_PATH)
    check(LIBC.umount2(os.fsencode(place), MNT_DETACH))
    os.dup2(made, 0)
    os.close(made)


def bind(source, target):
    """Binds a folder or file, read-only with everything below it."""
    is_folder = os.path.isdir(source)
    os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
    if not is_folder:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    mount(source, target, None, MS_BIND | MS_REC)
    # Attributes to set: MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, and MOUNT_ATTR_NODEV for folders.
    attributes = struct.pack("=4Q", 1 | 2 | (4 if is_folder else 0), 0, 0, 0)
    path = os.fsencode(target)
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, path, AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes)))


def enter_landlock(work):
    """Reads below `readable_paths`, everything below `work`, and no TCP, signals or sockets to outside."""
    version = syscall(SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    handled = (1 << bits) - 1
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", 3)
    if version >= 6:
        attributes += struct.pack("=Q", 3)
    rules = syscall(SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    paths = [(path, LL_READ_FILE | LL_READ_DIR | LL_EXECUTE) for path in readable_paths()]
    paths.append(("/dev/null", LL_READ_FILE | (LL_WRITE_FILE | LL_TRUNCATE) & handled))
    if work:
        paths.append((work, handled))
    if work == WORK:
        paths.append((STDIN_PATH, LL_READ_FILE))
    for path, access in paths:
        allow(rules, path, access)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(SYS_LANDLOCK_SELF, rules, 0)
    os.close(rules)
    return version


def allow(rules, path, access):
    """Allows `access` below a path in a ruleset of Landlock."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        access &= ~LL_READ_DIR
    syscall(SYS_LANDLOCK_ADD, rules, 1, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)


def read_only_rules():
    """A ruleset under which no file can be written or made, for guests beside a folder without a size."""
    writes = LL_WRITE_FILE | sum(1 << bit for bit in range(4, 13))
    attributes = struct.pack("=Q", writes)
    rules = syscall(SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    allow(rules, "/dev/null", LL_WRITE_FILE)
    return rules


# The word in the filter of a guest that a fork replaces by the number of its process.
PID_MARK = 0x5AC1E005


class Filter:
    """A compiled seccomp program, as the kernel takes it."""

    def __init__(self, program):
        self.program = ctypes.create_string_buffer(program, len(program))
        # struct sock_fprog { unsigned short len; struct sock_filter *filter; }
        header = struct.pack("@HP", len(program) // 8, ctypes.addressof(self.program))
        self.header = ctypes.create_string_buffer(header, len(header))
        # The last word of a step.
        places = [at for at in range(4, len(program), 8) if program[at:at + 4] == struct.pack("=I", PID_MARK)]
        self.words, self.numbers = memoryview(self.program).cast("B").cast("I"), [at // 4 for at in places]
        self.pointer = ctypes.byref(self.header)

    def parts(self):
        """The words of the program, the places of the number of a process among them, and what `prctl` takes."""
        return self.words, self.numbers, self.pointer

    def install(self):
        for number in self.numbers:
            self.words[number] = os.getpid()
        check(LIBC.prctl(PR_SET_SECCOMP, 2, self.pointer, 0, 0))


def quick_prctl(option, value):
    """A function for forks that calls `prctl` and makes no object for it, which would be a copied page."""
    call = PLAIN_LIBC.prctl

    def run():
        if call(option, value, 0, 0, 0) != 0:
            raise OSError("prctl is refused")

    return run


def drop_privileges(user, capset):
    """Another user if root, no capabilities, no new privileges, unreadable memory."""
    if os.geteuid() == 0 and user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break
    syscall(capset, struct.pack("=Ii", 0x2008_0522, 0), struct.pack("=6I", 0, 0, 0, 0, 0, 0))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    # No process of the guest's user may open this one's memory or environment through procfs.
    prctl(PR_SET_DUMPABLE, 0)


def make_folder():
    """A folder for compilers where no file system can be mounted. The process that returns is a child;
    its parent has its user, and removes the folder after it."""
    folder = f"/tmp/sandbox-{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    first = os.fork()
    if not first:
        return folder
    os.closerange(0, 512)
    _, status = os.waitpid(first, 0)
    clean_folder(folder)
    os.chdir("/")
    os.rmdir(folder)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def clean_folder(folder):
    """Empties a folder, however deep, without following links."""
    # Its owner is the guest's user too.
    os.chmod(folder, 0o700)
    os.chdir(folder)
    prefix, number = os.urandom(8).hex(), 0
    while True:
        with os.scandir(folder) as entries:
            entry = next(entries, None)
        if entry is None:
            return
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
            continue
        # What is inside moves up, so that every path stays short.
        os.chmod(entry.path, 0o700)
        with os.scandir(entry.path) as inner:
            for below in list(inner):
                number += 1
                if below.is_dir(follow_symlinks=False):
                    os.chmod(below.path, 0o700)
                os.rename(below.path, f"{folder}/{prefix}-{number}")
        os.rmdir(entry.path)


def limit(kind, value):
    """Sets soft and hard limit, never above the hard limit in force."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


class Refused(Exception):
    """The kernel refuses a rung. What was done of it may be undone by the end of the process only."""


class Isolation:
    """What is in force in this worker."""

    def __init__(self):
        self.rungs = []
        # The one writable folder.
        self.work = None
        self.rules = None
        # Whether its processes are counted against a limit of their own.
        self.has_own_user = False
        self.is_init = False
        self.landlock = 0

    def attempt(self, name, step):
        try:
            step()
            self.rungs.append(name)
        except OSError as error:
            raise Refused(name, error.strerror or str(error)) from error


def enter(setup):
    """Enters the wanted rungs, ends in the process that serves jobs, and returns its `Isolation`."""
    state = Isolation()
    wanted = setup["rungs"]
    is_root = os.geteuid() == 0
    # Almost always another one than that of every other worker, whose threads its limit counts.
    user = setup["first_user"] + os.getpid() % setup["users"]
    if "namespaces" in wanted:
        state.attempt("namespaces", lambda: enter_namespaces(setup["pivot_root"]))
    if "namespaces" in state.rungs:
        state.work, state.is_init = WORK, True
        first = os.fork()
        if first:
            # The end of the supervisor's socket shall mean the end of the worker.
            os.closerange(0, 512)
            _, status = os.waitpid(first, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        if is_root:
            os.chown(WORK, user, user)
    drop_privileges(user if is_root else None, setup["capset"])
    if setup["tools"] and not state.work:
        state.work = make_folder()
    prctl(PR_SET_PDEATHSIG, SIGKILL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, 256)
    limit(resource.RLIMIT_FSIZE, setup["file"])
    limit(resource.RLIMIT_STACK, setup["stack"])
    state.has_own_user = is_root or state.is_init
    if state.has_own_user:
        # Elsewhere the limit would count the other processes of the user.
        limit(resource.RLIMIT_NPROC, setup["processes"] + OWN_PROCESSES)
    state.rungs.insert(0, "limits")
    # Opened before procfs is out of reach: the children of this thread.
    state.children = None
    if not state.is_init:
        os.chdir("/")
        state.children = open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0)
    if "landlock" in wanted:
        def landlock():
            state.landlock = enter_landlock(state.work)
        state.attempt("landlock", landlock)
        if setup["tools"] and not state.is_init:
            state.rules = read_only_rules()
    if "seccomp" in wanted:
        def seccomp():
            for program in setup["worker_filters"]:
                Filter(bytes.fromhex(program)).install()
        state.attempt("seccomp", seccomp)
    return state
