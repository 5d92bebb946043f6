"""The worker: isolates itself, then serves jobs one after the other, each test in a fork.

Protocol: on the control descriptor, frames of a 32-bit length and JSON; a test's output follows its
frame as raw bytes, whose lengths the frame gives. The worker is the only trusted process in its
namespaces beside those of its own program.

The files at descriptors 0 to 4 are made once, and emptied between tests, when no process of a guest
is left.
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
# Seconds after which a test is not short.
SHORT = 0.01


class Gone(Exception):
    """The supervisor closed its end."""


class Stopped(Exception):
    """The supervisor needs no more of the tests that it sent."""


class Control:
    """The supervisor's end of the socket."""

    def __init__(self):
        self.descriptor = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 40)
        self.queued, self.poll = [], select.poll()
        self.poll.register(self.descriptor, select.POLLIN)

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

    def queue(self, message, *outputs):
        """Keeps a message for the next one that is sent."""
        data = json.dumps(message).encode()
        self.queued += (struct.pack("=I", len(data)), data, *outputs)

    def flush(self):
        view, self.queued = memoryview(b"".join(self.queued)), []
        while view:
            view = view[os.write(self.descriptor, view):]

    def send(self, message, *outputs):
        self.queue(message, *outputs)
        self.flush()

    def has_message(self):
        return bool(self.poll.poll(0))


