"""Sends most generated bodies to scorers that exist, so that they get past the look-up."""

import random

import schemathesis

SCORERS = ["math", "choice", "text", "exact", "regex", "json", "format", "arithmetic"]


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict) and isinstance(body.get("model"), str) and random.random() < 0.95:
        body["model"] = random.choice(SCORERS)
    return body
