"""A worker for programs of other languages: installed tools compile them and run them.

Compilers start processes of their own, so the worker's filter allows programs to be started here. A
guest adds a filter of its own that allows it one program more: the one at the address from which the
worker's fork starts it, which the guest does not know.
"""

AT_EMPTY_PATH = 0x1000
F_ADD_SEALS, SEALS = 1033, 15
SIG_DFL, SIGPIPE, SIGXFSZ = 0, 13, 25
# Words in the filter of a guest, which a fork replaces: the address of its program's path, and that of
# the empty path beside a descriptor.
PATH_MARK, EMPTY_MARK = (0x5AC1E001, 0x5AC1E002), (0x5AC1E003, 0x5AC1E004)


def c_texts(texts):
    """A null-terminated array of texts, as C takes it."""
    return (ctypes.c_char_p * (len(texts) + 1))(*[os.fsencode(text) for text in texts], None)


def replace_words(program, marks, value):
    for mark, word in zip(marks, (value >> 32, value & 0xFFFFFFFF)):
        program = program.replace(struct.pack("=I", mark), struct.pack("=I", word))
    return program


class NativeWorker(Worker):
    def __init__(self, setup, state, control):
        super().__init__(setup, state, control, None)
        self.is_single = False
        self.kept = None

    def start_lean(self, written):
        """Programs of other languages have no template."""

    def become(self, argv, limits, compiles):
        """Turns a fork into a tool or into the program at `self.kept`."""
        program = self.job["program"]
        if self.die_with_worker:
            self.die_with_worker()
        seconds = limits["cpu_ms"] // 1000 + 2
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        # Some reserve address space without end, and are limited by what they may write to.
        spare = program["data_spare"]
        kind = resource.RLIMIT_AS if spare is None else resource.RLIMIT_DATA
        resource.setrlimit(kind, (limits["memory"] + (spare or 0),) * 2)
        for signal in (SIGPIPE, SIGXFSZ):
            PLAIN_LIBC.signal(signal, ctypes.c_void_p(SIG_DFL))
        folder = os.fsdecode(self.place)
        environment = [
            # Without a SHELL some tools ask for the user's, by a socket.
            "PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "LANG=C.UTF-8",
            f"HOME={folder}", f"TMPDIR={folder}",
            *program["environment"],
        ]
        arguments, environment = c_texts(argv), c_texts(environment)
        path = ctypes.create_string_buffer(os.fsencode(argv[0]))
        nothing = ctypes.create_string_buffer(b"")
        if self.state.rules is not None and not compiles:
            # Without a size of its own, a folder is the compiler's alone.
            syscall(SYS_LANDLOCK_SELF, self.state.rules, 0)
        if self.filter and not compiles:
            name = "group_filter" if program["processes"] else "guest_filter"
            own = replace_words(bytes.fromhex(self.setup[name]), PATH_MARK, ctypes.addressof(path))
            own = replace_words(own, EMPTY_MARK, ctypes.addressof(nothing))
            own = Filter(own)
        else:
            own = None
        runs_kept = self.kept is not None and not compiles and argv[0] == program["keep"]
        if own:
            self.cpu_filter.install()
            own.install()
        os.setsid()
        os.write(self.mark, GUEST)
        if runs_kept:
            os.closerange(JOB + 1, self.kept)
        os.closerange((self.kept if runs_kept else JOB) + 1, LAST_DESCRIPTOR)
        if runs_kept:
            execveat = (
                ctypes.c_long(self.setup["execveat"]), ctypes.c_long(self.kept),
                ctypes.c_void_p(ctypes.addressof(nothing)), arguments, environment, ctypes.c_long(AT_EMPTY_PATH),
            )
            SYSCALL(*execveat)
        else:
            PLAIN_LIBC.execve(ctypes.c_void_p(ctypes.addressof(path)), arguments, environment)

    def start(self, argv, limits, compiles, is_call=False):
        pid = FORK()
        if pid == 0:
            if not is_call:
                os.closerange(RESULT, JOB + 1)
            begin_with(self.become, argv, limits, compiles)
        return Process(pid)

    def write(self, files):
        for name, text in files.items():
            with open(os.path.join(os.fsdecode(self.place), name), "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))

    def fresh_folder(self, files):
        # A compiler or a test has left files, on a disk perhaps, where no state tells.
        self.untouched = ()
        self.folder()
        if files:
            self.write(files)

    def load(self, job):
        """Compiles a program and keeps what came of it."""
        self.job, program = job, job["program"]
        self.end_program()
        for path, *_ in [*program["compile"], program["run"]]:
            if path != program["keep"] and not os.access(path, os.X_OK):
                self.control.send({"process": None, "stderr": 0, "unusable": path})
                return
        if program["processes"] and not (self.state.has_own_user or self.setup["has_group"]):
            self.control.send({"process": None, "stderr": 0, "is_uncounted": True})
            return
        self.run_files = program["files"]
        self.fresh_folder(self.run_files)
        limits = program["compile_limits"]
        for argv in program["compile"]:
            for file in (STDIN, STDOUT, STDERR):
                empty(file)
            processes = [self.start(argv, limits, True)]
            try:
                reached = self.wait(processes, limits)
            finally:
                self.reclaim(processes)
            tool = processes[0]
            tool.close()
            if reached or tool.status != 0:
                error = os.pread(STDERR, 1 << 16, 0) + os.pread(STDOUT, 1 << 16, 0)
                self.control.send({"process": self.describe(tool, reached), "stderr": len(error)}, error)
                return
        if program["keep"]:
            path = os.path.join(os.fsdecode(self.place), program["keep"])
            if not os.path.isfile(path):
                error = b"the compiler made no program"
                self.control.send({"process": self.describe(tool, None), "stderr": len(error)}, error)
                return
            self.keep(path)
        self.control.send({"process": None, "stderr": 0})

    def keep(self, path):
        """Keeps a file that was made out of reach: a program as a sealed file in memory, else its bytes."""
        with open(path, "rb") as file:
            data = file.read()
        name = self.job["program"]["keep"]
        if self.job["program"]["run"][0] != name:
            self.run_files = {name: data}
            return
        self.run_files = {}
        made = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.kept = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(made)
        empty(self.kept, data)
        fcntl.fcntl(self.kept, F_ADD_SEALS, SEALS)

    def end_program(self):
        if self.kept is not None:
            os.close(self.kept)
            self.kept = None

    def run_test(self, test):
        """Runs one test and reports it."""
        start = time.monotonic()
        program, limits = self.job["program"], self.job["limits"]
        nonce = os.urandom(16).hex() if test["kind"] == "call" else None
        processes = []
        try:
            self.fresh_folder(self.run_files)
            for file in (STDIN, STDOUT, STDERR, RESULT):
                empty(file)
            if nonce:
                empty(JOB, json.dumps({**test, "nonce": nonce}).encode())
            else:
                empty(STDIN, test["stdin"].encode("utf-8", "surrogatepass"))
            argv = program["call"] if nonce else program["run"]
            processes.append(self.start(argv, limits, False, is_call=bool(nonce)))
            reached = self.wait(processes, limits)
        finally:
            self.reclaim(processes)
        empty(JOB)
        self.report(processes, reached, nonce, start)

    def serve(self):
        while True:
            self.load(self.control.receive())
            while (batch := self.control.receive()) is not None:
                self.run_tests(**batch)
            self.end_program()
