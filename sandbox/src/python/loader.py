"""Runs the programs that come first on the control descriptor. Their texts and what a parser makes of them stay
in a process of their own: memory that was used once is not given back, and every fork would pay for it."""

import marshal
import os


def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data


def read_sources():
    """The texts of a frame, which has its length in bytes before it and null bytes between them."""
    return read(int.from_bytes(read(4), "little")).decode().split("\0")


def receive_programs():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        with open(writer, "wb") as file:
            marshal.dump([compile(source, "<string>", "exec") for source in read_sources()], file)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        programs = marshal.load(file)
    os.waitpid(pid, 0)
    return programs


for program in receive_programs():
    exec(program)
