"""gpu_hold_memory.py MIB: takes the first card's memory but for MIB, says so in a line, holds it until its standard
input ends. For the test of a card that is full (scripts/gpu-check)."""

import ctypes
import sys


def check(status, what):
    if status != 0:
        sys.exit(f"gpu_hold_memory: {what}: CUDA driver error {status}")


def main():
    leave = int(sys.argv[1]) << 20
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        sys.exit(f"gpu_hold_memory: {error}")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuInit(0), "starting")
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "finding the card")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "opening the card")
    check(cuda.cuCtxSetCurrent(context), "opening the card")
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    piece, held = 1 << 30, 0
    while piece >= 1 << 24:  # smaller pieces where a larger one is not to be had
        check(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "asking for free memory")
        at = ctypes.c_uint64()
        if free.value >= leave + piece and cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(piece)) == 0:
            held += piece
        else:
            piece //= 2
    print(f"held {held >> 20} MiB, {free.value >> 20} MiB are free", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
