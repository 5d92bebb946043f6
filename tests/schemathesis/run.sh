#!/usr/bin/env bash
# Fuzzes a running server against its own OpenAPI document: no 5xx, no undocumented reply, none that is
# not of its schema.
#   tests/schemathesis/run.sh [URL] [EXAMPLES]
# Installs schemathesis from PyPI into a virtual environment beside this script. For all routes, let
# the server have a reward model, a model that writes, files and adapters:
#   tribunal models make-tiny --family qwen2 --head sequence rm
#   tribunal models make-tiny --family qwen2 chat
#   tribunal serve --model rm=rm --model chat=chat --set compat.scorer=math \
#     --set batches.folder=batches --set compat.adapters=adapters
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
url="${1:-http://127.0.0.1:8080}"
examples="${2:-500}"
if [ ! -x "$here/.venv/bin/schemathesis" ]; then
    python3 -m venv "$here/.venv"
    "$here/.venv/bin/python" -m pip install --quiet 'schemathesis==4.32.5'
fi
# Something for the routes that look a file or a batch up. A server without files answers 403.
ask='{"custom_id":"a","method":"POST","url":"/v1/score","body":{"model":"math","inputs":[{"response":"4","reference":"4"}]}}'
for _ in 1 2 3; do
    file="$(curl -s "$url/v1/files" -F purpose=batch -F "file=$ask;filename=a.jsonl" | grep -o 'file-[0-9a-f]*' || true)"
    curl -s -o /dev/null "$url/v1/batches" -H 'content-type: application/json' \
        -d "{\"input_file_id\":\"$file\",\"endpoint\":\"/v1/score\",\"completion_window\":\"24h\"}"
done
# Left out is whether a body that fits the schema is taken: schemas cannot say which names exist, which
# fields exclude each other, how long a text may be, or that a grader's formula has to be one.
SCHEMATHESIS_HOOKS=hooks PYTHONPATH="$here" TRIBUNAL_URL="$url" exec "$here/.venv/bin/schemathesis" run \
    "$url/openapi.json" --max-examples "$examples" --checks all \
    --exclude-checks positive_data_acceptance --no-color
