#!/usr/bin/env bash
# Refits every shipped calibration from the committed measurements, in the order in which one lends to the next.
# usage: calibrate/data/refit.sh PROGRAM OUTPUT_FOLDER     (models/params to replace the shipped ones; elsewhere
# the paths and hashes of calibrations that lend differ)
#   calibrate/data/refit.sh PROGRAM models/params LEFT_OUT [MACHINES]   fits nothing: leaves parts of the measured
#   collectives out in turn, forecasts them from the rest, and leaves one JSON a machine in LEFT_OUT
#   (calibrate/data/accuracy.py shows them); MACHINES "alps summit" alone
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2/reports"
out=$(realpath "$2")
left_out=${3:+$(realpath -m "$3")}
if [ -n "$left_out" ]; then mkdir -p "$left_out"; fi
only=${4:-}
cd "$(dirname "$0")/../.."
data=calibrate/data


# `--out FILE` comes last.
fit() {
  local machine
  machine=$(basename "${@: -1}" .json)
  if [ -z "$left_out" ]; then
    "$program" calibrate fit "$@" --fit-report "$out/reports/$machine.json" >/dev/null
  elif [ -n "$only" ] && [[ " $only " != *" $machine "* ]]; then
    return
  elif [[ " $* " =~ (/tartan-|/[nr]ccl-2|mpi-all-reduce) ]]; then
    # None needs another: two at a time.
    if [ "$(jobs -rp | wc -l)" -ge 2 ]; then wait -n; fi
    "$program" calibrate fit "${@:1:$#-2}" --bootstrap 0 --leave-out nodes,gpus,op,size --json \
      >"$left_out/$machine.json" &
  fi
}

# First: the others pay for launches as it does, where theirs were not measured.
fit $data/hgx-h200/20261121a-{p2p_copy,p2p_copy_single,host_copy,relay,nccl_base}.json $data/hgx-h200/20261121d-host_copy.json \
  $data/hgx-h200/20261121c-host-nccl_ops.json $data/hgx-h200/20261126b-nccl_base.json \
  $data/hgx-h200/{20261122c,20261123b,20261123c,20261123d}-launch.json $data/h200-pair-b/20261128c-launch.json \
  $data/hgx-h200/{20261122a,20261122b,20261123b,20261123c,20261123d}-launch_pytorch.json \
  $data/hgx-h200/{vllm,sglang,trtllm}-graph.json \
  --topology hgx-h200 --library nccl-2.27 --out "$out/hgx-h200.json"
fit $data/p100-dgx1/p2p-message-size.json $data/p100-dgx1/p2p-matrix.json $data/p100-dgx1/tartan-nccl{1,2}{,-three}.json \
  --topology p100-dgx1 --out "$out/p100-dgx1.json"
fit $data/abci-v100x4/p2p-matrix.json $data/abci-v100x4/osu-latency.json $data/abci-v100x4/{nccl-2.8,nccl-2.8-nodes,mpi-all-reduce}.json \
  --topology abci-v100 --library nccl-2.8 --inherit "$out/p100-dgx1.json" --out "$out/abci-v100.json"
fit $data/dgx2/p2p-matrix.json $data/dgx2/p2p-reads.json \
  --topology dgx2 --inherit "$out/abci-v100.json" "$out/p100-dgx1.json" --inherit-library "$out/abci-v100.json" \
  --out "$out/dgx2.json"
# The box of v100-hcm is no DGX-1: its NVLinks are wired alike, its host is of an unnamed vendor.
fit $data/v100-hcm/p2p-matrix.json --only peer \
  --topology v100-dgx1 --inherit "$out/abci-v100.json" "$out/dgx2.json" "$out/p100-dgx1.json" \
  --inherit-library "$out/abci-v100.json" --out "$out/v100-dgx1.json"
fit $data/abci-a100/p2p-matrix.json $data/abci-a100/osu-latency.json $data/abci-a100/{nccl-2.8,nccl-2.8-nodes,mpi-all-reduce}.json \
  --topology abci-a100 --inherit "$out/dgx2.json" "$out/p100-dgx1.json" --inherit-library "$out/abci-v100.json" \
  --out "$out/abci-a100.json"
