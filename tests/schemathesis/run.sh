#!/usr/bin/env bash
# Fuzzes a running server against its own OpenAPI document: no 5xx, no undocumented reply.
#   tests/schemathesis/run.sh [URL] [EXAMPLES]
# Installs schemathesis from PyPI into a virtual environment beside this script.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
url="${1:-http://127.0.0.1:8080}"
examples="${2:-500}"
if [ ! -x "$here/.venv/bin/schemathesis" ]; then
    python3 -m venv "$here/.venv"
    "$here/.venv/bin/pip" install --quiet 'schemathesis==4.32.5'
fi
SCHEMATHESIS_HOOKS=hooks PYTHONPATH="$here" exec "$here/.venv/bin/schemathesis" run \
    "$url/openapi.json" --max-examples "$examples" --checks all --no-color
