"""The worker: isolates itself, then serves jobs one after the other, each test in a fork.

Protocol: on the control descriptor, frames of a 32-bit length and JSON; a test's output follows its
frame as raw bytes, whose lengths the frame gives. The worker is the only trusted process in its
namespaces beside those of its own program.

A fork copies page tables and protects every page against writing, and each side copies the pages
that it writes: that is most of a test's time. So a submission has a template, a process that
compiled it and does nothing but fork, and most templates are forks of a lean process that did not
import the library. All of them are children of the worker. The files at descriptors 0 to 4 are made
once, and emptied between tests, when no process of a guest is left.
"""

import ctypes
import fcntl
import os
import resource
import select
import struct
import time

RESULT_BYTES = 4 << 20
STDIN, STDOUT, STDERR, RESULT, JOB = range(5)
# Above every descriptor that a process here can have.
LAST_DESCRIPTOR = 256
CLONE_PARENT = 0x8000
# Milliseconds after which a process that forks for others and does not reply is lost. A fork takes less
# than one.
REPLY_LIMIT = 10_000
# Order to a template: run the program, the call in the file `JOB`, or the program as a checker of
# the texts in it.
PROGRAM, CALL, CHECK = b"p", b"c", b"k"
# Seconds after which a test is not short.
SHORT = 0.01
ORDERS = {"program": PROGRAM, "call": CALL, "check": CHECK}


class Gone(Exception):
    """The supervisor closed its end."""


class Control:
    """The supervisor's end of the socket."""

    def __init__(self):
        self.descriptor = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 200)

    def read(self, size):
        parts = []
        while size:
            part = os.read(self.descriptor, min(size, 1 << 20))
            if not part:
                raise Gone
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def receive(self):
        (size,) = struct.unpack("=I", self.read(4))
        return json.loads(self.read(size))

    def receive_secret(self, file):
        """A frame, written to `file`; no copy of it stays in this process."""
        (size,) = struct.unpack("=I", self.read(4))
        buffer, filled = bytearray(size), 0
        while filled < size:
            part = os.readv(self.descriptor, [memoryview(buffer)[filled:]])
            if not part:
                raise Gone
            filled += part
        empty(file, memoryview(buffer))
        buffer[:] = bytes(size)

    def send(self, message, *outputs):
        data = json.dumps(message).encode()
        data = b"".join([struct.pack("=I", len(data)), data, *outputs])
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view):]


# `fork` without the hooks of `os.fork`, which reseed generators and rebuild locks: they cost three
# times what the fork does. This process has one thread and holds no lock, so nothing is left to
# repair, and a generator of random numbers starts every test in the same state.
FORK = PLAIN_LIBC.fork
SYSCALL = PLAIN_LIBC.syscall


def fork_by_order(orders, replies, clone, begin):
    """Forks a child of the worker for each order, and does nothing else: its pages stay shared."""
    arguments = [ctypes.c_long(number) for number in (clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)]
    while order := os.read(orders, 4096):
        pid = SYSCALL(*arguments)
        if pid == 0:
            begin(order)
        os.write(replies, struct.pack("=i", pid))
    os._exit(0)


def begin_with(run, *arguments):
    """Runs the program of a child, which never returns to that of its parent."""
    try:
        run(*arguments)
    finally:
        os._exit(1)


class Forker:
    """The worker's end of `fork_by_order`."""

    def __init__(self):
        (self.orders, self.order), (self.replies, self.reply) = os.pipe(), os.pipe()
        self.process = None
        self.poll = select.poll()
        self.poll.register(self.replies, select.POLLIN)

    def serve(self, clone, begin):
        fork_by_order(self.orders, self.reply, clone, begin)

    def attach(self, process):
        self.process = process
        self.poll.register(process.handle, select.POLLIN)

    def fork(self, order):
        os.write(self.order, order)
        return self.forked()

    def forked(self):
        """The number that the process replies with."""
        ready = [handle for handle, _ in self.poll.poll(REPLY_LIMIT)]
        if not ready or self.process.handle in ready:
            raise Gone
        (pid,) = struct.unpack("=i", os.read(self.replies, 4))
        if pid < 0:
            raise Gone
        return pid

    def end(self):
        """Ends the process, with what it may have replied."""
        if self.process:
            self.poll.unregister(self.process.handle)
            self.process.end()
            self.process.close()
            self.process = None
            while self.poll.poll(0):
                os.read(self.replies, 4096)


