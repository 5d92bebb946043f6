"""The worker: isolates itself, then serves jobs one after the other, each test in a fork.

Protocol: on descriptor 0, frames of a 32-bit length and JSON; a test's output follows its frame as
raw bytes, whose lengths the frame gives. The worker is the only trusted process in its namespaces.
"""

import ctypes
import fcntl
import marshal
import os
import resource
import select
import signal
import struct
import time

RESULT_BYTES = 4 << 20


class Gone(Exception):
    """The supervisor closed its end."""


class Control:
    """The supervisor's end of the socket."""

    def __init__(self):
        self.descriptor = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 200)
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)

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

    def receive_secret(self):
        """A frame as an anonymous file; no copy of it stays in this process."""
        (size,) = struct.unpack("=I", self.read(4))
        buffer, filled = bytearray(size), 0
        while filled < size:
            part = os.readv(self.descriptor, [memoryview(buffer)[filled:]])
            if not part:
                raise Gone
            filled += part
        file = memory_file(content=buffer)
        buffer[:] = bytes(size)
        return file

    def send(self, message, *outputs):
        data = json.dumps(message, separators=(",", ":")).encode()
        data = b"".join([struct.pack("=I", len(data)), data, *outputs])
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view):]


def memory_file(content=b""):
    """An anonymous file at its start."""
    file = os.memfd_create("", os.MFD_CLOEXEC)
    if content:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view):]
        os.lseek(file, 0, os.SEEK_SET)
    return file


# `fork` without the hooks of `os.fork`, which reseed generators and rebuild locks: they cost three
# times what the fork does. This process has one thread and holds no lock, so nothing is left to
# repair, and a generator of random numbers starts every test in the same state.
FORK = ctypes.PyDLL(None).fork


class Process:
    """A guest: one fork, its streams, and what it used."""

    def __init__(self, worker, limits, run, stdin=None):
        self.worker = worker
        self.stdin = memory_file(content=stdin) if stdin else os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self.limit = limits["output"]
        self.stdout, self.stderr = memory_file(), memory_file()
        self.status, self.usage, self.started, self.killed = None, None, False, False
        self.pid = FORK()
        if self.pid == 0:
            try:
                for number, file in enumerate((self.stdin, self.stdout, self.stderr)):
                    os.dup2(file, number)
                os.close(worker.control.descriptor)
                worker.restrict(limits)
                run()
            finally:
                os._exit(1)
        self.handle = os.pidfd_open(self.pid)

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

    def output(self, file):
        """What was written to a stream, and whether it was too long."""
        size = os.fstat(file).st_size
        return os.pread(file, min(size, self.limit), 0), size > self.limit

    def close(self):
        for file in (self.stdin, self.stdout, self.stderr, self.handle):
            os.close(file)


