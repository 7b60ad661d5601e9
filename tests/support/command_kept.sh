#!/bin/sh
# Keeps a line per call: the file, then what is kept.
file=$1
shift
echo "$@" >> "$file"
