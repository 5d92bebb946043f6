//! Attacks. Bounded, on loopback, in scratch folders: one that succeeds does no harm.

/// Programs that print `escaped` if they reach what they may not.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    // Processes.
    (
        "fork",
        "import os\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nprint('escaped')",
    ),
    (
        "fork bomb",
        "import os\nfor _ in range(100):\n    if os.fork() == 0:\n        os._exit(0)\nprint('escaped')",
    ),
    (
        "double fork",
        "import os\nif os.fork() == 0:\n    if os.fork() == 0:\n        os._exit(0)\n    os._exit(0)\nprint('escaped')",
    ),
    (
        "subprocess",
        "import subprocess\nprint(subprocess.run(['/bin/echo', 'escaped'], capture_output=True, text=True).stdout)",
    ),
    ("exec", "import os\nos.execv('/bin/echo', ['echo', 'escaped'])"),
    ("posix_spawn", "import os\npid = os.posix_spawn('/bin/true', ['true'], {})\nprint('escaped')"),
    (
        "multiprocessing",
        "import multiprocessing as m\np = m.get_context('fork').Process(target=print, args=('escaped',))\np.start(); p.join()",
    ),
    (
        "thread bomb",
        "import threading, time\nthreading.stack_size(1 << 16)\nfor _ in range(3000):\n    threading.Thread(target=time.sleep, args=(1.5,), daemon=True).start()\nprint('escaped')",
    ),
    ("signal the supervisor", "import os\nos.kill({PID}, 0)\nprint('escaped')"),
    (
        "stop the worker",
        "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nprint('escaped')",
    ),
    ("kill everything", "import os\nos.kill(-1, 0)\nprint('escaped')"),
    ("kill the group", "import os\nos.killpg(0, 9)\nprint('escaped')"),
    (
        "pidfd",
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)\nprint('escaped')",
    ),
    (
        "ptrace",
        "import ctypes\nprint('escaped' if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0 else 'no')",
    ),
    (
        "process memory",
        "import ctypes, os\nb = ctypes.create_string_buffer(8)\nclass V(ctypes.Structure):\n    _fields_ = [('p', ctypes.c_void_p), ('n', ctypes.c_size_t)]\nv = V(ctypes.addressof(b), 8)\nctypes.CDLL(None).process_vm_readv(os.getppid(), ctypes.byref(v), 1, ctypes.byref(v), 1, 0)\nprint('escaped')",
    ),
    (
        "limit of the worker",
        "import os, resource as r\nr.prlimit(os.getppid(), r.RLIMIT_CPU, (900, 900))\nprint('escaped')",
    ),
    (
        "file size of the worker",
        "import os, resource as r\nr.prlimit(os.getppid(), r.RLIMIT_FSIZE)\nprint('escaped')",
    ),
    (
        "limit of the supervisor",
        "import resource as r\nr.prlimit({PID}, r.RLIMIT_CORE)\nprint('escaped')",
    ),
    (
        "processors of the worker",
        "import os\nos.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))\nprint('escaped')",
    ),
    (
        "signal the worker's thread",
        "import ctypes, os\ncall = 131 if os.uname().machine == 'aarch64' else 234\nprint('escaped' if ctypes.CDLL(None).syscall(call, os.getppid(), os.getppid(), 0) == 0 else 'no')",
    ),
    ("kill oneself", "import signal\nsignal.raise_signal(signal.SIGKILL)"),
    (
        "signal by descriptor",
        "import os, fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, 10, 9)\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getpid())\nprint('escaped')",
    ),
    // Limits.
    ("raise a limit", "import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))\nprint('escaped')"),
    (
        "raise cpu time",
        "import resource as r\nr.setrlimit(r.RLIMIT_CPU, (900, 900))\nprint('escaped')",
    ),
    (
        "raise processes",
        "import resource as r\nr.setrlimit(r.RLIMIT_CORE, (1 << 30, 1 << 30))\nprint('escaped')",
    ),
    ("memory", "x = bytearray(1 << 30)\nprint('escaped')"),
    ("mmap", "import mmap\nm = mmap.mmap(-1, 1 << 30)\nprint('escaped')"),
    (
        "shared memory",
        "import ctypes\nprint('escaped' if ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0 else 'no')",
    ),
    ("memfd", "import os\nos.memfd_create('x')\nprint('escaped')"),
    (
        "fill the working folder",
        "n = 0\nfor i in range(100):\n    n += open(str(i), 'wb').write(b'x' * (1 << 20))\nif n > 80 << 20: print('escaped')",
    ),
    (
        "zip bomb",
        "import zlib\nd = zlib.compress(b'0' * (200 << 20))\nx = [zlib.decompress(d) for _ in range(9)]\nprint('escaped')",
    ),
    (
        "nested source",
        "x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
    ),
    ("alarm", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nsignal.pause()"),
    // Files.
    ("read a file", "print(open('{FOLDER}/secret').read())"),
    (
        "symbolic link",
        "import os\nos.symlink('{FOLDER}/secret', 'link')\nprint(open('link').read())",
    ),
    ("hard link", "import os\nos.link('{FOLDER}/secret', 'link')\nprint(open('link').read())"),
    ("write a file", "open('{FOLDER}/scratch', 'w').write('x')\nprint('escaped')"),
    ("create a file", "open('{FOLDER}/pwned', 'w')\nprint('escaped')"),
    ("list the root", "import os\nprint('escaped' if 'proc' in os.listdir('/') else 'no')"),
    ("own environment", "if open('/proc/self/environ').read(): print('escaped')"),
    (
        "parent's environment",
        "import os\nif open(f'/proc/{os.getppid()}/environ').read(): print('escaped')",
    ),
    ("supervisor's environment", "if open('/proc/{PID}/environ').read(): print('escaped')"),
    ("supervisor's memory", "open('/proc/{PID}/mem', 'rb')\nprint('escaped')"),
    ("own executable", "if open('/proc/self/exe', 'rb').read(4): print('escaped')"),
    ("root of init", "import os\nif os.listdir('/proc/1/root'): print('escaped')"),
    (
        "sockets among the descriptors",
        "import os, stat\nfor fd in range(3, 512):\n    try: mode = os.fstat(fd).st_mode\n    except OSError: continue\n    if stat.S_ISSOCK(mode): print('escaped')",
    ),
    ("become root", "import os\nos.setuid(0)\nprint('escaped')"),
    ("password file", "if open('/etc/passwd').read(): print('escaped')"),
    ("leave the root", "import os\nos.chroot('.')\nprint('escaped')"),
    ("dev shm", "open('/dev/shm/tribunal-pwned', 'w')\nprint('escaped')"),
    ("make a device", "import os\nos.mknod('null', 0o20666, os.makedev(1, 3))\nprint('escaped')"),
    // Network.
    (
        "tcp to loopback",
        "import socket\nsocket.create_connection(('127.0.0.1', {PORT}), 1)\nprint('escaped')",
    ),
    (
        "abstract socket",
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0tribunal-{PID}')\nprint('escaped')",
    ),
    (
        "listen",
        "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\nprint('escaped')",
    ),
    (
        "datagrams of a pair",
        "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nprint('escaped')",
    ),
    (
        "owner of a socket",
        "import fcntl, os, socket, struct\na, b = socket.socketpair()\nfcntl.ioctl(a, 0x8901, struct.pack('i', os.getppid()))\nprint('escaped')",
    ),
    (
        "udp",
        "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.sendto(b'x', ('127.0.0.1', 9))\nprint('escaped')",
    ),
    (
        "dns",
        "import socket\nif socket.getaddrinfo('127.0.0.1', 80): socket.socket(); print('escaped')",
    ),
    (
        "metadata address",
        "import socket\nsocket.create_connection(('169.254.169.254', 80), 0.1)\nprint('escaped')",
    ),
    (
        "netlink",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nprint('escaped')",
    ),
    // Kernel.
    (
        "unshare",
        "import ctypes\nprint('escaped' if ctypes.CDLL(None).unshare(0x10000000) == 0 else 'no')",
    ),
    ("setns", "import ctypes\nctypes.CDLL(None).setns(0, 0)\nprint('escaped')"),
    (
        "clone3",
        "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nl.syscall(435, 0, 0)\nprint('escaped' if ctypes.get_errno() == 22 else 'no')",
    ),
    (
        "io_uring",
        "import ctypes\nb = ctypes.create_string_buffer(120)\nctypes.CDLL(None).syscall(425, 4, b)\nprint('escaped')",
    ),
    (
        "mount",
        "import ctypes\nctypes.CDLL(None).mount(b'x', b'/', b'tmpfs', 0, None)\nprint('escaped')",
    ),
    (
        "keyring",
        "import ctypes\nctypes.CDLL(None).syscall(219 if __import__('os').uname().machine == 'aarch64' else 250, 0, -3, 1)\nprint('escaped')",
    ),
    (
        "undo the privileges' end",
        "import ctypes\nctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\nprint('escaped')",
    ),
    (
        "set the clock",
        "import time\ntime.clock_settime(time.CLOCK_REALTIME, time.time())\nprint('escaped')",
    ),
    ("host name", "import socket\nsocket.sethostname('x')\nprint('escaped')"),
    // Environment.
    ("environment", "import os\nif os.environ: print('escaped')"),
    (
        "arguments",
        "import sys\nif 'escaped' in ''.join(sys.orig_argv).replace(\"'escaped'\", ''): print('escaped')",
    ),
];

