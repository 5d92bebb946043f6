//! Verdicts by tests in Python: which of them are run, and whose names they use.

use std::path::Path;

use sandbox::Rung;
use serde_json::{Value, json};
use verifiers::code::{CodeVerdict, JudgeError};

use super::{has_python, place, policy, verdict};

/// What a submission must get: its verdict, and how many tests passed of how many.
type Expected = (CodeVerdict, usize, usize);

/// Judges each submission by its reference.
fn check(table: &[(&str, &Value, Expected)]) {
    if !has_python() {
        return;
    }
    let here = place("", Path::new("python3"), &Rung::ALL);
    for (source, reference, expected) in table {
        let result = verdict(&here.sandbox, source, reference, policy()).expect("a verdict");
        let found = (result.verdict, result.passed, result.total);
        assert_eq!(found, *expected, "{source}\n{reference}\n{result:?}");
    }
}

fn tests(code: &str) -> Value {
    json!({"unit_tests": code})
}

const RIGHT: &str = "def f(x): return x + 1";
const WRONG: &str = "def f(x): return 0";
use CodeVerdict::{Ok as Pass, RuntimeError as Fails, WrongAnswer as Wrong};

#[test]
fn names_that_tests_bind_are_not_replaced_by_a_star_import() {
    let case = tests(
        "from unittest import TestCase\nfrom solution import *\n\n\
         class TestF(TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
    );
    let close = tests(
        "from math import isclose\nfrom solution import *\n\
         def test_a():\n    assert isclose(f(1), 2)",
    );
    let limit =
        tests("EPS = 1e-6\nfrom solution import *\ndef test_a():\n    assert abs(f(1) - 2) < EPS");
    let later = tests(
        "from solution import *\nfrom math import isclose\ndef close(a, b): return isclose(a, b)\n\
         def test_a():\n    assert close(f(1), 2)",
    );
    check(&[
        (RIGHT, &case, (Pass, 1, 1)),
        ("def TestCase(): pass\ndef test_x(): pass", &case, (Fails, 0, 1)),
        ("class TestCase:\n    def test_x(self): pass", &case, (Fails, 0, 1)),
        (RIGHT, &close, (Pass, 1, 1)),
        ("def f(x): return 0\ndef isclose(*a, **k): return True", &close, (Wrong, 0, 1)),
        (RIGHT, &limit, (Pass, 1, 1)),
        ("def f(x): return 0\nEPS = 9", &limit, (Wrong, 0, 1)),
        (RIGHT, &later, (Pass, 1, 1)),
        (
            "def f(x): return 0\ndef isclose(*a): return True\ndef close(*a): return True",
            &later,
            (Wrong, 0, 1),
        ),
    ]);
}

#[test]
fn submission_adds_and_removes_no_tests() {
    let repeated = |n: usize, text: &str| {
        let texts: Vec<String> = (0..n).map(|i| text.replace('#', &i.to_string())).collect();
        texts.concat()
    };
    let ten = repeated(10, "def test_#():\n    assert f(#) == # + 1\n");
    let ten = tests(&format!("from solution import *\n{ten}"));
    let case = repeated(4, "    def test_#(self):\n        self.assertEqual(f(#), # + 1)\n");
    let case = tests(&format!(
        "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n{case}\
         class B(unittest.TestCase):\n{case}def test_last(): pass\n"
    ));
    let own = repeated(200, "def test_z#(): pass\n");
    let check_only = json!({"entry_point": "f", "test": "from solution import *\ndef test_a():\n    assert f(1) == 2"});
    let skips = tests(
        "import unittest, solution\nclass A(unittest.TestCase):\n    def test_a(self):\n        \
         if f(1) != 2: self.skipTest('no')\n    def test_b(self):\n        self.assertEqual(f(1), 2)\n",
    );
    check(&[
        (RIGHT, &ten, (Pass, 10, 10)),
        (&format!("def f(x): return None\n{own}"), &ten, (Wrong, 0, 10)),
        ("def f(x): return 1", &ten, (Wrong, 1, 10)),
        ("import os\ndef f(x):\n    if x: os._exit(0)\n    return 1", &ten, (Fails, 1, 10)),
        (RIGHT, &case, (Pass, 9, 9)),
        (
            "import os\ndef f(x):\n    if x == 2: os._exit(0)\n    return x + 1",
            &case,
            (Fails, 2, 9),
        ),
        ("def f(x): return 0\ndef check(candidate): pass", &check_only, (Wrong, 0, 1)),
        // A test that is skipped because of what the submission returned is not passed.
        (RIGHT, &skips, (Pass, 2, 2)),
        (WRONG, &skips, (Wrong, 0, 2)),
    ]);
}

