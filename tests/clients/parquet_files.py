"""Opens what `tribunal filter` writes with pyarrow and pandas.

`cargo xtask test --clients -- parquet` makes an environment with the packages of
`tests/clients/requirements/ray.txt` and runs it. By hand, in an environment with pyarrow and pandas:

    python tests/clients/parquet_files.py --binary target/release/tribunal

Scored rows with texts of every kind, nulls and nested columns become Parquet, in one file and in
shards, and pairs for trainers of preferences; both libraries must read the values that went in.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

try:
    import pandas
    import pyarrow.parquet
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None

TEXTS = ["plain", "", "zwei\nZeilen \u00e4", "\u6570\u5b66 \U0001f600", None]


def rows():
    """Rows of ten groups, in each of which some responses are right."""
    for number in range(40):
        yield {
            "id": number,
            "prompt": [{"role": "user", "content": f"question {number % 10}"}],
            "response": [{"role": "assistant", "content": f"answer {number}"}],
            "text": TEXTS[number % len(TEXTS)],
            "tags": [f"t{tag}" for tag in range(number % 3)],
            "scores": {"math": {"status": "ok", "score": None if number % 7 == 6 else float(number // 10 % 2)}},
        }


def run(binary, *arguments):
    subprocess.run([binary, "filter", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


def same(read, written):
    """Whether a value that pandas read is the one that was written; arrays are lists, NaN is null."""
    if hasattr(read, "tolist"):
        read = read.tolist()
    if isinstance(written, dict):
        return all(same(read[name], value) for name, value in written.items())
    if isinstance(written, list):
        return len(read) == len(written) and all(map(same, read, written))
    if written is None:
        return read is None or (isinstance(read, float) and math.isnan(read))
    return read == written


def check_rows(binary, folder, source):
    output = folder / "rows.parquet"
    run(binary, source, "-o", output)
    expected = list(rows())
    assert pyarrow.parquet.read_table(output).to_pylist() == expected
    frame = pandas.read_parquet(output)
    for read, written in zip(frame.to_dict("records"), expected, strict=True):
        assert same(read, written), (read, written)
    shards = folder / "shards.parquet"
    run(binary, source, "-o", shards, "--shard-rows", 15)
    names = sorted(folder.glob("shards-*.parquet"))
    assert [pyarrow.parquet.ParquetFile(name).metadata.num_rows for name in names] == [15, 15, 10]
    assert pyarrow.parquet.read_table(names).to_pylist() == expected
    print(f"rows: {len(frame)} in one file and in {len(names)}, {frame.columns.tolist()}")


def check_pairs(binary, folder, source):
    output = folder / "pairs.parquet"
    run(binary, source, "-o", output, "--group-by", "prompt", "--pairs", "best-worst")
    pairs = pyarrow.parquet.read_table(output)
    columns = ["prompt", "chosen", "rejected", "chosen_score", "rejected_score", "margin"]
    assert pairs.column_names == columns, pairs.column_names
    scores = {row["response"][0]["content"]: row["scores"]["math"]["score"] for row in rows()}
    for row in pairs.to_pylist():
        assert [message["role"] for message in row["prompt"] + row["chosen"]] == ["user", "assistant"]
        best, worst = (scores[row[side][0]["content"]] for side in ("chosen", "rejected"))
        assert (best, worst) == (row["chosen_score"], row["rejected_score"]), row
        assert best > worst and row["margin"] == best - worst, row
    frame = pandas.read_parquet(output)
    assert len(frame) == len(pairs) > 0
    assert frame["margin"].tolist() == pairs["margin"].to_pylist()
    print(f"pairs: {len(frame)}, margins {sorted(set(frame['margin']))}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    binary = pathlib.Path(parser.parse_args().binary).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = folder / "rows.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows()))
        check_rows(binary, folder, source)
        check_pairs(binary, folder, source)
    print(f"ok: pyarrow {pyarrow.__version__}, pandas {pandas.__version__}")


if __name__ == "__main__":
    main()
