#!/bin/sh
# Installs the program, its completions and its manual pages from an archive of `cargo xtask dist`:
#     sh install.sh ARCHIVE [PREFIX]
# ARCHIVE is a file or a URL, with SHA256SUMS beside it; PREFIX is ~/.local unless given.
set -eu

archive=${1:?"usage: install.sh ARCHIVE [PREFIX]"}
prefix=${2:-"$HOME/.local"}
name=${archive##*/}
# The script works in a folder of its own, which it removes.
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $archive in
*://*)
    curl --fail --silent --show-error --location --output "$work/$name" "$archive"
    curl --fail --silent --show-error --location --output "$work/SHA256SUMS" "${archive%/*}/SHA256SUMS"
    ;;
*)
    cp "$archive" "$work/$name"
    cp "$(dirname "$archive")/SHA256SUMS" "$work/"
    ;;
esac

if command -v sha256sum > /dev/null; then sum=sha256sum; else sum="shasum -a 256"; fi
cd "$work"
grep "  $name\$" SHA256SUMS > wanted || { echo "error: SHA256SUMS does not list $name" >&2; exit 1; }
$sum -c wanted > /dev/null || { echo "error: $name is not what SHA256SUMS says: download it again" >&2; exit 1; }
tar -xzf "$name"
cd "${name%.tar.gz}"
mkdir -p "$prefix/bin"
# A program that runs cannot be written, but another can take its name.
cp bin/tribunal "$prefix/bin/.tribunal.new"
mv "$prefix/bin/.tribunal.new" "$prefix/bin/tribunal"
cp -R share "$prefix/"

echo "installed $("$prefix/bin/tribunal" -V) as $prefix/bin/tribunal"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "$prefix/bin is not in PATH" ;;
esac
