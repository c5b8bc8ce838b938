#!/usr/bin/env python3
"""Writes a day of training jobs for `linkcast schedule`: the same bytes from the same arguments.

    python3 apps-traces/jobs/make.py --name day-dgx1 --gpus-of 1,2,3,4,5 --jobs 300 --machine-gpus 8 --tflops 15.7 --seed 1
"""
import argparse
import json
import random

# Parameters and GFLOP of one image's forward pass (a multiply-add is two).
# source: AlexNet, GoogLeNet: paper 003 (2017), section 3 (60 M, 5.5 M); ResNet-50, VGG-16 and all GFLOP: the table of
# classification weights in torchvision's documentation, twice its GFLOPS column, which counts multiply-adds
NETWORKS = {"alexnet": (60e6, 1.42), "googlenet": (5.5e6, 3.0), "resnet50": (25.6e6, 8.18), "vgg16": (138.4e6, 30.94)}
IMAGES = 32  # assumed: of each GPU and iteration, paper 003's 256 on 8 GPUs
OF_PEAK = 0.4  # assumed: share of a GPU's single precision peak that training reaches
FLOAT_B = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--gpus-of", required=True, help="numbers of GPUs, each as likely as it is listed often")
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--machine-gpus", type=int, required=True)
    parser.add_argument("--tflops", type=float, required=True, help="single precision peak of a GPU")
    parser.add_argument("--load", type=float, default=0.7, help="GPU time asked for, of all there is (assumed)")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    random_of = random.Random(o.seed)
    numbers = [int(text) for text in o.gpus_of.split(",")]
    print(json.dumps({
        "schema": "jobs/1", "name": o.name,
        "source": "apps-traces/jobs/make.py " + " ".join(f"--{k.replace('_', '-')} {v}" for k, v in vars(o).items()),
        "notes": ["assumed: no log of a real machine is at hand. Poisson arrivals, durations log-uniform from 1 to 30 "
                  "minutes of computing, networks and numbers of GPUs drawn evenly, one all_reduce of all gradients "
                  "behind each iteration"]}))
    jobs = []
    for _ in range(o.jobs):
        network = random_of.choice(sorted(NETWORKS))
        parameters, gflop = NETWORKS[network]
        compute_s = 3 * gflop * 1e9 * IMAGES / (OF_PEAK * o.tflops * 1e12)  # backward costs twice the forward pass
        iterations = max(1, round(60 * 30 ** random_of.random() / compute_s))
        jobs.append((network, random_of.choice(numbers), iterations, compute_s, parameters * FLOAT_B))
    asked_s = sum(gpus * iterations * compute_s for _, gpus, iterations, compute_s, _ in jobs)
    between_s = asked_s / o.machine_gpus / o.load / len(jobs)
    now_s = 0.0
    for number, (network, gpus, iterations, compute_s, size_B) in enumerate(jobs):
        job = {"id": f"{number}-{network}", "arrival_s": round(now_s, 3), "gpus": gpus, "iterations": iterations,
               "compute_s": round(compute_s, 6)}
        if gpus > 1:
            job |= {"op": "all_reduce", "size_B": round(size_B)}
        print(json.dumps(job))
        now_s += random_of.expovariate(1 / between_s)


if __name__ == "__main__":
    main()
