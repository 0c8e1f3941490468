#!/bin/sh
# Plan demo of sliceplan, node gpu-node-1: 3 GPUs
# For a node whose GPUs have MIG off and run nothing. Not tried on hardware; tried on a simulated node only.
# Read it before you run it. As root: sh -eu FILE
set -eu
# gpu_uuid GPU: UUID of a whole GPU
gpu_uuid() { nvidia-smi -i "$1" --query-gpu=uuid --format=csv,noheader; }
# gi GPU START: id of the GPU instance that starts there, from the table of `nvidia-smi mig -lgi`
gi() { nvidia-smi mig -i "$1" -lgi | awk -v s="$2" '$3 == "MIG" && $7 ~ "^" s ":" {print $6}'; }
# uuid GPU START: UUID of its MIG device: its index from `nvidia-smi -q`, the UUID of that index from `nvidia-smi -L`
uuid() {
  n=$(nvidia-smi -i "$1" -q |
    awk -v g="$(gi "$1" "$2")" '$1 == "Index" {n = $3} /GPU Instance ID/ && $5 == g {print n}')
  nvidia-smi -L -i "$1" | awk -v n="$n:" '$1 == "MIG" && $4 == n {gsub(/\)/, "", $6); print $6}'
}

# Start each service with the variables of its file in /run/sliceplan/services; one behind an MPS daemon
# without CUDA_VISIBLE_DEVICES. Its processes take them over only when they start.
# search-embedding "'写真' "{ { .Values.x }}" { % y %} $ {HOME} $ (id) %n < %= z %> \"
# GPU 0: switch MIG on; the GPU must be idle
nvidia-smi -i 0 -mig 1
# GPU 0: reset it, which makes the mode effective (NVSwitch: ask fabric manager)
nvidia-smi -i 0 --gpu-reset
# GPU 0: create 1g.10gb at 0
nvidia-smi mig -i 0 -cgi 19:0
# GPU 0: make 1g.10gb at 0 usable: its compute instance
nvidia-smi mig -i 0 -cci -gi $(gi 0 0)
# GPU 0: create 1g.10gb at 1
nvidia-smi mig -i 0 -cgi 19:1
# GPU 0: make 1g.10gb at 1 usable: its compute instance
nvidia-smi mig -i 0 -cci -gi $(gi 0 1)
# GPU 0: create 1g.10gb at 2
nvidia-smi mig -i 0 -cgi 19:2
# GPU 0: make 1g.10gb at 2 usable: its compute instance
nvidia-smi mig -i 0 -cci -gi $(gi 0 2)
# GPU 0: create 1g.10gb at 3
nvidia-smi mig -i 0 -cgi 19:3
# GPU 0: make 1g.10gb at 3 usable: its compute instance
nvidia-smi mig -i 0 -cci -gi $(gi 0 3)
# GPU 0: create 3g.40gb at 4
nvidia-smi mig -i 0 -cgi 9:4
# GPU 0: make 3g.40gb at 4 usable: its compute instance
nvidia-smi mig -i 0 -cci -gi $(gi 0 4)
# GPU 0: start the MPS daemon of the instance at 0
mkdir -p /run/sliceplan/mps/gpu0-start0/pipe /run/sliceplan/mps/gpu0-start0/log
CUDA_VISIBLE_DEVICES=$(uuid 0 0) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu0-start0/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu0-start0/log \
  nvidia-cuda-mps-control -d
# GPU 0: start the MPS daemon of the instance at 4
mkdir -p /run/sliceplan/mps/gpu0-start4/pipe /run/sliceplan/mps/gpu0-start4/log
CUDA_VISIBLE_DEVICES=$(uuid 0 4) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu0-start4/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu0-start4/log \
  nvidia-cuda-mps-control -d
# GPU 0: start search-embedding at 0: 3 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# search-embedding at 0: 3 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu0-start0/pipe \
  > /run/sliceplan/services/search-embedding-gpu0-start0.env
# GPU 0: start product-photos at 1: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# product-photos at 1: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 0 1)" \
  > /run/sliceplan/services/product-photos-gpu0-start1.env
# GPU 0: start style-match at 2: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# style-match at 2: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 0 2)" \
  > /run/sliceplan/services/style-match-gpu0-start2.env
# GPU 0: start style-match at 3: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# style-match at 3: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 0 3)" \
  > /run/sliceplan/services/style-match-gpu0-start3.env
# GPU 0: start video-thumbs at 4: 2 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# video-thumbs at 4: 2 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu0-start4/pipe \
  > /run/sliceplan/services/video-thumbs-gpu0-start4.env
