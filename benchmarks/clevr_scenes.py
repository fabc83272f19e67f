"""CLEVR scenes per minute: rendered with 1 and 2 processes, sampled only, and read back from the cache.

Run: python benchmarks/clevr_scenes.py [--scenes 40] [--samples 16] [--processes 1 2]

Rendering is timed as `visionzero images clevr` does it, start of the processes and writing of the files included. The
processor seconds per scene do not suffer from other programs on the machine; scenes per minute do, so look at the load.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time

from visionzero.images.clevr import ClevrSource, generate_clevr

SIZES = ((112, 112), (320, 240))


def processor_seconds() -> float:
    """Of this process and of those that it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=40, help="scenes per measurement")
    parser.add_argument("--samples", type=int, default=16, help="rays a pixel")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()

    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {args.samples} rays a pixel, {args.scenes} scenes\n")
    print("| what | size | processes | scenes per minute | processor seconds per scene |")
    print("| --- | --- | --- | --- | --- |")

    def row(what: str, size: tuple[int, int], processes: int, seconds: float, busy: float) -> None:
        rate, share = 60 * args.scenes / seconds, busy / args.scenes
        print(f"| {what} | {size[0]} x {size[1]} | {processes} | {rate:,.0f} | {share:.3f} |", flush=True)

    for size in SIZES:
        for processes in args.processes:
            with tempfile.TemporaryDirectory() as folder:
                start, busy = time.perf_counter(), processor_seconds()
                generate_clevr(folder, args.scenes, size=size, samples=args.samples, edited=False, workers=processes)
                row("rendered", size, processes, time.perf_counter() - start, processor_seconds() - busy)
    with tempfile.TemporaryDirectory() as folder:
        source = ClevrSource(args.scenes, size=(112, 112), samples=4, cache_dir=folder)
        start, busy = time.perf_counter(), processor_seconds()
        for index in range(args.scenes):
            source.scene(index)
        row("sampled", source.size, 1, time.perf_counter() - start, processor_seconds() - busy)
        for _ in source:
            pass
        again = ClevrSource(args.scenes, size=(112, 112), samples=4, cache_dir=folder)
        start, busy = time.perf_counter(), processor_seconds()
        for _ in again:
            pass
        row("from the cache", again.size, 1, time.perf_counter() - start, processor_seconds() - busy)


if __name__ == "__main__":
    main()
