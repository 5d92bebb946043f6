"""Runs Python tests in their process: reads them, binds their names, collects and runs them, and reports outcomes."""


class Malformed(Exception):
    """The tests are no Python, have no test, or import what is not there."""


class Solution(type(sys)):
    """The module `solution` as the tests see it: each name is an object of the submission."""

    def __init__(self, peer, tests):
        super().__init__("solution")
        self._peer, self._tests = peer, tests

    def __getattr__(self, name):
        if name == "__all__":
            # What the tests have bound before `from solution import *` stays theirs.
            names = self._peer.ask("names", 0)
            return [name for name in names if not is_own(name) and name not in self._tests]
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


def prompt_functions(statements):
    """The functions that a prompt defines beside the one under test. The tests call these and not functions of the
    same names in the submission, which could make any answer right."""
    import ast

    names = {}
    # Objects of the tests' classes cannot be used by a submission, so such classes and what makes them are its own.
    if not any(isinstance(node, ast.ClassDef) for node in statements):
        define_prompt(statements, names)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    own = [node.name for node in statements if isinstance(node, functions)]
    return {name: names[name] for name in own if name in names}


def bind_free_names(tree, functions, solution, names):
    for name in free_names(tree):
        if hasattr(builtins, name):
            continue
        if name in functions:
            names[name] = functions[name]
        elif name in sys.stdlib_module_names:
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


class Outcomes:
    """What became of each test, in the order in which they ran."""

    def __init__(self, peer):
        self.peer, self.rows, self.has_ended = peer, [], False

    def add(self, name, outcome, detail=""):
        self.rows.append([name, outcome, detail[:1024]])

    def add_error(self, name, error, asked, text=""):
        """Adds a test that raised an exception; the peer had made `asked` requests when the test began. A skipped
        test is left out if it made none, so that a submission cannot choose its tests."""
        if is_skip(error) and self.peer.n_asked == asked:
            return
        if isinstance(error, SubmissionEnded):
            self.has_ended = True
            return self.add(name, "ended", "the submission ended during the test")
        # A bare assert has no message: its text says what was expected.
        why = f"{type(error).__name__}: {error}".removesuffix(": ")
        outcome = "failed" if isinstance(error, AssertionError) or is_skip(error) else "error"
        self.add(name, outcome, f"{text}: {why}" if text else why)

    def add_ended(self, name):
        self.add(name, "ended", "the submission ended before the test")

    def run(self, name, work, text=""):
        """Runs one test."""
        if self.has_ended:
            return self.add_ended(name)
        asked = self.peer.n_asked
        try:
            work()
            self.add(name, "passed")
        except BaseException as error:
            self.add_error(name, error, asked, text)


def is_skip(error):
    unittest = sys.modules.get("unittest")
    return unittest is not None and isinstance(error, unittest.SkipTest)


def make_recorder(rows, skipped, of_class):
    """A result of `unittest` that adds what becomes of each test to `rows` by its method, tests that are skipped to
    `skipped`, and errors of the fixtures of the class to `of_class`."""
    import unittest

    class Recorder(unittest.TestResult):
        def startTest(self, test):
            self.asked = rows.peer.n_asked

        def addSuccess(self, test):
            rows.add(test._testMethodName, "passed")

        def addError(self, test, error):
            if not isinstance(test, unittest.TestCase):
                of_class.append(error[1])
                return
            rows.add_error(test._testMethodName, error[1], self.asked)
            if rows.has_ended:
                self.stop()

        addFailure = addError

        def addSubTest(self, test, part, error):
            if error is not None:
                self.addError(test, error)

        def addSkip(self, test, reason):
            error = unittest.SkipTest(reason)
            if not isinstance(test, unittest.TestCase):
                of_class.append(error)
                return
            # A part of a test names its test.
            method = getattr(test, "test_case", test)._testMethodName
            skipped.add(method)
            rows.add_error(method, error, self.asked)

        def addExpectedFailure(self, test, error):
            if isinstance(error[1], SubmissionEnded):
                self.addError(test, error)
            else:
                self.addSuccess(test)

        def addUnexpectedSuccess(self, test):
            rows.add(test._testMethodName, "failed", "it passed, which was not expected")

    return Recorder()


def run_cases(name, cases, outcomes):
    """Runs the tests of one class of `unittest.TestCase`, with the fixtures of the class."""
    import unittest

    methods = [case._testMethodName for case in cases]
    if outcomes.has_ended:
        for method in methods:
            outcomes.add_ended(f"{name}.{method}")
        return
    asked = outcomes.peer.n_asked
    rows, skipped, of_class = Outcomes(outcomes.peer), set(), []
    try:
        unittest.TestSuite(cases).run(make_recorder(rows, skipped, of_class))
    except BaseException as error:
        # From a fixture of the class: those of tests are recorded.
        of_class.append(error)
    found = {}
    for method, outcome, detail in rows.rows:
        # The first error is the test's; success is recorded only without one.
        found.setdefault(method, (outcome, detail))
    left = [method for method in methods if method not in found and method not in skipped]
    for method in methods:
        if method in found:
            outcomes.add(f"{name}.{method}", *found[method])
        elif method in left and of_class:
            outcomes.add_error(f"{name}.{method}", of_class[0], asked)
        elif method in left:
            outcomes.add_ended(f"{name}.{method}")
    if of_class and not left:
        outcomes.add_error(f"{name}.tearDownClass", of_class[0], asked)
    outcomes.has_ended = outcomes.has_ended or rows.has_ended


