"""Prints the SMs that a client of this MPS daemon gets for each active thread percentage on the command line."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CLIENT = """
import ctypes
c = ctypes.CDLL("libcuda.so.1"); i = ctypes.c_int()
assert c.cuInit(0) == 0; assert c.cuDeviceGet(ctypes.byref(i), 0) == 0
x = ctypes.c_void_p(); assert c.cuDevicePrimaryCtxRetain(ctypes.byref(x), i) == 0; assert c.cuCtxSetCurrent(x) == 0
n = ctypes.c_int(); assert c.cuDeviceGetAttribute(ctypes.byref(n), 16, i) == 0
print(n.value)
"""


def sms(percent: str) -> str:
    env = {**os.environ, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": percent}
    done = subprocess.run([sys.executable, "-S", "-c", CLIENT], env=env, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() or done.stderr.strip()[-60:]


with ThreadPoolExecutor(10) as pool:
    for percent, found in zip(sys.argv[1:], pool.map(sms, sys.argv[1:]), strict=True):
        print(f"{percent}:{found}", end=" ")
print()
