"""What runs in a guest around untrusted code. All that it writes is data for the supervisor."""

import builtins
import io
import os
import struct
import sys

# The file name of this code, which the interpreter gets as an argument.
OWN_FILE = "<string>"
EXIT_MEMORY = 99


class TooDeep(Exception):
    """A value nests too deeply to be reported."""


def encode(value, depth=0):
    """A value as JSON that keeps its type; objects of other classes become their class's name."""
    if depth > 40:
        raise TooDeep("the value nests too deeply")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return ["int", int.__repr__(value)]
    if isinstance(value, float):
        return ["float", float.__repr__(value)]
    if isinstance(value, complex):
        return ["complex", float.__repr__(value.real), float.__repr__(value.imag)]
    if isinstance(value, (bytes, bytearray)):
        return ["bytes", bytes(value).hex()]
    for kind, name in ((list, "list"), (tuple, "tuple"), (set, "set"), (frozenset, "frozenset")):
        if isinstance(value, kind):
            return [name, [encode(item, depth + 1) for item in kind.__iter__(value)]]
    if isinstance(value, dict):
        return ["dict", [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in dict.items(value)]]
    return ["object", type(value).__name__]


def decode(value, make_object):
    """The inverse of `encode`; `make_object` turns the rest of an `object` into a value."""
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "int":
        return int(rest[0])
    if kind == "float":
        return float(rest[0])
    if kind == "complex":
        return complex(float(rest[0]), float(rest[1]))
    if kind == "bytes":
        return bytes.fromhex(rest[0])
    if kind in ("list", "tuple", "set", "frozenset"):
        items = [decode(item, make_object) for item in rest[0]]
        return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](items)
    if kind == "dict":
        return {decode(key, make_object): decode(item, make_object) for key, item in rest[0]}
    return make_object(rest)


def redirect():
    """Text streams over descriptors 0 to 2, made once."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8", errors="replace")
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", errors="surrogateescape", newline="\n"
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True,
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def new_module(name):
    """The namespace of an empty module."""
    module = type(sys)(name)
    sys.modules[name] = module
    module.__file__ = name + ".py"
    return module.__dict__


def load(code, name):
    """Runs a module's code and returns its namespace."""
    names = new_module(name)
    exec(code, names)
    return names


def closed(status):
    """Ends what an interpreter ends: threads, exit handlers, output. Returns its exit code."""
    try:
        # Each step only where it has an effect: it would copy pages.
        modules = sys.modules
        if "threading" in modules and len(modules["threading"]._active) > 1:
            modules["threading"]._shutdown()
        if "atexit" in modules and modules["atexit"]._ncallbacks():
            modules["atexit"]._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        return status or 120
    return status


def finish(status):
    """Ends as an interpreter ends."""
    os._exit(closed(status))


def report_exception(error):
    """Writes the traceback without the frames of this harness; returns the exit code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == OWN_FILE:
        trace = trace.tb_next
    try:
        sys.__excepthook__(type(error), error.with_traceback(trace), trace)
    except BaseException:
        pass
    return EXIT_MEMORY if isinstance(error, MemoryError) else 1


def exit_code(error):
    """The exit code of an interpreter that `error` ends, and which reports it."""
    if not isinstance(error, SystemExit):
        return report_exception(error)
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(str(error.code) + "\n")
    return 1


def guarded(work):
    """Runs `work`; returns the exit code as an interpreter would."""
    try:
        work()
    except BaseException as error:
        return exit_code(error)
    return 0


def compile_source(source):
    """The code of a module; ends the process if there is none."""
    try:
        return compile(source, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        os.write(2, f"{type(error).__name__}: {error}"[:4096].encode("utf-8", "backslashreplace"))
        os._exit(1)


def run(code, names):
    """Runs a program that reads stdin and writes stdout; returns the exit code. Not by `guarded`: each function
    that is called is a copied page."""
    status = 0
    try:
        exec(code, names)
    except BaseException as error:
        status = exit_code(error)
    return closed(status)


def prepare_checker(job):
    """Gives a program arguments that name files which are nowhere but in memory."""
    names = ["input.txt", "correct_output.txt", "solution_output.txt"]
    texts = dict(zip(names, (job["input"], job["expected"], job["output"])))
    open_file = io.open

    def open_text(file, mode="r", *rest, **named):
        if not isinstance(file, (str, os.PathLike)) or os.fspath(file) not in texts or set(mode) - set("rbt"):
            return open_file(file, mode, *rest, **named)
        data = io.BytesIO(texts[os.fspath(file)].encode("utf-8", "surrogatepass"))
        return data if "b" in mode else io.TextIOWrapper(data, encoding="utf-8", errors="replace")

    io.open = builtins.open = open_text
    sys.argv = ["checker.py", *names]


def find_function(names, name):
    """A function of the module, or a method of its class `Solution`."""
    if name in names:
        return names[name]
    if "Solution" in names:
        return getattr(names["Solution"](), name)
    raise NameError(f"name '{name}' is not defined")


def run_call(code, test, nonce, result):
    """Calls a function and reports its value, framed by the nonce, on a descriptor of its own."""

    import json

    def work():
        names = load(code, "solution")
        function = find_function(names, test["function"])
        value = function(*test["args"], **test.get("kwargs", {}))
        if test.get("in_place"):
            value = test["args"][0]
        text = json.dumps(encode(value), ensure_ascii=True, separators=(",", ":"))
        frame = f"{nonce}{len(text)}\n{text}{nonce}".encode()
        os.pwrite(result, frame, 0)

    finish(guarded(work))
