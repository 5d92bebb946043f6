"""Runs the recipes of docs/compat.md that are written in Python, as they are written.

`cargo xtask test --clients -- recipes` makes an environment with the packages of
`tests/clients/requirements/openai.txt` and runs it. By hand, in such an environment:

    python tests/clients/compat.py --url http://127.0.0.1:8080 --model rm

The model is a reward model. Only URL and name are replaced.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import io
import json
import math
import os
import pathlib
import re
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "compat.md"

REQUEST = {
    "custom_id": "a",
    "method": "POST",
    "url": "/v1/score",
    "body": {"model": "math", "inputs": [{"response": "4", "reference": "4"}]},
}


def run(code, names):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, str(PAGE), "exec"), names)
    return said.getvalue().split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a reward model")
    args = parser.parse_args()
    page = PAGE.read_text().replace("http://127.0.0.1:8080", args.url)
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.M | re.S)
    assert len(blocks) == 4, len(blocks)
    if importlib.util.find_spec("aiohttp") is None:
        print("skipped: aiohttp is not installed; the head of this file says how to")
        return
    # The recipe of batches reads its requests from the folder that it runs in.
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    pathlib.Path("requests.jsonl").write_text(json.dumps(REQUEST) + "\n")
    names = {}
    for code in blocks:
        said = run(code.replace('"rm"', repr(args.model)), names)
        if "compute_score" in code:
            compute_score = names["compute_score"]
            for truth, expected in (("4", 1.0), ("5", 0.0)):
                score = asyncio.run(compute_score("gsm8k", "\\boxed{4}", truth, extra_info={}))
                assert score == expected, score
            try:
                asyncio.run(compute_score("gsm8k", "\\boxed{4}", ""))
                raise AssertionError("an empty gold answer gave a number")
            except RuntimeError as error:
                assert "bad_reference" in str(error), error
        elif "files.create" in code:
            line = json.loads(" ".join(said))
            results = line["response"]["body"]["results"]
            assert line["custom_id"] == "a" and results[0]["score"] == 1.0, line
        elif "chat.completions" in code:
            name, _, number = said[0].partition(":")
            assert name == "reward" and math.isclose(float(number), float(said[1]), abs_tol=1e-6), said
        else:
            assert 0.0 <= float(said[0]) <= 1.0, said
    print("ok")


if __name__ == "__main__":
    main()
