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
# Parameters of language models, whose forward pass takes two operations each for a token.
# source: A. Radford et al., Language Models are Unsupervised Multitask Learners (2019), table 2; two operations: J. Kaplan et
# al., Scaling Laws for Neural Language Models (2020), section 2.1
LANGUAGE = {"gpt2": 117e6, "gpt2-medium": 345e6, "gpt2-large": 762e6, "gpt2-xl": 1542e6}
TOKENS = 2048  # assumed: of each GPU and iteration, two of the paper's contexts
HALF_B = 2  # assumed: of a gradient, in half precision

IMAGES = 32  # assumed: of each GPU and iteration, paper 003's 256 on 8 GPUs
OF_PEAK = 0.4  # assumed: share of a GPU's single precision peak that training reaches
FLOAT_B = 4


def kinds_of(models: str) -> dict:
    """By name: GFLOP of a GPU's forward pass in an iteration, bytes of the gradients."""
    if models == "language":
        return {name: (2 * parameters * TOKENS / 1e9, parameters * HALF_B) for name, parameters in LANGUAGE.items()}
    return {name: (gflop * IMAGES, parameters * FLOAT_B) for name, (parameters, gflop) in NETWORKS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--gpus-of", required=True, help="numbers of GPUs, each as likely as it is listed often")
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--machine-gpus", type=int, required=True)
    parser.add_argument("--tflops", type=float, required=True, help="single precision peak of a GPU")
    parser.add_argument("--load", type=float, default=0.7, help="GPU time asked for, of all there is (assumed)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", choices=("images", "language"), default="images", help="what is trained; --tflops is that of its precision")
    o = parser.parse_args()
    random_of = random.Random(o.seed)
    numbers = [int(text) for text in o.gpus_of.split(",")]
    print(json.dumps({
        "schema": "jobs/1", "name": o.name,
        "source": "apps-traces/jobs/make.py " + " ".join(f"--{k.replace('_', '-')} {v}" for k, v in vars(o).items() if (k, v) != ("models", "images")),
        "notes": ["assumed: no log of a real machine is at hand. Poisson arrivals, durations log-uniform from 1 to 30 "
                  "minutes of computing, networks and numbers of GPUs drawn evenly, one all_reduce of all gradients "
                  "behind each iteration"]}))
    jobs, kinds = [], kinds_of(o.models)
    for _ in range(o.jobs):
        network = random_of.choice(sorted(kinds))
        gflop, size_B = kinds[network]
        compute_s = 3 * gflop * 1e9 / (OF_PEAK * o.tflops * 1e12)  # backward costs twice the forward pass
        iterations = max(1, round(60 * 30 ** random_of.random() / compute_s))
        jobs.append((network, random_of.choice(numbers), iterations, compute_s, size_B))
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
