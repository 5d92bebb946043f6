"""Runs the commands of docs/compat.md and docs/clients.md as they are written.

`cargo xtask test --clients -- commands` makes an environment with the packages of
`tests/clients/requirements/trainers.txt` and `trainers.alone.txt`, and runs it. By hand, in such an
environment, with `curl` and the server's program:

    python tests/clients/recipes.py --binary target/release/tribunal

`tribunal serve` is started, and `curl` sends what the page says; only the port, the folder and the
ids of a real model's tokens are replaced. A command that begins a training run (its `…` stands for a
cluster's worth of options) is not run: its options are held against the installed package, and the
function that would then ask for rewards is run by trainers.py and reward_files.py.
"""

import argparse
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

try:
    import verl
    from hydra import compose, initialize_config_dir
    from tribunal_client.local import LocalServer
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("compat.md", "clients.md")
TOKENS = "[9454, 2753]"
"""Ids of a real vocabulary, for which a tiny one has others."""


def commands(block):
    """The commands of a block, each with its words."""
    text = ""
    for line in block.splitlines():
        text += line + "\n"
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # a quotation goes on
            continue
        if words and not line.endswith("\\"):
            yield text, words
            text = ""
    assert not text.strip(), text


def served(binary, words, model):
    """The server of a `tribunal serve` as it is written, but on a free port."""
    line = " ".join(words[2:])
    line = re.sub(r"--set server\.bind=\S+", "", line)
    rest = shlex.split(line)
    return LocalServer(binary, [re.sub(r"=models/[\w-]+$", f"={model}", word) for word in rest])


def asks(text, url):
    """Sends a `curl` as it is written, to where the server is."""
    text = re.sub(r"http://127\.0\.0\.1:\d+", url, text).replace(TOKENS, "[9, 27]")
    run = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    reply = json.loads(run.stdout)
    assert not (isinstance(reply, dict) and ("error" in reply or "detail" in reply)), (text, reply)
    return reply


def openrlhf_knows(words):
    """Whether the options of a command are options of the module that it names."""
    module = words[words.index("-m") + 1]
    source = pathlib.Path(importlib.util.find_spec(module).origin).read_text()
    options = [word for word in words if word.startswith("--")]
    for option in options:
        assert f'add_argument("{option}"' in source, f"{module} has no {option}"
    return options


def verl_knows(words):
    """What verl's own configuration makes of the settings of a command."""
    overrides = [word for word in words if "=" in word]
    folder = pathlib.Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        config = compose("ppo_trainer", overrides=overrides)
    function = config.reward.custom_reward_function
    assert function.name == "compute_score" and function.reward_kwargs.scorer == "math", function
    return [override.partition("=")[0].lstrip("+") for override in overrides]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="tribunal", help="the server's program")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    for name, head in (("rm", "sequence"), ("judge", "vocab")):
        make = [args.binary, "models", "make-tiny", "--family", "qwen2", "--head", head]
        subprocess.run([*make, str(folder / name)], check=True, stdout=subprocess.DEVNULL)
    models = [word for name in ("rm", "judge") for word in ("--model", f"{name}={folder / name}")]
    counts = {"served": 0, "asked": 0, "options": 0}
    with LocalServer(args.binary, models) as common:
        for page in PAGES:
            blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S)
            for block in blocks:
                url, own = common.url, None
                for text, words in commands(block):
                    if words[:2] == ["tribunal", "serve"]:
                        if own:
                            own.close()
                        own = served(args.binary, words, folder / "rm")
                        url = own.url
                        counts["served"] += 1
                    elif words[0] == "curl":
                        reply = asks(text, url)
                        assert "/verify" not in text or reply["reward"] == 1.0, reply
                        counts["asked"] += 1
                    elif "openrlhf.cli.train_ppo_ray" in words:
                        print("openrlhf has", *openrlhf_knows(words))
                        counts["options"] += 1
                    elif "verl.trainer.main_ppo" in words:
                        print("verl has", *verl_knows(words))
                        counts["options"] += 1
                    elif "train.py" in words:
                        print("not run: slime is no package of PyPI; what it sends is a golden")
                    else:
                        print("not run here:", *words[:4])
                if own:
                    own.close()
    print(f"recipes: {counts}")
    assert counts["served"] >= 3 and counts["asked"] >= 5 and counts["options"] >= 3, counts
    print("ok")


if __name__ == "__main__":
    main()