fit $data/hgx-h100/{p2p-matrix,nvbandwidth,20261126i-p2p_copy,20261127b-p2p_copy_single,20261127b-host_copy}.json \
  $data/hgx-h100/{20261126i-nccl_base,20261126j-launch_pytorch}.json $data/h100-pair/20261126a-launch.json \
  $data/h100-pair-b/20261128a-launch.json \
  --topology hgx-h100 --library nccl-2.18 --inherit "$out/hgx-h200.json" --inherit-library "$out/hgx-h200.json" \
  --out "$out/hgx-h100.json"
fit $data/a100-pcie/printed-host-copies.json \
  --topology a100-pcie --inherit nearest --out "$out/a100-pcie.json"
# Only collectives were published of these boxes, no copies: copies are those of the nearest machines.
fit --unmeasured $data/dgx-a100/nccl-2.27.json \
  --topology dgx-a100 --library nccl-2.27 --inherit "$out/abci-a100.json" "$out/hgx-h100.json" "$out/hgx-h200.json" \
  --out "$out/dgx-a100.json"
fit --unmeasured $data/dgx-b200/nccl-2.29.json \
  --topology dgx-b200 --inherit "$out/hgx-h200.json" "$out/hgx-h100.json" --out "$out/dgx-b200.json"
fit --unmeasured $data/l40s/nccl-2.27{,-eight}.json \
  --topology l40s --library nccl-2.27 --inherit "$out/a100-pcie.json" "$out/hgx-h100.json" "$out/hgx-h200.json" "$out/abci-a100.json" \
  --out "$out/l40s.json"
fit $data/summit/p2p-same-socket.json $data/summit/mpi-{gpu,cpu,pairs,several,all-reduce,alltoall}.json \
  $data/summit/memcpy{,-concurrent}.json \
  --topology summit --inherit "$out/abci-v100.json" --inherit-library "$out/abci-v100.json" --out "$out/summit.json"
fit $data/lassen/p2p-same-socket.json $data/lassen/mpi-gpu.json $data/lassen/memcpy.json \
  --topology lassen --inherit "$out/summit.json" "$out/abci-v100.json" --inherit-library "$out/summit.json" "$out/abci-v100.json" \
  --out "$out/lassen.json"
fit $data/summitdev/*.json \
  --topology summitdev --inherit "$out/p100-dgx1.json" --inherit-library "$out/p100-dgx1.json" --out "$out/summitdev.json"
fit $data/leonardo/{osu-nv4,snellius-pingpong}.json $data/leonardo/printed-internode.json $data/leonardo/printed-noise.json \
  --topology leonardo --library nccl-2.18 --inherit "$out/abci-a100.json" --inherit-library "$out/abci-a100.json" \
  --out "$out/leonardo.json"
fit $data/alps/printed-internode.json $data/alps/printed-distance.json $data/alps/nccl-2.23{,-nodes}.json \
  --topology alps --library nccl-2.23 --inherit "$out/hgx-h100.json" --inherit-library "$out/hgx-h200.json" --out "$out/alps.json"
fit $data/lumi/reframe-memcpy.json $data/lumi/reframe-kernel.json $data/lumi/printed-internode.json \
  --topology lumi --library rccl-2.15 --inherit "$out/alps.json" --out "$out/lumi.json"
fit --unmeasured $data/mi300x/rccl-2.22.json \
  --topology mi300x --library rccl-2.21 --inherit "$out/lumi.json" "$out/hgx-h100.json" "$out/hgx-h200.json" \
  --out "$out/mi300x.json"
fit $data/gx8/printed-copies.json \
  --topology gx8 --inherit "$out/p100-dgx1.json" --inherit-library "$out/p100-dgx1.json" --out "$out/gx8.json"
fit $data/rtx2080-sli/printed-latency.json \
  --topology rtx2080-sli --inherit "$out/abci-v100.json" "$out/p100-dgx1.json" --inherit-library "$out/abci-v100.json" \
  --out "$out/rtx2080-sli.json"
fit $data/apenet-plus/*.json \
  --topology apenet-plus --out "$out/apenet-plus.json"
fit $data/apenet-cluster2/printed-{gpu,halo}.json \
  --topology apenet-cluster2 --out "$out/apenet-cluster2.json"
while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n; done
