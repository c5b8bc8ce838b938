#!/usr/bin/env bash
# Makes the recorded samples from the recordings of torch.profiler: one Chrome trace a rank, kineto_<network>_w4_r<rank>.json.
#   bash apps-traces/samples/make.sh PROGRAM FOLDER_OF_RECORDINGS FOLDER_TO_WRITE
set -euo pipefail
program=$1 recordings=$2 out=$3
# What recording costs the CPU is all in host_scale, fitted below: so these were made when their forecasts were committed
# (validate/forecasts/20261121-h200-training.json). Taken out by events first, steps come out within 1 % of these.
free=()
for cost in launch call operator collective; do free+=(--option "$cost-cost=0us"); done
import() {  # network, its name, further options
  "$program" import kineto "$recordings/kineto_$1_w4_r"[0-3].json --option skip=1 --option sync=steps --option names=short "${free[@]}" \
    --option nvls=off --option "name=h200x4-$1" --option "source=torch.profiler, PyTorch 2.11, NCCL 2.28.9: second recorded step of $2 with DistributedDataParallel on 4 H200, 64 images a GPU, fp32, SGD" "${@:3}"
}
# 4.75 ms: median of 20 untraced steps of AlexNet without gradient exchange, noted with the recordings
import alexnet AlexNet --out "$out/alexnet.partial.jsonl"
"$program" calibrate trace "$out/alexnet.partial.jsonl" --platform hgx-h200 --local-step 4.75ms --out "$out/h200x4-alexnet.jsonl"
rm "$out/alexnet.partial.jsonl"
scale=$(head -1 "$out/h200x4-alexnet.jsonl" | sed 's/.*"host_scale":\([0-9.e-]*\).*/\1/')
import resnet50 ResNet-50 --option "host-scale=$scale" \
  --option "note=host_scale: that of h200x4-alexnet, recorded in the same way on the same machine" \
  --out "$out/h200x4-resnet50.jsonl"
