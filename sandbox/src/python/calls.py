"""Calls between a process of tests and the process of a submission.

Tests and submission never share an interpreter: a submission cannot see expected values, replace
`assert`, or hand over an object that is equal to everything. Values cross as data (`encode`);
objects of the submission's own classes stay where they are and cross as numbers.
"""

class SubmissionEnded(BaseException):
    """The submission's process ended while the tests were running."""


class Malformed(Exception):
    """The tests are no Python, or import what is not there."""


class Peer:
    """One end: sends requests, and serves those of the other end while it waits for a reply."""

    def __init__(self, reader, writer, is_tester):
        self.reader, self.writer, self.is_tester = reader, writer, is_tester
        self.objects = []

    def send(self, message):
        data = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
        data = struct.pack("=I", len(data)) + data
        try:
            while data:
                data = data[os.write(self.writer, data):]
        except OSError:
            raise SubmissionEnded from None

    def read(self, size):
        data = b""
        while len(data) < size:
            part = os.read(self.reader, size - len(data))
            if not part:
                raise SubmissionEnded
            data += part
        return data

    def receive(self):
        (size,) = struct.unpack("=I", self.read(4))
        if size > 64 << 20:
            raise SubmissionEnded
        return json.loads(self.read(size))

    def encoded(self, value, depth=0):
        """The encoding of a value; what is no data is kept here under a number."""
        kinds = (str, int, float, complex, bytes, bytearray, dict, list, tuple, set, frozenset)
        if value is None or isinstance(value, (str, int, float, complex, bytes, bytearray)):
            return encode(value)
        if isinstance(value, Remote):
            return ["object", "yours", value._number]
        if not isinstance(value, kinds):
            self.objects.append(value)
            return ["object", "mine", len(self.objects) - 1, type(value).__name__]
        if depth > 40:
            raise TooDeep("the value nests too deeply")
        if isinstance(value, dict):
            items = [[self.encoded(k, depth + 1), self.encoded(v, depth + 1)] for k, v in dict.items(value)]
            return ["dict", items]
        for kind, name in ((list, "list"), (tuple, "tuple"), (set, "set"), (frozenset, "frozenset")):
            if isinstance(value, kind):
                return [name, [self.encoded(item, depth + 1) for item in kind.__iter__(value)]]

    def decoded(self, data):
        def make_object(rest):
            if rest[0] == "yours":
                return self.objects[rest[1]]
            return Remote(self, int(rest[1]), str(rest[2]))

        return decode(data, make_object)

    def ask(self, operation, target, *arguments, **named):
        """Runs an operation on an object of the other end."""
        before = [self.encoded(value) for value in arguments]
        self.send(["ask", operation, target, before, [[k, self.encoded(v)] for k, v in named.items()]])
        while True:
            kind, *rest = self.receive()
            if kind == "ask":
                self.serve(rest)
            elif kind == "value":
                for original, changed in zip(arguments, rest[1]):
                    if changed is not None:
                        replace_contents(original, self.decoded(changed))
                return self.decoded(rest[0])
            else:
                raise error_of(str(rest[0]), str(rest[1]))

    def serve(self, request):
        """Answers one request. The tests' end lets its objects be called and nothing else."""
        operation, target, arguments, named = request
        try:
            values = [self.decoded(value) for value in arguments]
            before = [self.encoded(value) if isinstance(value, (list, dict, set)) else None for value in values]
            keywords = {name: self.decoded(value) for name, value in named}
            if self.is_tester and operation != "call":
                raise PermissionError("the objects of the tests can only be called")
            result = OPERATIONS[operation](self.objects[target], *values, **keywords)
            after = [None if old is None else self.encoded(value) for old, value in zip(before, values)]
            changed = [None if old == new else new for old, new in zip(before, after)]
            reply = ["value", self.encoded(result), changed]
        except SubmissionEnded:
            raise
        except Exception as error:
            reply = ["error", type(error).__name__, str(error)[:4096]]
        self.send(reply)

    def serve_all(self):
        """Answers requests until the other end closes."""
        try:
            while True:
                kind, *rest = self.receive()
                if kind == "ask":
                    self.serve(rest)
        except SubmissionEnded:
            pass


def replace_contents(original, value):
    """Repeats in the caller's object what a call did to its argument."""
    if isinstance(original, list) and isinstance(value, list):
        original[:] = value
    elif isinstance(original, (dict, set)) and isinstance(value, type(original)):
        original.clear()
        original.update(value)


def error_of(name, message):
    """An exception of the other end as a built-in one, so that tests can expect it."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except Exception:
            pass
    return RuntimeError(f"{name}: {message}")


# What may be done with an object of the other end. `==` is not among them: an object that is equal
# to everything would pass every test.
OPERATIONS = {
    "call": lambda target, *arguments, **named: target(*arguments, **named),
    "get": lambda target, name: getattr(target, name),
    "set": lambda target, name, value: setattr(target, name, value),
    "len": lambda target: len(target),
    "item": lambda target, key: target[key],
    "list": lambda target: list(target),
    "next": lambda target: next(target),
    "str": lambda target: str(target),
    "repr": lambda target: repr(target),
    "bool": lambda target: bool(target),
    "names": lambda target: [name for name in target if not name.startswith("_")],
    "name": lambda target, name: target[name],
}


class Remote:
    """An object of the submission, seen by the tests. Two are equal if they are one object."""

    def __init__(self, peer, number, kind):
        object.__setattr__(self, "_peer", peer)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_kind", kind)

    def __call__(self, *arguments, **named):
        return self._peer.ask("call", self._number, *arguments, **named)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self._peer.ask("get", self._number, name)

    def __setattr__(self, name, value):
        self._peer.ask("set", self._number, name, value)

    def __len__(self):
        return int(self._peer.ask("len", self._number))

    def __getitem__(self, key):
        return self._peer.ask("item", self._number, key)

    def __iter__(self):
        return iter(self._peer.ask("list", self._number))

    def __next__(self):
        return self._peer.ask("next", self._number)

    def __str__(self):
        return str(self._peer.ask("str", self._number))

    def __repr__(self):
        return str(self._peer.ask("repr", self._number))

    def __bool__(self):
        return bool(self._peer.ask("bool", self._number))

    def __eq__(self, other):
        return isinstance(other, Remote) and other._number == self._number

    def __hash__(self):
        return hash(self._number)


def run_submission(code, reader, writer):
    """Loads the submission and answers the tests' calls."""

    def work():
        names = load(code, "solution")
        peer = Peer(reader, writer, is_tester=False)
        peer.objects.append(names)
        peer.serve_all()

    code = guarded(work)
    os.close(writer)
    os.close(reader)
    finish(code)


