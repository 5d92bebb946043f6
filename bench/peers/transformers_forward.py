"""Raw forward rates of Hugging Face transformers, the peer of `tribunal bench engine --raw`.

A random model of the shape of Qwen2.5-0.5B, in f32 or `--dtype bfloat16`, on the CPU: prefill of one prompt without a cache,
and decoding of a batch with one, logits of the last row at every step, as the measured program does.

    python3 -m venv bench/peers/.venv
    bench/peers/.venv/bin/pip install torch transformers
    bench/peers/.venv/bin/python bench/peers/transformers_forward.py

Prints one JSON object. `--threads` and the sizes have the defaults of the measured program.
"""

import argparse
import json
import statistics
import time

import torch
import transformers
from transformers import Qwen2Config, Qwen2ForCausalLM


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--decode-batch", type=int, default=4)
    parser.add_argument("--context-tokens", type=int, default=64)
    parser.add_argument("--decode-steps", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    return parser.parse_args()


def model(dtype):
    config = Qwen2Config(
        vocab_size=151936,
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    return Qwen2ForCausalLM(config).to(getattr(torch, dtype)).eval()


def timed(run, repeats):
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return seconds


def rates(tokens, seconds):
    return {
        "tokens": tokens,
        "tokens_per_s": tokens / statistics.median(seconds),
        "best_tokens_per_s": tokens / min(seconds),
    }


@torch.inference_mode()
def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    qwen = model(args.dtype)
    prompt = torch.randint(0, 151936, (1, args.prompt_tokens))
    contexts = torch.randint(0, 151936, (args.decode_batch, args.context_tokens))

    def prefill():
        qwen.model(prompt, use_cache=False)

    def decode():
        out = qwen(contexts, use_cache=True, logits_to_keep=1)
        begin = time.perf_counter()
        for _ in range(args.decode_steps):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            out = qwen(token, past_key_values=out.past_key_values, use_cache=True)
        return time.perf_counter() - begin

    prefill()
    report = {
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "dtype": args.dtype,
        "threads": args.threads,
        "prefill": rates(args.prompt_tokens, timed(prefill, args.repeats)),
        "decode": rates(
            args.decode_batch * args.decode_steps, [decode() for _ in range(args.repeats)]
        ),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
