#!/usr/bin/env bash
# Refits every shipped calibration from the committed measurements, in the order in which one lends to the next.
# usage: calibrate/data/refit.sh PROGRAM OUTPUT_FOLDER     (models/params to replace the shipped ones)
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
cd "$(dirname "$0")/../.."
data=calibrate/data

fit() { "$program" calibrate fit "$@" >/dev/null; }

fit $data/p100-dgx1/p2p-message-size.json $data/p100-dgx1/p2p-matrix.json \
  --topology p100-dgx1 --out "$out/p100-dgx1.json"
fit $data/abci-v100x4/p2p-matrix.json \
  --topology abci-v100 --inherit "$out/p100-dgx1.json" --out "$out/abci-v100.json"
fit $data/dgx2/p2p-matrix.json $data/dgx2/p2p-reads.json \
  --topology dgx2 --inherit "$out/abci-v100.json" "$out/p100-dgx1.json" --out "$out/dgx2.json"
fit $data/v100-hcm/p2p-matrix.json \
  --topology v100-dgx1 --inherit "$out/abci-v100.json" "$out/dgx2.json" "$out/p100-dgx1.json" --out "$out/v100-dgx1.json"