class Worker:
    def __init__(self, setup, state, control):
        self.setup, self.state, self.control = setup, state, control
        self.filter = Filter(bytes(setup["guest_filter"])) if "seccomp" in state.rungs else None

    def restrict(self, limits):
        """The last restrictions, in the guest itself. Each page that it touches is a copy."""
        if not self.state.is_init:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        seconds = limits["cpu_ms"] // 1000 + 2
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
        if self.filter:
            self.filter.install()
        os.setsid()

    def wait(self, processes, limits):
        """Waits until the last of them has ended or a limit is reached; returns that limit's name."""
        poll = select.poll()
        poll.register(self.control.descriptor, select.POLLRDHUP)
        waiting = {process.handle: process for process in processes}
        for handle in waiting:
            poll.register(handle, select.POLLIN)
        start = time.monotonic()
        reached = None
        try:
            while processes[-1].handle in waiting and reached is None:
                spent = time.monotonic() - start
                # No process can have used its CPU time before that much time went by on one thread.
                left_cpu = limits["cpu_ms"] / 1000 - sum(p.cpu() for p in waiting.values())
                left_wall = limits["wall_ms"] / 1000 - spent
                if left_cpu <= 0:
                    reached = "cpu"
                elif left_wall <= 0:
                    reached = "wall"
                else:
                    pause = max(0.002, min(left_wall, left_cpu))
                    for handle, _ in poll.poll(pause * 1000):
                        if handle == self.control.descriptor:
                            raise Gone
                        poll.unregister(handle)
                        waiting.pop(handle).reap()
        finally:
            self.reclaim(waiting)
        return reached

    def reclaim(self, waiting):
        """Ends every process of the test, also those that left its group, and collects them."""
        for process in waiting.values():
            process.killed = True
            os.kill(process.pid, signal.SIGKILL)
            process.reap()
        while True:
            try:
                if self.state.is_init:
                    # Every process of this namespace but this one.
                    os.kill(-1, signal.SIGKILL)
                else:
                    for child in os.pread(self.state.children.fileno(), 1 << 16, 0).split():
                        os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                os.wait4(-1, 0)
            except ChildProcessError:
                return

    def folder(self):
        """A new working folder, whose name no test before could know."""
        if self.state.has_work:
            path = f"{WORK}/{os.urandom(8).hex()}"
            os.mkdir(path, 0o700)
            os.chdir(path)

    def clean(self):
        """Empties the file system of working folders, however deep, without following links."""
        if not self.state.has_work:
            return
        # Their owner, so the guest's too.
        os.chmod(WORK, 0o700)
        os.chdir(WORK)
        prefix, number = os.urandom(8).hex(), 0
        while True:
            with os.scandir(WORK) as entries:
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
                    os.rename(below.path, f"{WORK}/{prefix}-{number}")
            os.rmdir(entry.path)

    def compile(self, job):
        """Compiles the submission, reports how that went, and returns its code if there is one."""
        result = memory_file()
        process = Process(self, job["limits"], lambda: compile_source(job["source"], result))
        try:
            reached = self.wait([process], job["limits"])
            (size,) = struct.unpack("=Q", os.pread(result, 8, 0) or bytes(8))
            is_compiled = process.status == 0 and reached is None and 0 < size <= RESULT_BYTES - 8
            error, _ = process.output(process.stderr)
            report = {**self.describe(process, reached), "compiled": is_compiled, "stderr": len(error)}
            self.control.send(report, error)
            return os.pread(result, size, 8) if is_compiled else None
        finally:
            os.close(result)
            process.close()

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
        }

    def run_test(self, limits, code, test):
        """Runs one test and reports it."""
        start = time.monotonic()
        kind = test["kind"]
        nonce = os.urandom(16).hex()
        result = None if kind == "program" else memory_file()
        self.folder()
        processes, pipes = [], []
        try:
            if kind == "program":
                stdin = test["stdin"].encode("utf-8", "surrogatepass")
                processes.append(Process(self, limits, lambda: run_program(marshal.loads(code)), stdin))
            elif kind == "call":
                run = lambda: run_call(marshal.loads(code), test, nonce, result)
                processes.append(Process(self, limits, run))
            else:
                to_guest, to_tester = os.pipe(), os.pipe()
                pipes = [*to_guest, *to_tester]

                def guest():
                    for file in (result, to_guest[1], to_tester[0]):
                        os.close(file)
                    run_submission(marshal.loads(code), to_guest[0], to_tester[1])

                def tester():
                    for file in (to_guest[0], to_tester[1]):
                        os.close(file)
                    with open(secret, "rb") as file:
                        run_tests(json.load(file), nonce, result, to_tester[0], to_guest[1])

                # The submission is forked before the tests arrive: its memory cannot hold them.
                processes.append(Process(self, limits, guest))
                secret = self.control.receive_secret()
                processes.append(Process(self, limits, tester))
                for file in (secret, *pipes):
                    os.close(file)
                pipes = []
            reached = self.wait(processes, limits)
            guest = processes[0]
            stdout, is_long = guest.output(guest.stdout)
            stderr, _ = guest.output(guest.stderr)
            frame = None if result is None else self.result(result, nonce)
            report = self.describe(guest, reached)
            report["tester"] = None if len(processes) == 1 else self.describe(processes[1], reached)
            report.update(
                too_long=is_long, stdout=len(stdout), stderr=len(stderr),
                result=-1 if frame is None else len(frame), wall_us=int((time.monotonic() - start) * 1e6),
            )
            self.control.send(report, stdout, stderr, frame or b"")
        finally:
            for pipe in pipes:
                os.close(pipe)
            if result is not None:
                os.close(result)
            for process in processes:
                process.close()
            self.clean()

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
            code = self.compile(job)
            while (test := self.control.receive()) is not None:
                self.run_test(job["limits"], code, test)


def main():
    control = Control()
    setup = control.receive()
    sys.path[:] = [path for path in sys.path if path]
    # Signals of a terminal are for the supervisor.
    os.setsid()
    os.umask(0o022)
    os.environ.clear()
    try:
        state = enter(setup)
    except Refused as refusal:
        control.send({"refused": refusal.args})
        os._exit(1)
    # Imported once here: a fork finds them loaded.
    for name in setup["modules"]:
        __import__(name)
    sys.modules["site"].setquit()
    sys.modules["random"].seed(0)
    redirect()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    gc = __import__("gc")
    gc.collect()
    gc.freeze()
    control.send({
        "rungs": state.rungs, "landlock": state.landlock,
        "python": ".".join(map(str, sys.version_info[:3])),
    })
    Worker(setup, state, control).serve()


try:
    main()
except Gone:
    os._exit(0)