def as_case(cls):
    """A class of `unittest.TestCase` with the tests and fixtures of a class as pytest has them."""
    import unittest

    def call(function, argument):
        # It may take the argument or not.
        if function is not None:
            takes = function.__code__.co_argcount - hasattr(function, "__self__")
            function(*[argument][:takes])

    def of_class(name):
        function = getattr(cls, name, None)
        function = getattr(function, "__func__", function)
        return classmethod(lambda own: call(function, own))

    def of_method(name):
        return lambda own: call(getattr(own, name, None), getattr(own, own._testMethodName))

    return type(cls.__name__, (cls, unittest.TestCase), {
        "setUpClass": of_class("setup_class"), "tearDownClass": of_class("teardown_class"),
        "setUp": of_method("setup_method"), "tearDown": of_method("teardown_method"),
    })


def run_function(function):
    """Calls a test, and runs the coroutine that an `async` test returns."""
    import types

    value = function()
    if isinstance(value, types.CoroutineType):
        import asyncio

        asyncio.run(value)


def is_plain_class(value):
    """Whether pytest finds tests in a class that is none of `unittest.TestCase`."""
    tests = [name for name in dir(value) if name.startswith("test") and callable(getattr(value, name))]
    return bool(tests) and value.__init__ is object.__init__ and value.__new__ is object.__new__


def collect(names, outcomes):
    """Test functions, the methods of `unittest.TestCase` classes, and those of classes `Test*`, in the order of the
    file; each as a function that runs it. What the submission defines is none of them."""
    unittest, found = sys.modules.get("unittest"), []
    for name, value in list(names.items()):
        if isinstance(value, Remote):
            continue
        if not isinstance(value, type):
            if name.startswith("test") and callable(value):
                found.append(partial(outcomes.run, name, partial(run_function, value)))
            continue
        if name.startswith("Test") and not (unittest and issubclass(value, unittest.TestCase)) and is_plain_class(value):
            value = as_case(value)
            unittest = sys.modules["unittest"]
        if unittest and issubclass(value, unittest.TestCase):
            cases = list(unittest.TestLoader().loadTestsFromTestCase(value))
            if cases:
                found.append(partial(run_cases, name, cases, outcomes))
    return found


def partial(function, *arguments):
    return lambda: function(*arguments)


def may_have_tests(tree):
    """Whether the text of the tests has any, which no submission can change; tests that are always skipped are
    none."""
    import ast

    def is_skipped(node):
        marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
        return any("skip" in (getattr(mark, "id", None), getattr(mark, "attr", None)) for mark in marks)

    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}
    hidden = set()
    for node in classes:
        is_collected = node.bases or node.name.startswith("Test") or node.name in bases
        if is_skipped(node) or not is_collected:
            hidden.update(node.body)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(node, functions) and node.name.startswith("test") and node not in hidden and not is_skipped(node)
        for node in ast.walk(tree)
    )


def read_tests(test):
    """The code of the tests, that of each assertion, and the tree of both together."""
    import ast

    try:
        tree = ast.parse(test["code"])
        code = compile(tree, "tests.py", "exec", dont_inherit=True)
        asserts = [compile(text, "tests.py", "exec", dont_inherit=True) for text in test["asserts"]]
        tree.body += [node for text in test["asserts"] for node in ast.parse(text).body]
    except (SyntaxError, ValueError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None
    return code, asserts, tree


def run_file(test, peer, outcomes):
    """Runs the tests of a file, each of which becomes an outcome."""
    names = {"__name__": "tests", "__builtins__": builtins}
    solution = Solution(peer, names)
    modules = ("solution", *test.get("modules", []))
    code, asserts, tree = read_tests(test)
    check_imports(tree.body, {name.partition(".")[0] for name in modules})
    prompt, entry = test.get("prompt"), test.get("entry")
    peer.send([prompt, entry] if prompt else None)
    for name in modules:
        sys.modules[name] = solution
    functions = prompt_functions(prompt_statements(prompt, entry)) if prompt else {}
    bind_free_names(tree, functions, solution, names)
    if entry:
        names["candidate"] = getattr(solution, entry)
    exec(code, names)
    planned = []
    check = names.get("check")
    if check is not None and not isinstance(check, Remote) and "candidate" in names:
        planned.append(partial(outcomes.run, "check", partial(check, names["candidate"])))
    for number, statement in enumerate(asserts):
        text = test["asserts"][number].strip()[:256]
        planned.append(partial(outcomes.run, f"assert {number + 1}", partial(exec, statement, names), text))
    planned += collect(names, outcomes)
    for run in planned:
        run()
    if not outcomes.rows and not may_have_tests(tree):
        raise Malformed("they have no test: no function test_*, and no class of unittest or pytest with one")


def run_tests(test, nonce, result, reader, writer):
    """Runs the tests and reports how many passed, framed by the nonce."""
    peer = Peer(reader, writer, is_tester=True)
    outcomes = Outcomes(peer)
    try:
        run_file(test, peer, outcomes)
    except Malformed as error:
        outcomes.add("", "malformed", str(error))
    except SubmissionEnded:
        outcomes.add("", "ended", "the submission ended before the tests")
    except Exception as error:
        outcomes.add("", "broken", f"{type(error).__name__}: {error}")
    text = json.dumps(outcomes.rows)
    os.pwrite(result, f"{nonce}{len(text.encode())}\n{text}{nonce}".encode(), 0)
    os._exit(0)