#[test]
fn classes_of_tests_are_run_with_their_fixtures() {
    let plain = tests(
        "from solution import f\nclass TestF:\n    @classmethod\n    def setup_class(cls):\n        cls.one = 1\n    \
         def setup_method(self, method):\n        self.name = method.__name__\n    \
         def teardown_method(self):\n        assert self.name\n    \
         def test_a(self):\n        assert self.name == 'test_a' and f(self.one) == 2\n    \
         @staticmethod\n    def test_b():\n        assert f(2) == 3\n\
         class TestData:\n    def __init__(self, x): self.x = x\n    def test_c(self): assert False\n\
         class Other:\n    def test_d(self): assert False\n",
    );
    let mixed = tests(
        "from solution import f\ndef test_type():\n    assert isinstance(f(1), int)\n\
         class TestF:\n    def test_a(self):\n        assert f(1) == 2\n",
    );
    let fixtures = tests(
        "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n    @classmethod\n    \
         def setUpClass(cls): cls.one = 1\n    @classmethod\n    def tearDownClass(cls): del cls.one\n    \
         def setUp(self): self.two = self.one + 1\n    def test_a(self):\n        self.assertEqual(f(self.one), self.two)\n    \
         @unittest.expectedFailure\n    def test_b(self):\n        self.assertEqual(f(1), 1)\n    \
         def test_c(self):\n        for i in range(3):\n            with self.subTest(i=i): self.assertEqual(f(i), i + 1)\n",
    );
    let skipped = tests(
        "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n    def test_a(self):\n        \
         self.assertEqual(f(1), 2)\n    @unittest.skip('later')\n    def test_b(self): assert False\n    \
         def test_c(self): self.skipTest('not here')\n\
         @unittest.skip('all')\nclass B(unittest.TestCase):\n    def test_d(self): assert False\n",
    );
    let broken_class = tests(
        "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n    @classmethod\n    \
         def setUpClass(cls): assert f(1) == 2\n    def test_a(self): pass\n    def test_b(self): pass\n",
    );
    let coroutine = tests("from solution import f\nasync def test_a():\n    assert f(1) == 2\n");
    check(&[
        (RIGHT, &plain, (Pass, 2, 2)),
        (WRONG, &plain, (Wrong, 0, 2)),
        (RIGHT, &mixed, (Pass, 2, 2)),
        (WRONG, &mixed, (Wrong, 1, 2)),
        (RIGHT, &fixtures, (Pass, 3, 3)),
        (WRONG, &fixtures, (Wrong, 1, 3)),
        (RIGHT, &skipped, (Pass, 1, 1)),
        (WRONG, &skipped, (Wrong, 0, 1)),
        (RIGHT, &broken_class, (Pass, 2, 2)),
        (WRONG, &broken_class, (Wrong, 0, 2)),
        (RIGHT, &coroutine, (Pass, 1, 1)),
        (WRONG, &coroutine, (Wrong, 0, 1)),
    ]);
}

#[test]
fn files_without_tests_are_bad_references() {
    if !has_python() {
        return;
    }
    let here = place("", Path::new("python3"), &Rung::ALL);
    for code in [
        "from solution import *",
        "from solution import *\nclass Other:\n    def test_a(self): pass",
        "import unittest\nfrom solution import *\n@unittest.skip('all')\nclass A(unittest.TestCase):\n    def test_a(self): pass",
        "from solution import *\ndef helper(): pass",
    ] {
        for source in [RIGHT, "def test_a(): pass\nclass TestF:\n    def test_a(self): pass"] {
            let result = verdict(&here.sandbox, source, &tests(code), policy());
            assert!(matches!(result, Err(JudgeError::Tests(_))), "{code}\n{source}\n{result:?}");
        }
    }
    // Whether there is a test is not the submission's choice.
    let code = "import solution\nif hasattr(solution, 'f'):\n    def test_a():\n        assert solution.f(1) == 2";
    let result = verdict(&here.sandbox, "def g(): pass", &tests(code), policy());
    assert_eq!(result.map(|result| (result.verdict, result.passed)), Ok((Fails, 0)));
}

