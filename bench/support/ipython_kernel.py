"""Times `x=1` in an IPython kernel over jupyter_client, without a container.

For each number read from stdin, runs that many cells and prints a JSON list of milliseconds. Ends with stdin.
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
            # Waits only for the reply. A client that shows output also waits for the status on a second channel.
            client.execute("x=1", reply=True)
            samples.append((time.perf_counter() - start) * 1000)
        print(json.dumps(samples), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
