"""Start of a worker."""


def main():
    global json
    control = Control()
    written = []
    if not SETUP["tools"]:
        use_huge_pages()
        join_mappings()
        written = written_memory()
    # Out of reach later.
    null = fcntl.fcntl(os.open("/dev/null", os.O_RDWR), fcntl.F_DUPFD_CLOEXEC, 40)
    # In namespaces another file takes the place of that for stdin.
    for file in (STDIN, STDOUT, STDERR, RESULT, JOB):
        made = os.memfd_create("", os.MFD_CLOEXEC)
        os.dup2(made, file)
        if made > JOB:
            os.close(made)
    sys.path[:] = [path for path in sys.path if path]
    # Signals of a terminal are for the supervisor.
    os.setsid()
    os.umask(0o022)
    os.environ.clear()
    try:
        state = enter(SETUP)
    except Refused as refusal:
        import json

        control.send({"refused": refusal.args})
        os._exit(1)
    __import__("site").setquit()
    warm_up()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    shrink()
    taken = fill_pools()
    worker = NativeWorker(SETUP, state, control) if SETUP["tools"] else Worker(SETUP, state, control, null)
    worker.start_lean(written)
    import json

    # Imported once here: a fork finds them loaded.
    for name in SETUP["modules"]:
        __import__(name)
    if "random" in sys.modules:
        sys.modules["random"].seed(0)
    shrink()
    gather_memory(written)
    control.send({
        "rungs": state.rungs, "landlock": state.landlock,
        "python": ".".join(map(str, sys.version_info[:3])),
    })
    worker.serve()


try:
    main()
except Gone:
    os._exit(0)