/// Programs that a limit ends. They take time, so they are run in one place.
pub(crate) const EXHAUSTING: &[(&str, &str)] = &[
    ("endless output", "while True: print('escaped' * 100_000)"),
    ("output, then sleep", "import sys, time\nprint('x' * 2_000_000, flush=True)\ntime.sleep(60)"),
    ("endless loop", "while True: pass"),
    ("regex bomb", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')\nprint('escaped')"),
    ("number bomb", "x = 9 ** 9 ** 9\nprint('escaped')"),
    ("recursion", "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()"),
];

/// Submissions without the answer that try to pass all the same.
pub(crate) const FORGERIES: &[(&str, &str)] = &[
    ("nothing", "f = None"),
    ("os._exit", "import os\nos._exit(0)"),
    ("os._exit in the call", "def f(x):\n    import os\n    os._exit(0)"),
    ("exit", "exit(0)"),
    ("exit in the call", "def f(x): exit(0)"),
    (
        "exit at the end",
        "import atexit, os\natexit.register(lambda: os._exit(0))\ndef f(x): return 0",
    ),
    ("pass marker", "print('PASSED')\nprint('1 passed')\nprint('OK')\ndef f(x): return 0"),
    (
        "equal to everything",
        "class E:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 42\ndef f(x): return E()",
    ),
    (
        "integer that lies",
        "class I(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 42\n    def __repr__(self): return '42'\ndef f(x): return I(0)",
    ),
    (
        "text that lies",
        "class S(str):\n    def __eq__(self, other): return True\n    def __str__(self): return '42'\ndef f(x): return S('0')",
    ),
    (
        "class that lies",
        "class L:\n    @property\n    def __class__(self): return int\n    def __eq__(self, other): return True\ndef f(x): return L()",
    ),
    (
        "patched builtins",
        "import builtins\nbuiltins.AssertionError = Exception\nbuiltins.abs = lambda x: 0\nbuiltins.isinstance = lambda a, b: True\ndef f(x): return 0",
    ),
    (
        "patched unittest",
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nunittest.TestCase.assertIn = lambda *a: None\ndef f(x): return 0",
    ),
    ("own check", "def check(candidate): pass\ndef f(x): return 0"),
    (
        "patched json",
        "import json\njson.dumps = lambda *a, **k: '[\"int\",\"42x\"]'\ndef f(x): return 0",
    ),
    (
        "frames",
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for value in frame.f_locals.values():\n            if isinstance(value, dict) and 'expected' in value: return value['expected']\n        frame = frame.f_back",
    ),
    (
        "garbage collector",
        "import gc\ndef f(x):\n    for item in gc.get_objects():\n        if isinstance(item, dict) and 'expected' in item: return item['expected']",
    ),
    (
        "texts in memory",
        "import gc\ndef f(x):\n    for item in gc.get_objects():\n        if isinstance(item, (list, tuple)):\n            for text in item:\n                if isinstance(text, str) and ''.join(['candidate(', '41) ==']) in text: return 42\n    return 0",
    ),
    (
        "every descriptor",
        "import os\nfor fd in range(3, 512):\n    try: os.write(fd, b'[[\"check\",\"passed\",\"\"]]')\n    except OSError: pass\ndef f(x): return 0",
    ),
    (
        "bogus replies",
        "import os, struct\ndef f(x):\n    body = b'[\"value\", null, []]'\n    for fd in range(3, 512):\n        try: os.write(fd, struct.pack('=I', len(body)) + body)\n        except OSError: pass\n    return 0",
    ),
    (
        "calls back",
        "import os, struct\ndef f(x):\n    body = b'[\"ask\", \"get\", 0, [\"__globals__\"], []]'\n    for fd in range(3, 512):\n        try: os.write(fd, struct.pack('=I', len(body)) + body)\n        except OSError: pass\n    return 0",
    ),
    ("assertion error", "def f(x): raise AssertionError('passed')"),
    ("system exit", "def f(x): raise SystemExit(0)"),
    ("keyboard interrupt", "def f(x): raise KeyboardInterrupt"),
    ("not a number", "def f(x): return float('nan')"),
    ("float", "def f(x): return True"),
    ("deep value", "def f(x):\n    v = []\n    for _ in range(10_000): v = [v]\n    return v"),
    ("itself", "def f(x):\n    v = []\n    v.append(v)\n    return v"),
    ("large value", "def f(x): return 'x' * (8 << 20)"),
    ("forged module", "import sys\nsys.modules['unittest'] = sys\ndef f(x): return 0"),
    (
        "shadowing file",
        "try:\n    open('unittest.py', 'w').write('raise SystemExit(0)')\n    open('sitecustomize.py', 'w').write('raise SystemExit(0)')\n    open('conftest.py', 'w').write('raise SystemExit(0)')\nexcept OSError: pass\ndef f(x): return 0",
    ),
];

/// Programs that change what a later test could see; each prints `none` while it sees nothing.
pub(crate) const REMAINS: &[&str] = &[
    "import os\ntry:\n    print('none' if not os.path.exists('mark') else 'mark')\n    open('mark', 'w')\nexcept OSError: pass",
    "import os\ntry:\n    os.mkdir('d'); open('d/f', 'w'); os.chmod('d', 0)\nexcept OSError: pass\nprint('none')",
    "import os\ntry:\n    for _ in range(1500):\n        os.mkdir('d'); os.chdir('d')\nexcept OSError: pass\nprint('none')",
    "import os\ntry:\n    os.symlink('/', 'root'); os.symlink('loop', 'loop')\nexcept OSError: pass\nprint('none')",
    "import os\ntry:\n    os.chmod('..', 0)\nexcept OSError: pass\nprint('none')",
    "import os\ntry:\n    os.rmdir(os.getcwd())\nexcept OSError: pass\nprint('none')",
    "import random, time\nprint('none' if random.random() == 0.8444218515250481 else 'seen')",
    "import builtins\nprint('none' if not hasattr(builtins, 'mark') else 'mark')\nbuiltins.mark = 1",
];
