"""Times `x=1` in an IPython kernel over jupyter_client, without a container.

For each line with a number on stdin, runs that many cells and prints a JSON list of milliseconds. Ends with stdin.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    print("ready", flush=True)
    for line in sys.stdin:
        samples = []
        for _ in range(int(line)):
            start = time.perf_counter()
            # The reply alone. A client that shows output waits for the status on a second channel as well.
            client.execute("x=1", reply=True)
            samples.append((time.perf_counter() - start) * 1000)
        print(json.dumps(samples), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
