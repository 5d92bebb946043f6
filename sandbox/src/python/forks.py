"""Processes of a worker, and what they say to each other.

A fork copies page tables and protects every page against writing, and each side copies the pages
that it writes: that is most of a test's time. So a submission has a template, a process that
compiled it and does nothing but fork, and most templates are forks of a lean process that did not
import the library. All of them are children of the worker.
"""

import ctypes
import os
import select
import struct
import time

CLONE_PARENT = 0x8000
# Milliseconds after which a process that forks for others and does not reply is lost. A fork takes less
# than one.
REPLY_LIMIT = 10_000
# Orders to a process that forks, all of one size: run the program, the call in the file `JOB`, or the program
# as a checker of the texts in it, each followed by another folder if there is one; reply with the number of the last
# fork.
ORDER_BYTES = 64
ORDERS = {
    kind: order.ljust(ORDER_BYTES, b"\0")
    for kind, order in {"program": b"p", "call": b"c", "check": b"k", "number": b"n"}.items()
}
PROGRAM, CALL, CHECK, NUMBER = ORDERS.values()
# What a template writes once it is ready for orders.
READY = b"r"
# What a process writes once it is restricted: the submission's, and that of the tests.
GUEST, TESTER = b"g", b"t"


# `fork` without the hooks of `os.fork`, which reseed generators and rebuild locks: they cost three
# times what the fork does. This process has one thread and holds no lock, so nothing is left to
# repair, and a generator of random numbers starts every test in the same state.
FORK = PLAIN_LIBC.fork
SYSCALL = PLAIN_LIBC.syscall
# `signal` without its enumerations, which a fork would copy.
SIGNALS = __import__("_signal")
CHILD_ENDS = (SIGCHLD,)
STATE = __import__("_operator").attrgetter(
    "st_mode", "st_nlink", "st_size", "st_atime_ns", "st_mtime_ns", "st_ctime_ns"
)


def begin_with(run, *arguments):
    """Runs the program of a child, which never returns to that of its parent."""
    try:
        run(*arguments)
    finally:
        os._exit(1)


class Forker:
    """The worker's end of a process that forks by `serve_orders`."""

    def __init__(self):
        (self.orders, self.order), (self.replies, self.reply) = os.pipe(), os.pipe()
        self.process = None
        self.poll = select.poll()
        self.poll.register(self.replies, select.POLLIN)

    def attach(self, process):
        self.process = process
        self.poll.register(process.handle, select.POLLIN)

    def fork(self, order):
        """Forks; the child may end before this returns."""
        os.write(self.order, order)

    def forked(self):
        """The number of the last fork."""
        os.write(self.order, NUMBER)
        ready = [handle for handle, _ in self.poll.poll(REPLY_LIMIT)]
        if not ready or self.process.handle in ready:
            raise Gone
        (pid,) = struct.unpack("=i", os.read(self.replies, 4))
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
        _, self.status, self.usage = os.wait4(self.pid, 0)

    def end(self):
        if self.status is None:
            self.killed = True
            os.kill(self.pid, SIGKILL)
            self.reap()

    def close(self):
        os.close(self.handle)


class Ended(Process):
    """A child of the worker that has ended by itself."""

    def __init__(self, status, usage):
        self.status, self.usage, self.started, self.killed = status, usage, False, False

    def close(self):
        pass


def serve_orders(worker, forker, code=None, names=None):
    """Forks a child of the worker for each order, and is the program of that child: of a template if `code` is
    `None`, else of a guest. One function, because what a guest touches first is a copied page, and functions and
    their locals lie on pages of their own."""
    read, write, leave, fork, number, close = os.read, os.write, os._exit, SYSCALL, os.getpid, os.closerange
    # Numbers that fit into 32 bits, as `syscall` and `prctl` take them: no object is made for a call.
    clone = (worker.setup["clone"], CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
    orders, reply, mark, die = forker.orders, forker.reply, worker.mark, worker.die_with_worker
    has_filter, prctl = worker.filter is not None, PLAIN_LIBC.prctl
    words, places, program = worker.filter.parts() if has_filter else (None, (), None)
    install = (PR_SET_SECCOMP, 2, program, 0, 0)
    pid = 0
    while order := read(orders, ORDER_BYTES):
        if order == NUMBER:
            write(reply, struct.pack("=i", pid))
            continue
        pid = fork(*clone)
        if pid < 0:
            leave(1)
        if pid == 0:
            if code is not None:
                break
            code, names = worker.load_lean(order)
            orders, reply = worker.template.orders, worker.template.reply
    else:
        leave(0)
    if order != PROGRAM:
        job = worker.read_job(order)
    if die:
        die()
    if has_filter:
        # With a filter it can signal no process of its session, and needs none of its own.
        own = number()
        for place in places:
            words[place] = own
        if prctl(*install) != 0:
            leave(1)
    else:
        os.setsid()
    write(mark, GUEST)
    if order != PROGRAM and CALL[0] == order[0]:
        close(JOB, LAST_DESCRIPTOR)
        run_call(code, json.loads(job[32:]), job[:32].decode(), RESULT)
    close(RESULT, LAST_DESCRIPTOR)
    if order != PROGRAM and CHECK[0] == order[0]:
        prepare_checker(json.loads(job))
    leave(run(code, names))