class Process:
    """A child of the worker, and what it used."""

    def __init__(self, pid):
        self.pid = pid
        self.status, self.usage, self.started, self.killed = None, None, False, False
        self.handle = os.pidfd_open(pid)

    def cpu(self):
        """CPU time in seconds so far."""
        try:
            return time.clock_gettime((~self.pid << 3) | 2)
        except OSError:
            return 0.0

    def reap(self):
        # A session of its own is the last restriction, and nothing can undo it.
        self.started = os.getsid(self.pid) == self.pid
        _, self.status, self.usage = os.wait4(self.pid, 0)

    def end(self):
        if self.status is None:
            self.killed = True
            os.kill(self.pid, SIGKILL)
            self.reap()

    def close(self):
        os.close(self.handle)


def empty(file, content=b""):
    """Sets the content of a file that guests shared, and its offset to the start."""
    state = os.fstat(file)
    if state.st_size or state.st_blocks:
        os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    offset = 0
    while offset < len(content):
        offset += os.pwrite(file, content[offset:offset + (1 << 20)], offset)


def set_processors(pid, processors):
    """Whether they are those of the process now: the machine may have taken some away."""
    try:
        os.sched_setaffinity(pid, processors)
        return True
    except OSError:
        return False


class Worker:
    def __init__(self, setup, state, control, null):
        self.setup, self.state, self.control = setup, state, control
        self.filter = Filter(bytes.fromhex(setup["guest_filter"])) if "seccomp" in state.rungs else None
        self.is_single = self.filter is not None
        # The working folder of a test, and its state while no test has used it.
        self.place, self.untouched = b"/", ()
        # A namespace ends with its first process.
        self.die_with_worker = (lambda: None) if state.is_init else quick_prctl(PR_SET_PDEATHSIG, SIGKILL)
        self.lean, self.template = Forker(), Forker()
        self.job, self.null = None, null
        self.processors, self.is_pinned = os.sched_getaffinity(0), False

    def start_lean(self):
        """Forks the process that forks lean templates."""
        if self.state.is_init and not self.filter:
            # It would end with the processes of a guest.
            return
        pid = FORK()
        if pid == 0:
            self.die_with_worker()
            begin_with(self.lean.serve, self.setup["clone"], lambda order: begin_with(self.load_lean, order))
        self.lean.attach(Process(pid))

    def restrict(self):
        """The last restrictions, in the guest itself. Each page that it touches is a copy."""
        self.die_with_worker()
        if self.filter:
            self.filter.install()
        os.setsid()

    def limit(self, cpu_ms, memory):
        """Limits of a process of a submission and its forks. The worker ends it before the first."""
        # A template takes time too, for all tests of its submission.
        seconds = cpu_ms // 1000 + 12
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    def load_lean(self, folder):
        """A template by the lean process."""
        cpu_ms, memory = struct.unpack("=QQ", os.pread(JOB, 16, 0))
        source = os.pread(JOB, os.fstat(JOB).st_size - 16, 16).decode("utf-8", "surrogatepass")
        os.chdir(folder)
        self.serve_tests(source, cpu_ms, memory, folder)

    def serve_tests(self, source, cpu_ms, memory, folder):
        """A template: compiles the submission, and forks for each test."""
        self.die_with_worker()
        self.limit(cpu_ms, memory)
        code = compile_source(source)
        __import__("gc").freeze()
        os.write(self.template.reply, bytes(4))

        def begin(order):
            kind, place = order[:1], order[1:]
            if place != folder:
                os.chdir(place)
            if kind == PROGRAM:
                os.closerange(RESULT, LAST_DESCRIPTOR)
                self.restrict()
                run_program(code)
            else:
                job = os.pread(JOB, os.fstat(JOB).st_size, 0)
                os.closerange(JOB if kind == CALL else RESULT, LAST_DESCRIPTOR)
                self.restrict()
                if kind == CALL:
                    run_call(code, json.loads(job[32:]), job[:32].decode(), RESULT)
                run_checker(code, json.loads(job))

        self.template.serve(self.setup["clone"], lambda order: begin_with(begin, order))

    def start_template(self, is_lean):
        """Starts the template of the loaded job; returns the limit that it met."""
        limits = self.job["limits"]
        for file in (STDIN, STDOUT, STDERR):
            empty(file)
        if is_lean and self.lean.process:
            head = struct.pack("=QQ", limits["cpu_ms"], limits["memory"])
            empty(JOB, head + self.job["source"].encode("utf-8", "surrogatepass"))
            pid = self.lean.fork(self.place)
        else:
            pid = FORK()
            if pid == 0:
                begin_with(
                    self.serve_tests, self.job["source"], limits["cpu_ms"], limits["memory"], self.place
                )
        self.is_lean = is_lean
        self.template.attach(Process(pid))
        return self.wait([self.template.process], limits, self.template.replies)

    def pin(self):
        """Keeps the processes of a submission on one processor for as long as they are short: they run one
        after the other, and the kernel would start each of them on another processor, where nothing of
        them is in a cache."""
        processor = PLAIN_LIBC.sched_getcpu()
        if len(self.processors) > 1 and processor in self.processors:
            self.is_pinned = set_processors(0, [processor])

    def unpin(self, processes=()):
        """Lets this process run on every processor, and those of a test that is not short."""
        if self.is_pinned:
            self.is_pinned = False
            for pid in (0, *[process.pid for process in processes if process.status is None]):
                set_processors(pid, self.processors)

    def wait(self, processes, limits, ready=None):
        """Waits until the last of them has ended, something is ready to be read, or a limit is
        reached; returns that limit's name."""
        poll = select.poll()
        poll.register(self.control.descriptor, select.POLLRDHUP)
        waiting = {process.handle: process for process in processes}
        for handle in waiting:
            poll.register(handle, select.POLLIN)
        if ready is not None:
            poll.register(ready, select.POLLIN)
        start = time.monotonic()
        cpu, spent = 0.0, 0.0
        while processes[-1].handle in waiting:
            # No process can have used its CPU time before that much time went by on one thread.
            left_cpu = limits["cpu_ms"] / 1000 - cpu
            left_wall = limits["wall_ms"] / 1000 - spent
            if left_cpu <= 0:
                return "cpu"
            if left_wall <= 0:
                return "wall"
            pause = max(0.002, min(left_wall, left_cpu))
            if self.is_pinned:
                pause = min(pause, SHORT)
            events = poll.poll(pause * 1000)
            if not events:
                self.unpin([*filter(None, [self.template.process]), *processes])
            for handle, _ in events:
                if handle == self.control.descriptor:
                    raise Gone
                if handle == ready:
                    return None
                poll.unregister(handle)
                waiting.pop(handle).reap()
            if processes[-1].handle in waiting:
                cpu, spent = sum(p.cpu() for p in waiting.values()), time.monotonic() - start
        return None

    def reclaim(self, processes):
        """Ends every process of the test, also those that left its group, and collects them."""
        for process in processes:
            process.end()
        if self.is_single:
            # By the filter a guest is one process, and its end is the end of all of it.
            return
        if self.state.is_init:
            self.template.end()
            try:
                while True:
                    # Every process of this namespace but this one.
                    os.kill(-1, SIGKILL)
                    os.wait4(-1, 0)
            except (ProcessLookupError, ChildProcessError):
                return
        own = {forker.process.pid for forker in (self.lean, self.template) if forker.process}
        while others := set(map(int, os.pread(self.state.children.fileno(), 1 << 16, 0).split())) - own:
            for child in others:
                os.kill(child, SIGKILL)
                os.wait4(child, 0)

    def output(self, file):
        """What was written to a stream, and whether it was too long."""
        size, limit = os.fstat(file).st_size, self.job["limits"]["output"]
        return os.pread(file, min(size, limit), 0), size > limit

    def folder(self):
        """Makes an empty working folder, whose name no test before could know, the current one."""
        if self.state.work and self.folder_state() != self.untouched:
            clean_folder(self.state.work)
            self.place = f"{self.state.work}/{os.urandom(8).hex()}".encode()
            os.mkdir(self.place, 0o700)
            os.chdir(self.place)
            self.untouched = self.folder_state()

    def folder_state(self):
        """What differs once something was done to the working folder, and remains of it; None if it is gone.
        In a file system in memory the size of a folder counts its entries."""
        try:
            states = os.stat(self.state.work), os.stat(self.place)
        except OSError:
            return None
        return [
            (state.st_ino, state.st_mode, state.st_size, state.st_atime_ns, state.st_mtime_ns, state.st_ctime_ns)
            for state in states
        ]

    def load(self, job):
        """Starts the template of a submission, and reports how that went."""
        self.job = job
        self.folder()
        reached = self.start_template(job["lean"])
        template = self.template.process
        if reached is None and template.status is None:
            self.template.forked()
            self.control.send({"process": None, "stderr": 0})
        else:
            template.end()
            template.started = True
            error, _ = self.output(STDERR)
            self.control.send({"process": self.describe(template, reached), "stderr": len(error)}, error)

    def describe(self, process, reached):
        status = process.status
        return {
            "reached": reached,
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "cpu_us": int((process.usage.ru_utime + process.usage.ru_stime) * 1e6),
            "peak_kib": process.usage.ru_maxrss,
            "started": process.started,
            "killed": process.killed,
            "native": bool(self.setup["tools"]),
        }

    def ready_template(self, kind):
        """Sees to a template for a test: that it runs, in the right folder, with what a call needs."""
        self.folder()
        if self.template.process and (kind == PROGRAM or not self.is_lean):
            return
        self.template.end()
        if self.start_template(is_lean=False) or self.template.process.status is not None:
            # What compiled before does not any more: the machine is short of something.
            raise Gone
        self.template.forked()

    def run_test(self, test):
        """Runs one test and reports it."""
        limits = self.job["limits"]
        start = time.monotonic()
        kind = test["kind"]
        nonce = os.urandom(16).hex()
        processes = []
        try:
            if kind == "tests":
                self.folder()
                for file in (STDIN, STDOUT, STDERR, RESULT):
                    empty(file)
                self.run_with_tester(processes, nonce)
            else:
                order = ORDERS[kind]
                self.ready_template(order)
                for file in (STDIN, STDOUT, STDERR, RESULT):
                    empty(file)
                if kind == "program":
                    empty(STDIN, test["stdin"].encode("utf-8", "surrogatepass"))
                elif kind == "check":
                    self.control.receive_secret(JOB)
                else:
                    empty(JOB, (nonce + json.dumps(test)).encode())
                processes.append(Process(self.template.fork(order + self.place)))
            reached = self.wait(processes, limits)
        finally:
            self.reclaim(processes)
        empty(JOB)
        self.report(processes, reached, nonce if kind in ("call", "tests") else None, start)

    def report(self, processes, reached, nonce, start):
        """Sends what the processes of a test did; with a nonce, their framed result."""
        guest = processes[0]
        stdout, is_long = self.output(STDOUT)
        stderr, _ = self.output(STDERR)
        frame = self.result(RESULT, nonce) if nonce else None
        report = self.describe(guest, reached)
        report["tester"] = None if len(processes) == 1 else self.describe(processes[1], reached)
        report.update(
            too_long=is_long, stdout=len(stdout), stderr=len(stderr),
            result=-1 if frame is None else len(frame), wall_us=int((time.monotonic() - start) * 1e6),
        )
        self.control.send(report, stdout, stderr, frame or b"")
        for process in processes:
            process.close()

    def run_with_tester(self, processes, nonce):
        """Starts a guest that serves calls, and then the process of the tests, which makes them."""
        limits, source = self.job["limits"], self.job["source"]
        (guest_in, guest_out), (tester_in, tester_out) = os.pipe(), os.pipe()

        def guest():
            os.dup2(guest_in, RESULT)
            os.dup2(tester_out, JOB)
            os.closerange(JOB + 1, LAST_DESCRIPTOR)
            self.limit(limits["cpu_ms"], limits["memory"])
            self.restrict()
            run_submission(compile_source(source), RESULT, JOB)

        def tester():
            # Its words are not those of the submission.
            for file in (STDIN, STDOUT, STDERR):
                os.dup2(self.null, file)
            tests = json.loads(os.pread(JOB, os.fstat(JOB).st_size, 0))
            os.dup2(tester_in, JOB)
            os.dup2(guest_out, JOB + 1)
            os.closerange(JOB + 2, LAST_DESCRIPTOR)
            self.limit(limits["cpu_ms"], limits["memory"])
            self.restrict()
            run_tests(tests, nonce, RESULT, JOB, JOB + 1)

        # The submission is forked before the tests arrive: its memory cannot hold them.
        for run in (guest, tester):
            if processes:
                self.control.receive_secret(JOB)
            pid = FORK()
            if pid == 0:
                begin_with(run)
            processes.append(Process(pid))
        for file in (guest_in, guest_out, tester_in, tester_out):
            os.close(file)

    def result(self, file, nonce):
        """The framed result of the harness, or None."""
        head = os.pread(file, 64, 0)
        start, mark, _ = head.partition(b"\n")
        if not mark or not start.startswith(nonce.encode()) or not start[32:].isdigit():
            return None
        size = int(start[32:])
        if size > RESULT_BYTES:
            return None
        body = os.pread(file, size + 32, len(start) + 1)
        return body[:size] if body[size:] == nonce.encode() else None

    def serve(self):
        while True:
            job = self.control.receive()
            self.pin()
            self.load(job)
            while (test := self.control.receive()) is not None:
                self.run_test(test)
            self.template.end()
            self.unpin()
