"""Calls between a process of tests and the process of a submission.

Tests and submission never share an interpreter: a submission cannot see expected values, replace
`assert`, or hand over an object that is equal to everything. Values cross as data (`encode`);
objects of the submission's own classes stay where they are and cross as numbers.
"""

class SubmissionEnded(BaseException):
    """The submission's process ended while the tests were running."""


class Peer:
    """One end: sends requests, and serves those of the other end while it waits for a reply."""

    def __init__(self, reader, writer, is_tester):
        self.reader, self.writer, self.is_tester = reader, writer, is_tester
        self.objects = []
        # Requests so far.
        self.n_asked = 0

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
        self.n_asked += 1
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
                raise error_of(rest[0], str(rest[1]))

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
            reply = ["error", [kind.__name__ for kind in type(error).__mro__], str(error)[:4096]]
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


def error_of(names, message):
    """An exception of the other end as the first built-in one among the names of its classes, so that tests can
    expect it."""
    for name in map(str, names):
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                return kind(message)
            except Exception:
                pass
            try:
                # Some take other arguments, as `UnicodeDecodeError`.
                error = kind.__new__(kind)
                error.args = (message,)
                return error
            except Exception:
                pass
    return RuntimeError(message)


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
    """Loads the submission, in the names of the prompt that the tests send first, and answers the tests' calls."""

    def work():
        peer = Peer(reader, writer, is_tester=False)
        prompt, names = peer.receive(), new_module("solution")
        if prompt:
            define_prompt(prompt_statements(*prompt), names)
        exec(code, names)
        peer.objects.append(names)
        peer.serve_all()

    code_of_exit = guarded(work)
    os.close(writer)
    os.close(reader)
    finish(code_of_exit)


def prompt_statements(prompt, entry):
    """The statements of a prompt in Python but the function `entry`, which it begins, and functions without a body
    yet; none if it is no Python."""
    import ast

    for end in ("", "\n    pass\n"):
        try:
            tree = ast.parse(prompt.rstrip() + end)
            break
        except (SyntaxError, ValueError):
            continue
    else:
        return []

    def is_open(node):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        rest = [part for part in node.body if not isinstance(part, (ast.Pass, ast.Raise))]
        return not [part for part in rest if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]

    return [node for node in tree.body if getattr(node, "name", None) != entry and not is_open(node)]


def define_prompt(statements, names):
    """Runs statements of a prompt, each for itself."""
    import ast

    for node in statements:
        module = ast.fix_missing_locations(ast.Module([node], []))
        try:
            exec(compile(module, "prompt.py", "exec", dont_inherit=True), names)
        except Exception:
            # What uses it fails, and nothing else.
            pass
