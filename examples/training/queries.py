"""Writes questions about a small table beside this file, for mars-sql.toml and paverl-sql.toml.

`mars.jsonl` and `paverl.jsonl` have gold queries, `queries.jsonl` has replies for sql-warm.toml.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
COLUMNS = "abc"


class Question:
    """A question, its query, and a table of its own."""

    def __init__(self, generator):
        self.table = [[generator.randint(1, 99) for _ in COLUMNS] for _ in range(5)]
        self.chosen = generator.sample(range(len(COLUMNS)), generator.randint(1, 2))
        self.at = generator.randrange(len(COLUMNS))
        self.number = generator.choice(self.table)[self.at]
        names, condition = ", ".join(COLUMNS[place] for place in self.chosen), f"{COLUMNS[self.at]}={self.number}"
        self.words = f"{names} where {condition}"
        self.query = f"SELECT {names} FROM t WHERE {condition}"

    def reference(self):
        rows = ", ".join(f"({', '.join(map(str, row))})" for row in self.table)
        return {"sql": self.query, "database": f"CREATE TABLE t ({', '.join(COLUMNS)}); INSERT INTO t VALUES {rows};"}

    def result(self):
        """What the tool `sql` answers."""
        rows = [[row[place] for place in self.chosen] for row in self.table if row[self.at] == self.number]
        return json.dumps({"columns": [COLUMNS[place] for place in self.chosen], "rows": rows}, separators=(",", ":"))

    def turns(self):
        """A reply in the form of MARS-SQL."""
        tried = f"<think>try</think><sql>{self.query}</sql>\n<observation>\n{self.result()}\n</observation>\n"
        return f"{tried}<think>done</think><solution>{self.query}</solution>"

    def block(self):
        """A reply in the form of PaVeRL-SQL."""
        return f"```sql\n{self.query}\n```"


def rows(generator, prompt, count):
    for _ in range(count):
        question = Question(generator)
        yield question, f"{prompt} {question.words}"


def write(name, rows):
    with open(FOLDER / f"{name}.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def main():
    generator = random.Random(1)
    replies = []
    for name, prompt, reply in [("mars", "Try", Question.turns), ("paverl", "Write", Question.block)]:
        for ending, count in [("-held-out", 60), ("", 400)]:
            found = rows(generator, prompt, count)
            write(name + ending, ({"prompt": text, "reference": question.reference()} for question, text in found))
        replies += [{"prompt": text, "completion": reply(question)} for question, text in rows(generator, prompt, 2000)]
    write("queries", replies)


main()
