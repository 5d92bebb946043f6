"""llama.cpp, through llama-cpp-python, on the shared workload of `tribunal bench engine`.

96 sequences (4 prompts x 4 responses x 6 questions), two label logits read at the end of each:

- `naive`: every sequence whole and by itself;
- `copied`: prefixes shared by hand. A prompt is computed once and its cells are copied to a
  sequence for each response, theirs to a sequence for each question; responses and questions of a
  prompt are computed together.

    tribunal models make-tiny --like qwen2.5-0.5b --dtype f16 random-0.5b
    python3 -m venv bench/peers/.venv-llama
    bench/peers/.venv-llama/bin/pip install llama-cpp-python gguf
    bench/peers/.venv-llama/bin/python bench/peers/shared_prefix_llamacpp.py --model random-0.5b

The package is compiled for this machine when it is installed, which takes a while. `--model` is a
folder, which is written as GGUF in `--dtype` beside it first (`gguf_from_folder.py`), or a GGUF file.
`--forward` adds the rates of `tribunal bench engine --raw`: 512 tokens of prefill, and 16 steps of
decoding by 4 sequences of 64 tokens with all logits read. Prints one JSON object. `--short` takes
small shapes, to see that it works.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import time

import llama_cpp
import numpy

import workloads


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, metavar="DIR|FILE")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batch-tokens", type=int, default=512)
    parser.add_argument("--dtype", choices=["f16", "bf16", "q8_0"], default="f16")
    parser.add_argument("--forward", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--skip-naive", action="store_true")
    return parser.parse_args()


class Context:
    """A model with room for one prompt's tree, driven by token ids."""

    def __init__(self, path, args, shape):
        llama_cpp.llama_backend_init()
        # What it says while loading is not asked for; the callback must outlive the context.
        self.silence = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.silence, None)
        model_params = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), model_params)
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp cannot load it")
        params = llama_cpp.llama_context_default_params()
        tree = shape.response_tokens + shape.questions * shape.question_tokens
        room = max(args.batch_tokens, shape.prompt_tokens + shape.responses * tree)
        params.n_ctx = 256 * -(-room // 256)
        params.n_batch = params.n_ubatch = args.batch_tokens
        params.n_seq_max = 1 + shape.responses * (1 + shape.questions)
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = args.threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            raise SystemExit(f"{path}: llama.cpp cannot make a context")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.batch_tokens = args.batch_tokens
        self.batch = llama_cpp.llama_batch_init(args.batch_tokens, 0, 1)
        vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(vocab)
        self.labels = workloads.labels(self.vocab_size)

    def clear(self):
        llama_cpp.llama_memory_clear(self.memory, False)

    def copy(self, source, target):
        """The cells of a sequence become those of another, too."""
        llama_cpp.llama_memory_seq_cp(self.memory, source, target, -1, -1)

    def run(self, parts, read):
        """Computes parts `(sequence, first position, token ids)`; with `read` gives each part's
        verdict at its last token."""
        rows = [
            (token, start + at, sequence, read and at + 1 == len(ids))
            for sequence, start, ids in parts
            for at, token in enumerate(ids)
        ]
        verdicts = []
        for begin in range(0, len(rows), self.batch_tokens):
            verdicts += self.decode(rows[begin : begin + self.batch_tokens])
        return verdicts

    def decode(self, rows):
        self.compute(rows)
        verdicts = []
        for at, row in enumerate(rows):
            if row[3]:
                logits = llama_cpp.llama_get_logits_ith(self.context, at)
                yes, no = (logits[label] for label in self.labels)
                verdicts.append(yes - no)
        return verdicts

    def compute(self, rows):
        """One forward of rows `(token, position, sequence, whether its logits are read)`."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for at, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[at] = token
            batch.pos[at] = position
            batch.n_seq_id[at] = 1
            batch.seq_id[at][0] = sequence
            batch.logits[at] = wanted
        status = llama_cpp.llama_decode(self.context, batch)
        if status != 0:
            raise SystemExit(f"llama_decode: {status}")

    def likeliest(self, at):
        """The token of the largest logit of a row."""
        logits = llama_cpp.llama_get_logits_ith(self.context, at)
        return int(numpy.ctypeslib.as_array(logits, (self.vocab_size,)).argmax())


def prefill(context, tokens):
    context.clear()
    context.compute([(token, at, 0, False) for at, token in enumerate(tokens)])


def generate(context, contexts, steps):
    """Seconds of greedy steps of all sequences together."""
    context.clear()
    for sequence, tokens in enumerate(contexts):
        last = len(tokens) - 1
        context.compute([(token, at, sequence, at == last) for at, token in enumerate(tokens)])
    following = [0] * len(contexts)
    begin = time.perf_counter()
    for step in range(steps):
        position = len(contexts[0]) + step
        rows = [(token, position, sequence, True) for sequence, token in enumerate(following)]
        context.compute(rows)
        following = [context.likeliest(at) for at in range(len(rows))]
    return time.perf_counter() - begin


def forward(context, rounds):
    """Rates of prefill and decoding."""
    source = random.Random(0)
    tokens = [source.randrange(context.vocab_size) for _ in range(512)]
    contexts = [tokens[64 * i : 64 * (i + 1)] for i in range(4)]
    prefill(context, tokens)
    _, prefills = workloads.timed(lambda: prefill(context, tokens), rounds)
    decodes = [generate(context, contexts, 16) for _ in range(rounds)]
    return {
        "prefill": {"tokens_per_s": 512 / statistics.median(prefills)},
        "decode": {"tokens_per_s": 4 * 16 / statistics.median(decodes)},
    }


def naive(context, trees):
    verdicts = []
    for ids in workloads.sequences(trees):
        context.clear()
        verdicts += context.run([(0, 0, ids)], read=True)
    return verdicts


def copied(context, trees):
    verdicts = []
    for prompt, responses in trees:
        context.clear()
        context.run([(0, 0, prompt)], read=False)
        parts = []
        for index, (response, _) in enumerate(responses, start=1):
            context.copy(0, index)
            parts.append((index, len(prompt), response))
        context.run(parts, read=False)
        parts, sequence = [], len(responses)
        for index, (response, questions) in enumerate(responses, start=1):
            for question in questions:
                sequence += 1
                context.copy(index, sequence)
                parts.append((sequence, len(prompt) + len(response), question))
        verdicts += context.run(parts, read=True)
    return verdicts


def gguf_file(model, dtype):
    """The file itself, or one made from the folder beside it."""
    if not os.path.isdir(model):
        return model
    out = f"{pathlib.Path(model).resolve()}.{dtype}.gguf"
    if not os.path.exists(out):
        import gguf_from_folder

        part = out + ".part"
        gguf_from_folder.write(model, part, dtype)
        os.rename(part, out)
    return out


def main():
    args = arguments()
    shape = workloads.SHORT_SHARED if args.short else workloads.Shared()
    context = Context(gguf_file(args.model, args.dtype), args, shape)
    trees = shape.trees(context.vocab_size)
    sequences, unique = workloads.sequences(trees), workloads.unique_tokens(trees)
    context.clear()
    context.run([(0, 0, sequences[0])], read=True)
    ways = {"copied": (copied, unique)}
    if not args.skip_naive:
        ways["naive"] = (naive, sum(map(len, sequences)))
    report = {"unique_tokens": unique}
    for name, (way, computed) in ways.items():
        verdicts, seconds = workloads.timed(lambda way=way: way(context, trees), args.rounds)
        report[name] = workloads.figures(computed, verdicts, seconds)
    figures = {
        "peer": f"llama-cpp-python {llama_cpp.__version__}",
        "system": llama_cpp.llama_print_system_info().decode().strip(),
        "dtype": args.dtype,
        "threads": args.threads,
        "rounds": args.rounds,
        "short": args.short,
        "shared": report,
    }
    if args.forward:
        figures |= forward(context, args.rounds)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