def empty(file, content=b""):
    """Sets the content of a file that guests shared, and its offset to the start."""
    state = os.fstat(file)
    if state.st_size or state.st_blocks:
        os.ftruncate(file, 0)
    if state.st_mode & STDIN_MODE != STDIN_MODE:
        # A guest has closed it to those after it, who may open it by its path.
        os.fchmod(file, STDIN_MODE)
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
        self.cpu_filter = Filter(bytes.fromhex(setup["cpu_limit_filter"])) if self.filter else None
        self.is_single = self.filter is not None
        # The working folder of a test, and its state while no test has used it.
        self.place, self.untouched, self.folders = b"/", None, []
        # A namespace ends with its first process.
        self.die_with_worker = None if state.is_init else quick_prctl(PR_SET_PDEATHSIG, SIGKILL)
        self.lean, self.template = Forker(), Forker()
        # Of restricted processes.
        self.marks, self.mark = os.pipe()
        os.set_blocking(self.marks, False)
        self.job, self.null = None, null
        # Whether the supervisor may need no more of the tests that it sent.
        self.may_stop = False
        self.processors, self.is_pinned = os.sched_getaffinity(0), False

    def start_lean(self, written):
        """Forks the process that forks lean templates."""
        if self.state.is_init and not self.filter:
            # It would end with the processes of a guest.
            return
        pid = FORK()
        if pid == 0:
            begin_with(self.serve_templates, written)
        self.lean.attach(Process(pid))

    def serve_templates(self, written):
        """The process that forks lean templates."""
        if self.die_with_worker:
            self.die_with_worker()
        gather_memory(written)
        serve_orders(self, self.lean)

    def restrict(self, mark):
        """The last restrictions of a process beside a template's guests, which then writes its mark."""
        if self.die_with_worker:
            self.die_with_worker()
        if self.filter:
            self.filter.install()
        os.setsid()
        os.write(self.mark, mark)

    def limit(self, cpu_ms, memory):
        """Limits of a process of a submission and its forks. The worker ends it before the first."""
        # A template takes time too, for all tests of its submission.
        seconds = cpu_ms // 1000 + 12
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if self.cpu_filter:
            self.cpu_filter.install()

    def load_lean(self, order):
        """What a template by the lean process forks."""
        cpu_ms, memory = struct.unpack("=QQ", os.pread(JOB, 16, 0))
        source = os.pread(JOB, os.fstat(JOB).st_size - 16, 16).decode("utf-8", "surrogatepass")
        os.chdir(order.rstrip(b"\0"))
        return self.begin_template(source, cpu_ms, memory)

    def begin_template(self, source, cpu_ms, memory):
        """Compiles the submission in a session of its own: code, and the namespace of its module."""
        if self.die_with_worker:
            self.die_with_worker()
        os.setsid()
        self.limit(cpu_ms, memory)
        code, names = compile_source(source), new_module("__main__")
        os.write(self.template.reply, READY)
        return code, names

    def serve_tests(self, *job):
        """A template that is a fork of the worker."""
        serve_orders(self, self.template, *self.begin_template(*job))

    def read_job(self, order):
        """What a test has beside its input, in a guest."""
        place = order[1:].rstrip(b"\0")
        if place:
            os.chdir(place)
        return b"" if order[0] == PROGRAM[0] else os.pread(JOB, os.fstat(JOB).st_size, 0)

    def fork_child(self, begin, *arguments):
        """Forks the worker itself."""
        pid = FORK()
        if pid == 0:
            SIGNALS.pthread_sigmask(SIGNALS.SIG_UNBLOCK, CHILD_ENDS)
            begin_with(begin, *arguments)
        return Process(pid)

    def start_template(self, is_lean):
        """Starts the template of the loaded job; returns the limit that it met."""
        source, limits = self.job["source"], self.job["limits"]
        for file in (STDIN, STDOUT, STDERR):
            empty(file)
        if is_lean and self.lean.process:
            head = struct.pack("=QQ", limits["cpu_ms"], limits["memory"])
            empty(JOB, head + source.encode("utf-8", "surrogatepass"))
            self.lean.fork(self.place.ljust(ORDER_BYTES, b"\0"))
            process = Process(self.lean.forked())
        else:
            process = self.fork_child(self.serve_tests, source, limits["cpu_ms"], limits["memory"])
        self.is_lean, self.first_place = is_lean, self.place
        self.template.attach(process)
        reached = self.wait([process], limits, self.template.replies)
        if reached is None and process.status is None:
            os.read(self.template.replies, len(READY))
            for file in (STDOUT, STDERR, JOB):
                empty(file)
        return reached

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

    def short_end(self, limits):
        """Waits for the end of the only guest for as long as a test is short; returns what has ended."""
        end = time.monotonic() + min(SHORT, limits["cpu_ms"] / 1000, limits["wall_ms"] / 1000)
        while (left := end - time.monotonic()) > 0:
            SIGNALS.sigtimedwait(CHILD_ENDS, left)
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid in (self.template.process.pid, self.lean.process and self.lean.process.pid):
                raise Gone
            if pid:
                return Ended(status, usage)
        return None

    def wait(self, processes, limits, ready=None):
        """Waits until the last of them has ended, something is ready to be read, or a limit is
        reached; returns that limit's name."""
        self.control.flush()
        poll = select.poll()
        poll.register(self.control.descriptor, select.POLLRDHUP | (select.POLLIN if self.may_stop else 0))
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
            for handle, event in events:
                if handle == self.control.descriptor:
                    raise Stopped if event == select.POLLIN else Gone
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
        try:
            marks = os.read(self.marks, 64)
        except BlockingIOError:
            marks = b""
        for process, mark in zip(processes, (GUEST, TESTER)):
            process.started = mark in marks
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
        """Takes what was written to a stream; returns whether it was too long, too."""
        state, limit = os.fstat(file), self.job["limits"]["output"]
        size = state.st_size
        data = os.pread(file, min(size, limit), 0) if size else b""
        if size or state.st_blocks:
            os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        return data, size > limit

    def folder(self):
        """Makes an empty working folder, whose name no test before could know, the current one."""
        if self.state.work and self.folder_state() != self.untouched:
            clean_folder(self.state.work)
            self.place = f"{self.state.work}/{os.urandom(8).hex()}".encode()
            os.mkdir(self.place, 0o700)
            os.chdir(self.place)
            for folder in self.folders:
                os.close(folder)
            self.folders = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in (self.state.work, self.place)]
            self.untouched = self.folder_state()

    def folder_state(self):
        """What differs once something was done to the working folder, and remains of it. In a file system in memory
        the size of a folder counts its entries."""
        return [STATE(os.fstat(folder)) for folder in self.folders]

    def load(self, job):
        """Starts the template of a submission, and reports how that went."""
        self.job = job
        self.folder()
        reached = self.start_template(job["lean"])
        template = self.template.process
        if reached is None and template.status is None:
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
        if self.template.process and (kind == "program" or not self.is_lean):
            return
        self.template.end()
        if self.start_template(is_lean=False) or self.template.process.status is not None:
            # What compiled before does not any more: the machine is short of something.
            raise Gone

    def run_tests(self, tests, is_last):
        """Runs tests one after the other. Their reports wait for each other as long as the tests are short: to wake the
        supervisor for each takes as long as a part of a test. It ends them by an empty list, which is answered by
        nothing."""
        sent, self.may_stop = time.monotonic(), len(tests) > 1
        try:
            for number, test in enumerate(tests):
                if number and self.control.has_message():
                    raise Stopped
                self.run_test(test)
                if time.monotonic() - sent > SHORT:
                    self.control.flush()
                    sent = time.monotonic()
        except Stopped:
            for file in (STDOUT, STDERR):
                empty(file)
            tests = self.control.receive()["tests"]
        self.may_stop = False
        if tests:
            self.control.flush()
        else:
            self.control.send(None)
        if is_last:
            self.template.end()

    def run_test(self, test):
        """Runs one test and reports it."""
        limits, kind = self.job["limits"], test["kind"]
        start = time.monotonic()
        nonce = os.urandom(16).hex() if kind in ("call", "tests") else None
        processes = []
        try:
            if kind == "tests":
                self.folder()
                empty(STDIN)
                empty(RESULT)
                self.run_with_tester(processes, nonce)
                reached = self.wait(processes, limits)
            else:
                self.ready_template(kind)
                reached = self.run_by_template(processes, test, nonce)
        finally:
            self.reclaim(processes)
        if kind != "program":
            empty(JOB)
        self.report(processes, reached, nonce, start)

    def run_by_template(self, processes, test, nonce):
        """Runs a test in a fork of the template; returns the limit that it met."""
        limits, kind = self.job["limits"], test["kind"]
        empty(STDIN, test["stdin"].encode("utf-8", "surrogatepass") if kind == "program" else b"")
        if kind == "check":
            self.control.receive_secret(JOB)
        elif kind == "call":
            empty(RESULT)
            empty(JOB, (nonce + json.dumps(test)).encode())
        order = ORDERS[kind]
        if self.place != self.first_place:
            order = (order[:1] + self.place).ljust(ORDER_BYTES, b"\0")
        self.template.fork(order)
        if self.is_single and (ended := self.short_end(limits)):
            processes.append(ended)
            return None
        processes.append(Process(self.template.forked()))
        self.unpin([self.template.process, *processes])
        return self.wait(processes, limits)

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
        self.control.queue(report, stdout, stderr, frame or b"")
        for process in processes:
            process.close()

    def run_with_tester(self, processes, nonce):
        """Starts a guest that serves calls, and then the process of the tests, which makes them."""
        limits, source = self.job["limits"], self.job["source"]
        (guest_in, guest_out), (tester_in, tester_out) = os.pipe(), os.pipe()

        def guest():
            os.dup2(guest_in, RESULT)
            os.dup2(tester_out, JOB)
            self.limit(limits["cpu_ms"], limits["memory"])
            self.restrict(GUEST)
            os.closerange(JOB + 1, LAST_DESCRIPTOR)
            run_submission(compile_source(source), RESULT, JOB)

        def tester():
            # Its words are not those of the submission.
            for file in (STDIN, STDOUT, STDERR):
                os.dup2(self.null, file)
            tests = json.loads(os.pread(JOB, os.fstat(JOB).st_size, 0))
            os.dup2(tester_in, JOB)
            os.dup2(guest_out, JOB + 1)
            self.limit(limits["cpu_ms"], limits["memory"])
            self.restrict(TESTER)
            os.closerange(JOB + 2, LAST_DESCRIPTOR)
            run_tests(tests, nonce, RESULT, JOB, JOB + 1)

        # The submission is forked before the tests arrive: its memory cannot hold them.
        for run in (guest, tester):
            if processes:
                self.control.receive_secret(JOB)
            processes.append(self.fork_child(run))
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
        SIGNALS.pthread_sigmask(SIGNALS.SIG_BLOCK, CHILD_ENDS)
        while True:
            job = self.control.receive()
            self.pin()
            self.load(job)
            while (batch := self.control.receive()) is not None:
                self.run_tests(**batch)
            self.template.end()
            self.unpin()
