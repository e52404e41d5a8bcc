#!/bin/sh
# Builds the oracle, offline, out of the copy of pprof's profile package that every Go comes with:
#
#	tests/oracle/build.sh OUT
#
# Nothing of the package is kept here; it is copied into a module that is thrown away.
set -eu
out=$(realpath -m "$1")
here=$(cd "$(dirname "$0")" && pwd)
goroot=$(go env GOROOT)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/profile"
for file in "$goroot"/src/cmd/vendor/github.com/google/pprof/profile/*.go; do
	case $file in
	*_test.go) ;;
	*) cp "$file" "$dir/profile/" ;;
	esac
done
cp "$here"/*.go "$dir/"
version=$(go env GOVERSION | sed -E 's/^go([0-9]+\.[0-9]+).*/\1/')
printf 'module oracle\n\ngo %s\n' "$version" >"$dir/go.mod"
mkdir -p "$(dirname "$out")"
cd "$dir"
GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GO111MODULE=on go build -o "$out" .