class Solution(type(sys)):
    """The module `solution` as the tests see it: each name is an object of the submission."""

    def __init__(self, peer):
        super().__init__("solution")
        self._peer = peer

    def __getattr__(self, name):
        if name == "__all__":
            names = self._peer.ask("names", 0)
            return [name for name in names if not is_own(name)]
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._peer.ask("name", 0, name)
        except KeyError:
            raise AttributeError(f"the submission has no '{name}'") from None


def is_own(name):
    """Whether tests mean a name of Python by it. A submission cannot redefine `abs` for its tests."""
    return hasattr(builtins, name) or name in sys.stdlib_module_names


def free_names(tree):
    """The names that the tests use without binding them."""
    import ast

    used, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound


def bind_free_names(tree, solution, names):
    for name in free_names(tree):
        if hasattr(builtins, name):
            continue
        if name in sys.stdlib_module_names:
            names[name] = __import__(name)
        else:
            try:
                names[name] = getattr(solution, name)
            except AttributeError:
                # The statement that uses it fails, and no other.
                pass


def check_imports(nodes, own):
    """Runs the imports of tests but those of the submission's modules, before anything of it was seen here: what
    is not found then is missing for every submission."""
    import ast

    for node in nodes:
        if isinstance(node, ast.Import):
            parts = [(alias.name, ast.Import([alias])) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            parts = [(node.module, node)]
        else:
            continue
        for name, part in parts:
            if name.partition(".")[0] in own:
                continue
            module = ast.fix_missing_locations(ast.Module([part], []))
            try:
                exec(compile(module, "tests.py", "exec", dont_inherit=True), {"__name__": "tests"})
            except ImportError as error:
                # Other causes, as memory, may be those of the moment.
                if isinstance(error, ModuleNotFoundError) or str(error).startswith("cannot import name"):
                    raise Malformed(f"{type(error).__name__}: {error}") from None
            except Exception:
                # It comes again where the tests run.
                pass


def run_tests(test, nonce, result, reader, writer):
    """Runs the tests and reports how many passed, framed by the nonce."""
    outcomes = []

    def record(name, work, text=""):
        try:
            work()
            outcomes.append([name, "passed", ""])
        except SubmissionEnded:
            outcomes.append([name, "ended", "the submission ended during the test"])
            raise
        except BaseException as error:
            kind = "failed" if isinstance(error, AssertionError) else "error"
            # A bare assert has no message: its text says what was expected.
            why = f"{type(error).__name__}: {error}".removesuffix(": ")
            outcomes.append([name, kind, (f"{text}: {why}" if text else why)[:1024]])

    try:
        import ast

        peer = Peer(reader, writer, is_tester=True)
        solution = Solution(peer)
        modules = ("solution", *test.get("modules", []))
        names = {"__name__": "tests", "__builtins__": builtins}
        try:
            tree = ast.parse(test["code"])
            code = compile(tree, "tests.py", "exec", dont_inherit=True)
            statements = [compile(text, "tests.py", "exec", dont_inherit=True) for text in test["asserts"]]
            uses = ast.Module([*tree.body, *(n for text in test["asserts"] for n in ast.parse(text).body)], [])
        except (SyntaxError, ValueError) as error:
            raise Malformed(f"{type(error).__name__}: {error}") from None
        check_imports(uses.body, {name.partition(".")[0] for name in modules})
        for name in modules:
            sys.modules[name] = solution
        bind_free_names(uses, solution, names)
        if test.get("entry"):
            names["candidate"] = getattr(solution, test["entry"])
        exec(code, names)
        if "check" in names and "candidate" in names:
            record("check", lambda: names["check"](names["candidate"]))
        for number, statement in enumerate(statements):
            text = test["asserts"][number].strip()[:256]
            record(f"assert {number + 1}", lambda: exec(statement, names), text)
        for name, work in collect(names):
            record(name, work)
    except Malformed as error:
        outcomes.append(["", "malformed", str(error)[:1024]])
    except SubmissionEnded:
        outcomes.append(["", "ended", "the submission ended before the tests"])
    except Exception as error:
        outcomes.append(["", "broken", f"{type(error).__name__}: {error}"[:1024]])
    text = json.dumps(outcomes)
    os.pwrite(result, f"{nonce}{len(text.encode())}\n{text}{nonce}".encode(), 0)
    os._exit(0)


def collect(names):
    """Test functions and the methods of `unittest.TestCase` classes, in the order of the file."""
    unittest = sys.modules.get("unittest")
    for name, value in list(names.items()):
        if name.startswith("test") and callable(value) and not isinstance(value, type):
            yield name, value
        elif unittest and isinstance(value, type) and issubclass(value, unittest.TestCase):
            for case in unittest.TestLoader().loadTestsFromTestCase(value):
                yield f"{name}.{case._testMethodName}", case.debug
