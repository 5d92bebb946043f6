"""A model as the goldens need it: logits, head outputs and greedy tokens of one sequence."""

import torch


class Reference:
    """`model` gives logits or is a bare decoder; `head` reads hidden states, where there is one."""

    def __init__(self, name, model, *, has_vocabulary, head=None, last_row_only=False):
        self.name = name
        self.model = model.eval()
        self.has_vocabulary = has_vocabulary
        self.head = head
        self.last_row_only = last_row_only

    @torch.no_grad()
    def logits(self, ids):
        """`[len(ids), vocabulary]`."""
        return self.model(torch.tensor([ids]), use_cache=False).logits[0]

    @torch.no_grad()
    def head_outputs(self, ids, rows):
        """`[len(rows), labels]`."""
        return self.head(self.model, torch.tensor([ids]), rows)

    @torch.no_grad()
    def greedy(self, ids, count):
        """`[count, vocabulary]`: the logits that choose each next token, with a KV cache."""
        steps, cache, tokens = [], None, torch.tensor([ids])
        for _ in range(count):
            out = self.model(tokens, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            steps.append(out.logits[0, -1])
            tokens = steps[-1].argmax().reshape(1, 1)
        return torch.stack(steps)


def sequence_head(model, ids, rows):
    """transformers reads the last token itself."""
    assert rows == [ids.shape[1] - 1]
    return model(ids, use_cache=False).logits


def token_head(model, ids, rows):
    return model(ids, use_cache=False).logits[0, rows]


def own_head(module):
    """A head that transformers has not got, over the last hidden states."""

    def head(model, ids, rows):
        decoder = getattr(model, "model", model)
        return module(decoder(ids, use_cache=False).last_hidden_state[0, rows])

    return head
