"""Packs the program with its completions and manual pages: an archive, and a wheel whose installation gives the command.

    package.py STAGING VERSION OUT

STAGING has `bin/tribunal` and `share`, as they are to lie below a prefix. Files have fixed times and owners, so equal
contents give equal bytes. Python's standard library alone; a wheel is PEP 427, its platform PEP 600.
"""

import base64
import gzip
import hashlib
import io
import platform
import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXTS = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"]
# The first time that a zip can hold.
TIME = (1980, 1, 1, 0, 0, 0)


def files(staging: Path) -> dict[str, Path]:
    """The files below a folder by their names from there, sorted."""
    return {path.relative_to(staging).as_posix(): path for path in sorted(staging.rglob("*")) if path.is_file()}


def mode(name: str) -> int:
    return 0o755 if name.startswith("bin/") else 0o644


def archive(staging: Path, version: str, out: Path) -> Path:
    """Writes `tribunal-VERSION-ARCH-OS.tar.gz`: one folder of that name."""
    name = f"tribunal-{version}-{platform.machine()}-{sys.platform}"
    target = out / f"{name}.tar.gz"
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for inner, path in {**files(staging), **{text: ROOT / text for text in TEXTS}}.items():
                data = path.read_bytes()
                info = tarfile.TarInfo(f"{name}/{inner}")
                info.size, info.mode = len(data), mode(inner)
                tar.addfile(info, io.BytesIO(data))
    return target


def tag(program: bytes) -> str:
    """The platform that the program runs on: on Linux any with the newest GLIBC whose symbols it uses."""
    machine = platform.machine()
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program)]
    return f"manylinux_2_{max(versions)}_{machine}" if versions else f"linux_{machine}"


def wheel(staging: Path, version: str, out: Path) -> Path:
    """Writes the wheel `tribunal-server`: `bin` becomes scripts of the environment, `share` its data."""
    stem = f"tribunal_server-{version}"
    tags = f"py3-none-{tag((staging / 'bin/tribunal').read_bytes())}"
    info, data = f"{stem}.dist-info", f"{stem}.data"
    members = {
        (f"{data}/scripts/{name[4:]}" if name.startswith("bin/") else f"{data}/data/{name}"): (path.read_bytes(), mode(name))
        for name, path in files(staging).items()
    }
    licences = TEXTS[1:]
    members |= {f"{info}/licenses/{name}": ((ROOT / name).read_bytes(), 0o644) for name in licences}
    header = [
        "Metadata-Version: 2.4",
        "Name: tribunal-server",
        f"Version: {version}",
        "Summary: Verifiers, step scorers and reward models, from the shell and over HTTP",
        "License-Expression: Apache-2.0 OR MIT",
        *(f"License-File: {name}" for name in licences),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    metadata = "\n".join(header) + "\n\n" + (ROOT / "README.md").read_text(encoding="utf-8")
    layout = f"Wheel-Version: 1.0\nGenerator: tribunal\nRoot-Is-Purelib: false\nTag: {tags}\n"
    members[f"{info}/METADATA"] = (metadata.encode(), 0o644)
    members[f"{info}/WHEEL"] = (layout.encode(), 0o644)
    record = ""
    for name, (content, _) in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    members[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    target = out / f"{stem}-{tags}.whl"
    with zipfile.ZipFile(target, "w") as packed:
        for name, (content, bits) in members.items():
            member = zipfile.ZipInfo(name, TIME)
            member.external_attr = (0o100000 | bits) << 16
            packed.writestr(member, content, zipfile.ZIP_DEFLATED, 9)
    return target


def main() -> None:
    staging, version, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    sums = ""
    for target in (archive(staging, version, out), wheel(staging, version, out)):
        sums += f"{hashlib.sha256(target.read_bytes()).hexdigest()}  {target.name}\n"
        print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    (out / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main()
