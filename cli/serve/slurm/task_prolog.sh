#!/bin/sh
# TaskProlog for nodes whose GPUs Slurm does not constrain: the GPUs that job_submit.lua chose, in rank order.
gpus=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/.*AdminComment=linkcast:gpus=\([0-9,]*\).*/\1/p')
[ -n "$gpus" ] && echo "export CUDA_VISIBLE_DEVICES=$gpus" && echo "export CUDA_DEVICE_ORDER=PCI_BUS_ID"
exit 0
