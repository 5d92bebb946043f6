#!/usr/bin/env python3
"""OpenRLHF's own reward server on a machine without a GPU.

    bench/peers/openrlhf_serve_rm.py --reward.model_name_or_path FOLDER --port 5000 ...

Runs `openrlhf.cli.serve_rm` as it is installed. It imports packages that are built for GPUs and
that serving a reward model on a processor never calls: those that are absent are empty here, and
whatever is called of them is an error.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
import types

FOR_GPUS = ("flash_attn", "deepspeed", "vllm", "bitsandbytes")


class Nothing:
    """Any name of an absent package: a base class for definitions, and an error when it is called."""

    def __init__(self, *_args, **_kwargs):
        raise RuntimeError("this needs a package for GPUs that is not installed")


class Empty(types.ModuleType):
    """A module that has every name and nothing behind it."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what is absent."""

    def __init__(self, absent):
        self.absent = absent

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.absent:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        pass


def main():
    absent = {name for name in FOR_GPUS if importlib.util.find_spec(name) is None}
    # What asks whether they are there shall be told the truth.
    import accelerate  # noqa: F401
    import peft  # noqa: F401
    import transformers  # noqa: F401

    sys.meta_path.append(Finder(absent))
    runpy.run_module("openrlhf.cli.serve_rm", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