#[test]
fn tests_use_the_helpers_of_the_prompt_and_submissions_find_them() {
    // HumanEval/50 in short.
    let prompt = "def encode_shift(s: str):\n    \"\"\" Shifts by 5. \"\"\"\n    \
        return \"\".join([chr(((ord(ch) + 5 - ord(\"a\")) % 26) + ord(\"a\")) for ch in s])\n\n\n\
        def decode_shift(s: str):\n    \"\"\" Undoes encode_shift. \"\"\"\n";
    let shift = json!({"prompt": prompt, "entry_point": "decode_shift",
        "test": "def check(candidate):\n    for s in ['abc', 'xyz']:\n        assert candidate(encode_shift(s)) == s\n"});
    let right = "def decode_shift(s):\n    return ''.join([chr(((ord(ch) - 5 - ord('a')) % 26) + ord('a')) for ch in s])";
    let list = json!({"prompt": "from typing import List\n\n\ndef f(xs: List[int]) -> int:\n    \"\"\" Adds. \"\"\"\n",
        "entry_point": "f", "test": "def check(candidate):\n    assert candidate([1, 2]) == 3\n"});
    let helper = json!({"prompt": "import math\n\ndef half(x):\n    return x / 2\n\ndef f(x):\n",
        "entry_point": "f", "test": "def check(candidate):\n    assert candidate(4) == half(4)\n"});
    // What has no body yet is the submission's, and so is what a class of the prompt's is made by.
    let open = json!({"prompt": "def g(x):\n    \"\"\" One more. \"\"\"\n    ...\n\ndef f(x):\n    \"\"\" Twice g. \"\"\"\n",
        "entry_point": "f", "test": "def check(candidate):\n    assert candidate(1) == 4 and g(1) == 2\n"});
    let class = json!({"prompt": "class Node:\n    def __init__(self, x): self.x = x\n\ndef node(x): return Node(x)\n\ndef f(n):\n",
        "entry_point": "f", "test": "def check(candidate):\n    assert candidate(node(3)) == 3\n"});
    let prose = json!({"prompt": "Write f, please.", "entry_point": "f",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n"});
    check(&[
        (right, &shift, (Pass, 1, 1)),
        ("def encode_shift(s): return s\ndef decode_shift(s): return s", &shift, (Wrong, 0, 1)),
        ("def f(xs: List[int]) -> int: return sum(xs)", &list, (Pass, 1, 1)),
        (
            "from __future__ import annotations\ndef f(xs: List[int]) -> int: return sum(xs)",
            &list,
            (Pass, 1, 1),
        ),
        ("    return sum(xs)\n", &list, (Pass, 1, 1)),
        // It continues the prompt, though it defines a function with a longer name.
        ("    return f_of(xs)\ndef f_of(xs): return sum(xs)\n", &list, (Pass, 1, 1)),
        ("def f(x): return half(math.floor(x))", &helper, (Pass, 1, 1)),
        ("def half(x): return 0\ndef f(x): return 0", &helper, (Wrong, 0, 1)),
        ("def g(x): return x + 1\ndef f(x): return 2 * g(x)", &open, (Pass, 1, 1)),
        ("def f(n): return n.x", &class, (Pass, 1, 1)),
        ("  def f(x): return x + 1", &prose, (Pass, 1, 1)),
    ]);
}

#[test]
fn exceptions_are_expected_by_their_built_in_class() {
    let raises = |kind: &str| {
        tests(&format!(
            "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n    def test_a(self):\n        \
             with self.assertRaises({kind}): f('{{')\n"
        ))
    };
    let (value, key) = (raises("ValueError"), raises("KeyError"));
    let message = tests(
        "from solution import f\ndef test_a():\n    try: f('{')\n    except ValueError as error: \
         assert str(error).startswith('Expecting property name')\n    else: assert False\n",
    );
    let (decode, runtime) = (raises("UnicodeDecodeError"), raises("RuntimeError"));
    check(&[
        ("import json\ndef f(x): return json.loads(x)", &value, (Pass, 1, 1)),
        ("import json\ndef f(x): return json.loads(x)", &message, (Pass, 1, 1)),
        ("class E(KeyError): pass\ndef f(x): raise E(x)", &key, (Pass, 1, 1)),
        ("def f(x): return b'\\xff'.decode()", &decode, (Pass, 1, 1)),
        ("def f(x): return b'\\xff'.decode()", &value, (Pass, 1, 1)),
        ("def f(x): raise TypeError(x)", &value, (Fails, 0, 1)),
        ("class E(Exception): pass\ndef f(x): raise E(x)", &runtime, (Fails, 0, 1)),
        // None of them ends the tests or skips one.
        ("import unittest\ndef f(x): raise unittest.SkipTest(x)", &value, (Fails, 0, 1)),
        ("class E(SystemExit, ValueError): pass\ndef f(x): raise E(x)", &key, (Fails, 0, 1)),
    ]);
}