# GPU 1: switch MIG on; the GPU must be idle
nvidia-smi -i 1 -mig 1
# GPU 1: reset it, which makes the mode effective (NVSwitch: ask fabric manager)
nvidia-smi -i 1 --gpu-reset
# GPU 1: create 1g.10gb at 0
nvidia-smi mig -i 1 -cgi 19:0
# GPU 1: make 1g.10gb at 0 usable: its compute instance
nvidia-smi mig -i 1 -cci -gi $(gi 1 0)
# GPU 1: create 1g.10gb at 1
nvidia-smi mig -i 1 -cgi 19:1
# GPU 1: make 1g.10gb at 1 usable: its compute instance
nvidia-smi mig -i 1 -cci -gi $(gi 1 1)
# GPU 1: create 2g.20gb at 2
nvidia-smi mig -i 1 -cgi 14:2
# GPU 1: make 2g.20gb at 2 usable: its compute instance
nvidia-smi mig -i 1 -cci -gi $(gi 1 2)
# GPU 1: create 2g.20gb at 4
nvidia-smi mig -i 1 -cgi 14:4
# GPU 1: make 2g.20gb at 4 usable: its compute instance
nvidia-smi mig -i 1 -cci -gi $(gi 1 4)
# GPU 1: create 1g.10gb at 6
nvidia-smi mig -i 1 -cgi 19:6
# GPU 1: make 1g.10gb at 6 usable: its compute instance
nvidia-smi mig -i 1 -cci -gi $(gi 1 6)
# GPU 1: start the MPS daemon of the instance at 2
mkdir -p /run/sliceplan/mps/gpu1-start2/pipe /run/sliceplan/mps/gpu1-start2/log
CUDA_VISIBLE_DEVICES=$(uuid 1 2) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu1-start2/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu1-start2/log \
  nvidia-cuda-mps-control -d
# GPU 1: start the MPS daemon of the instance at 6
mkdir -p /run/sliceplan/mps/gpu1-start6/pipe /run/sliceplan/mps/gpu1-start6/log
CUDA_VISIBLE_DEVICES=$(uuid 1 6) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu1-start6/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu1-start6/log \
  nvidia-cuda-mps-control -d
# GPU 1: start style-match at 0: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# style-match at 0: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 1 0)" \
  > /run/sliceplan/services/style-match-gpu1-start0.env
# GPU 1: start style-match at 1: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# style-match at 1: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 1 1)" \
  > /run/sliceplan/services/style-match-gpu1-start1.env
# GPU 1: start product-photos at 2: 2 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# product-photos at 2: 2 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu1-start2/pipe \
  > /run/sliceplan/services/product-photos-gpu1-start2.env
# GPU 1: start visual-search at 4: 1 process
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# visual-search at 4: 1 process' \
  "CUDA_VISIBLE_DEVICES=$(uuid 1 4)" \
  > /run/sliceplan/services/visual-search-gpu1-start4.env
# GPU 1: start quality-check at 6: 2 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# quality-check at 6: 2 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu1-start6/pipe \
  > /run/sliceplan/services/quality-check-gpu1-start6.env
# GPU 2: switch MIG on; the GPU must be idle
nvidia-smi -i 2 -mig 1
# GPU 2: reset it, which makes the mode effective (NVSwitch: ask fabric manager)
nvidia-smi -i 2 --gpu-reset
# GPU 2: create 2g.20gb at 0
nvidia-smi mig -i 2 -cgi 14:0
# GPU 2: make 2g.20gb at 0 usable: its compute instance
nvidia-smi mig -i 2 -cci -gi $(gi 2 0)
# GPU 2: create 2g.20gb at 2
nvidia-smi mig -i 2 -cgi 14:2
# GPU 2: make 2g.20gb at 2 usable: its compute instance
nvidia-smi mig -i 2 -cci -gi $(gi 2 2)
# GPU 2: create 3g.40gb at 4
nvidia-smi mig -i 2 -cgi 9:4
# GPU 2: make 3g.40gb at 4 usable: its compute instance
nvidia-smi mig -i 2 -cci -gi $(gi 2 4)
# GPU 2: start the MPS daemon of the instance at 0
mkdir -p /run/sliceplan/mps/gpu2-start0/pipe /run/sliceplan/mps/gpu2-start0/log
CUDA_VISIBLE_DEVICES=$(uuid 2 0) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start0/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu2-start0/log \
  nvidia-cuda-mps-control -d
# GPU 2: start the MPS daemon of the instance at 2
mkdir -p /run/sliceplan/mps/gpu2-start2/pipe /run/sliceplan/mps/gpu2-start2/log
CUDA_VISIBLE_DEVICES=$(uuid 2 2) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start2/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu2-start2/log \
  nvidia-cuda-mps-control -d
# GPU 2: start the MPS daemon of the instance at 4
mkdir -p /run/sliceplan/mps/gpu2-start4/pipe /run/sliceplan/mps/gpu2-start4/log
CUDA_VISIBLE_DEVICES=$(uuid 2 4) \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start4/pipe \
  CUDA_MPS_LOG_DIRECTORY=/run/sliceplan/mps/gpu2-start4/log \
  nvidia-cuda-mps-control -d
# GPU 2: start upload-filter at 0: 2 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# upload-filter at 0: 2 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start0/pipe \
  > /run/sliceplan/services/upload-filter-gpu2-start0.env
# GPU 2: start ad-ranking at 2: 3 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# ad-ranking at 2: 3 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start2/pipe \
  > /run/sliceplan/services/ad-ranking-gpu2-start2.env
# GPU 2: start ad-ranking at 4: 2 processes
mkdir -p /run/sliceplan/services
printf '%s\n' \
  '# ad-ranking at 4: 2 processes' \
  CUDA_MPS_PIPE_DIRECTORY=/run/sliceplan/mps/gpu2-start4/pipe \
  > /run/sliceplan/services/ad-ranking-gpu2-start4.env
