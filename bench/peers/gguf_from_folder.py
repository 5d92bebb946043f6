"""Writes a Qwen2 model folder in the Hugging Face layout as GGUF, for llama.cpp.

    bench/peers/.venv-llama/bin/python bench/peers/gguf_from_folder.py random-0.5b out.gguf bf16

Matrices become f16 (unless another type is named: bf16 or q8_0), vectors f32. The vocabulary is left out: the peers are given token ids. Only
`Qwen2ForCausalLM` is written; another architecture is refused. Needs numpy and `gguf`.
"""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np

LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
WHOLE = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}


def tensors(path):
    """Names and numbers of a safetensors file, as f32 or f16."""
    data = np.memmap(path, np.uint8, mode="r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + length].tobytes())
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        yield name, numbers(data[begin:end], entry["dtype"]).reshape(entry["shape"])


def numbers(raw, dtype):
    if dtype == "BF16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view({"F32": np.float32, "F16": np.float16}[dtype])


def gguf_name(name):
    """`model.layers.3.mlp.up_proj.weight` as `blk.3.ffn_up.weight`."""
    stem, kind = name.rsplit(".", 1)
    if stem in WHOLE:
        return f"{WHOLE[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{LAYER[part]}.{kind}"


# The types of matrices by name.
TYPES = {
    "f16": gguf.GGMLQuantizationType.F16,
    "bf16": gguf.GGMLQuantizationType.BF16,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}


def write(folder, out, dtype="f16"):
    """Writes the file and returns the number of tensors in it."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["architectures"] != ["Qwen2ForCausalLM"]:
        raise SystemExit(f"{folder}: {config['architectures']} cannot be written here")
    writer = gguf.GGUFWriter(str(out), "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
    writer.add_rope_freq_base(theta)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    count = 0
    for path in sorted(folder.glob("*.safetensors")):
        for name, values in tensors(path):
            kind = TYPES[dtype] if values.ndim == 2 else gguf.GGMLQuantizationType.F32
            numbers = np.ascontiguousarray(values, np.float32)
            quantised = gguf.quants.quantize(numbers, kind)
            writer.add_tensor(gguf_name(name), quantised, raw_dtype=kind)
            count += 1
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return count


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], *([name] for name in TYPES)):
        raise SystemExit(f"usage: gguf_from_folder.py FOLDER OUT.gguf [{'|'.join(TYPES)}]")
    print(json.dumps({"tensors": write(*sys.argv[1:]), "file": sys.argv[2]}))
