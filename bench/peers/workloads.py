"""The workloads of `tribunal bench engine` for its peers: shapes, seeded tokens, and timing.

Standard library only, so that every peer's environment can import it.
"""

import dataclasses
import random
import statistics
import time


@dataclasses.dataclass(frozen=True)
class Shared:
    """Many questions over few texts."""

    prompts: int = 4
    prompt_tokens: int = 256
    responses: int = 4
    response_tokens: int = 128
    questions: int = 6
    question_tokens: int = 16

    def trees(self, vocab_size, seed=0):
        """For each prompt its tokens, and for each of its responses their tokens and those of the
        questions."""
        source = random.Random(seed)

        def tokens(count):
            return [source.randrange(vocab_size) for _ in range(count)]

        return [
            (
                tokens(self.prompt_tokens),
                [
                    (
                        tokens(self.response_tokens),
                        [tokens(self.question_tokens) for _ in range(self.questions)],
                    )
                    for _ in range(self.responses)
                ],
            )
            for _ in range(self.prompts)
        ]


@dataclasses.dataclass(frozen=True)
class Flat:
    """Sequences that share nothing."""

    sequences: int = 64
    sequence_tokens: int = 256

    def tokens(self, vocab_size, seed=1):
        source = random.Random(seed)
        return [
            [source.randrange(vocab_size) for _ in range(self.sequence_tokens)]
            for _ in range(self.sequences)
        ]


SHORT_SHARED = Shared(2, 40, 2, 21, 3, 6)
SHORT_FLAT = Flat(8, 48)


def sequences(trees):
    """Every question with what stands before it, as one sequence."""
    return [
        prompt + response + question
        for prompt, responses in trees
        for response, questions in responses
        for question in questions
    ]


def unique_tokens(trees):
    """Tokens that must be computed once."""
    return sum(
        len(prompt)
        + sum(len(response) + sum(map(len, questions)) for response, questions in responses)
        for prompt, responses in trees
    )


def labels(vocab_size):
    """The two label tokens of a verdict."""
    return [vocab_size // 3, vocab_size // 2]


def timed(run, rounds):
    """What the last round gave, and the seconds of each."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        gave = run()
        seconds.append(time.perf_counter() - begin)
    return gave, seconds


def figures(computed_tokens, verdicts, seconds):
    """The figures of one way to do the shared workload. The first verdicts (difference of the two
    labels' logits) show whether two peers computed the same."""
    median = statistics.median(seconds)
    return {
        "sequences": len(verdicts),
        "computed_tokens": computed_tokens,
        "seconds": median,
        "best_seconds": min(seconds),
        "sequences_per_s": len(verdicts) / median,
        "computed_tokens_per_s": computed_tokens / median,
        "first_verdicts": [round(verdict, 4) for verdict in verdicts[:3]],
    }
