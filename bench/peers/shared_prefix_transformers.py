"""Hugging Face transformers on the workloads of `tribunal bench engine`, on the CPU.

`shared`: 96 sequences (4 prompts x 4 responses x 6 questions), two label logits read at the end of
each: one by one, and in padded batches. Both compute every sequence whole, as a program does that
calls the model for each question.

`http`: 64 sequences that share nothing, one a request, 16 requests at a time, through a handler of
the standard library's `http.server` that calls the model under a lock.

    tribunal models make-tiny --like qwen2.5-0.5b --dtype f16 random-0.5b
    python3 -m venv bench/peers/.venv
    bench/peers/.venv/bin/pip install torch transformers
    bench/peers/.venv/bin/python bench/peers/shared_prefix_transformers.py --model random-0.5b

Prints one JSON object. `--short` takes small shapes, to see that it works.
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import threading

import torch
import transformers

import workloads


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch", type=int, default=16, help="sequences in a padded batch")
    parser.add_argument("--concurrency", type=int, default=16, help="requests at a time")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--skip-naive", action="store_true", help="no run of one by one")
    parser.add_argument("--skip-http", action="store_true")
    return parser.parse_args()


class Judge:
    """A model and the labels that it decides between."""

    def __init__(self, folder, dtype):
        load = transformers.AutoModelForCausalLM.from_pretrained
        self.model = load(folder, dtype=getattr(torch, dtype)).eval()
        self.vocab_size = self.model.config.vocab_size
        self.labels = workloads.labels(self.vocab_size)

    @torch.inference_mode()
    def verdicts(self, sequences):
        """One batch, padded on the left, so that every row ends where it is read."""
        longest = max(map(len, sequences))
        padded = [[0] * (longest - len(ids)) + ids for ids in sequences]
        mask = [[0] * (longest - len(ids)) + [1] * len(ids) for ids in sequences]
        out = self.model(
            input_ids=torch.tensor(padded),
            attention_mask=torch.tensor(mask),
            use_cache=False,
            logits_to_keep=1,
        )
        yes, no = out.logits[:, -1, self.labels].float().unbind(-1)
        return (yes - no).tolist()


def shared(judge, args):
    shape = workloads.SHORT_SHARED if args.short else workloads.Shared()
    trees = shape.trees(judge.vocab_size)
    sequences = workloads.sequences(trees)
    computed = sum(map(len, sequences))

    def in_batches(size):
        parts = range(0, len(sequences), size)
        return [v for at in parts for v in judge.verdicts(sequences[at : at + size])]

    judge.verdicts(sequences[:1])
    report = {"unique_tokens": workloads.unique_tokens(trees)}
    ways = {"batched": args.batch} if args.skip_naive else {"naive": 1, "batched": args.batch}
    for name, size in ways.items():
        verdicts, seconds = workloads.timed(lambda size=size: in_batches(size), args.rounds)
        report[name] = workloads.figures(computed, verdicts, seconds)
    return report


def handler(judge):
    """A handler that scores one sequence a request."""
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                verdict = judge.verdicts([body["token_ids"]])[0]
            reply = json.dumps({"verdict": verdict}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    return Handler


class Clients(threading.local):
    """A connection for each thread."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(*address)

    def ask(self, token_ids):
        headers = {"content-type": "application/json"}
        self.connection.request("POST", "/", json.dumps({"token_ids": token_ids}), headers)
        return json.loads(self.connection.getresponse().read())["verdict"]


def over_http(judge, args):
    shape = workloads.SHORT_FLAT if args.short else workloads.Flat()
    sequences = shape.tokens(judge.vocab_size)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(judge))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    clients = Clients(server.server_address)
    clients.ask(sequences[0])
    with concurrent.futures.ThreadPoolExecutor(args.concurrency) as pool:
        verdicts, seconds = workloads.timed(
            lambda: list(pool.map(clients.ask, sequences)), args.rounds
        )
    server.shutdown()
    tokens = sum(map(len, sequences))
    return {"concurrency": args.concurrency, **workloads.figures(tokens, verdicts, seconds)}


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    judge = Judge(args.model, args.dtype)
    report = {
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "dtype": args.dtype,
        "threads": args.threads,
        "rounds": args.rounds,
        "short": args.short,
        "shared": shared(judge, args),
    }
    if not args.skip_http:
        report["http"] = over_http(judge, args)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
