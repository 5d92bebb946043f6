"""A Python client that openapi-generator makes of the server's own OpenAPI document.

`cargo xtask test --clients -- generated` makes an environment with the packages of
`tests/clients/requirements/generated.txt` and runs it. By hand, in such an environment:

    python tests/clients/generated.py --binary target/release/tribunal

It needs a Java of version 11 or newer on the path, and says that it is skipped where there is none. The
script prints `ok` and ends with 0, or fails at the first thing that is not as it should be.
"""

import argparse
import contextlib
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

PACKAGE = "tribunal_generated"


@contextlib.contextmanager
def server(binary: str):
    """The address of a server, which ends with the block."""
    command = [binary, "serve", "--bind", "127.0.0.1:0", "--log", "warn"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http://[0-9.:]+", process.stdout.readline()).group()
        finally:
            process.terminate()


def generator(*arguments: str) -> str:
    """What openapi-generator says."""
    program = pathlib.Path(sys.executable).with_name("openapi-generator-cli")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def made(address: str, folder: pathlib.Path):
    """The package that is generated of the document of the server at `address`."""
    document = folder / "openapi.json"
    with urllib.request.urlopen(f"{address}/openapi.json", timeout=30) as reply:
        document.write_bytes(reply.read())
    said = generator("validate", "--input-spec", str(document))
    assert "No validation issues detected" in said, said
    options = ["--generator-name", "python", "--package-name", PACKAGE]
    generator("generate", "--input-spec", str(document), "--output", str(folder / "client"), *options)
    sys.path.insert(0, str(folder / "client"))
    return importlib.import_module(PACKAGE)


def check_models(package, client) -> int:
    """The scorers, as objects of their type."""
    listed = package.ScoringApi(client).models().data
    assert {"math", "exact", "judge"} <= {model.id for model in listed}
    assert all(isinstance(model, package.ModelInfo) for model in listed)
    return len(listed)


def check_scores(package, client) -> None:
    """A right answer, a wrong one, and one that nothing could be measured of."""
    asked = [
        package.ScoreInput.from_dict({"prompt": "What is 1/2 + 1/4?", "response": response, "reference": gold})
        for response, gold in [(r"\boxed{3/4}", "0.75"), (r"\boxed{1/3}", "0.75"), ("7", "not { readable")]
    ]
    request = package.ScoreRequest(model="math", inputs=asked)
    reply = package.ScoringApi(client).score(package.ScoreBody(request))
    assert isinstance(reply.actual_instance, package.ScoreResponse), reply
    results = reply.actual_instance.results
    assert [result.status for result in results] == ["ok", "ok", "bad_reference"], results
    assert [result.score for result in results] == [1.0, 0.0, None], results
    assert results[2].reason.code == "reference_unread", results[2]


def check_errors(package, client) -> None:
    """An unknown scorer is a 404 whose body is an object of its type."""
    request = package.ScoreRequest.from_dict({"model": "maths", "inputs": [{"response": "1", "reference": "1"}]})
    exceptions = importlib.import_module(f"{PACKAGE}.exceptions")
    try:
        package.ScoringApi(client).score(package.ScoreBody(request))
    except exceptions.NotFoundException as error:
        body = error.data.actual_instance
        assert isinstance(body, package.ErrorBody), error.data
        assert "did you mean math" in body.error.message, body
    else:
        raise AssertionError("a scorer of this name answers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/tribunal")
    arguments = parser.parse_args()
    if shutil.which("java") is None:
        print("skipped: there is no java on the path")
        return
    with tempfile.TemporaryDirectory() as folder, server(arguments.binary) as address:
        package = made(address, pathlib.Path(folder))
        client = package.ApiClient(package.Configuration(host=address))
        count = check_models(package, client)
        check_scores(package, client)
        check_errors(package, client)
        print(f"ok: a client of the document's {len(dir(package))} names lists {count} scorers and scores by them")


if __name__ == "__main__":
    main()
