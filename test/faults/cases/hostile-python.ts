/**
 * Python that several cases begin with: it finds the kernel's pipe to the host and bypasses all proxies. The tests assume that
 * the pipe can be found; the host trusts nothing that comes through it.
 */
export const PAST_THE_PROXIES = `
import asyncio, gc, json, os, sys, threading, time
gc.unfreeze()  # What was there before the first cell is not listed otherwise.
KERNEL = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")
CHANNEL = KERNEL._write_descriptor
rpc = sys.modules["bridge_kernel.rpc"]
CELL = next(o for o in gc.get_objects() if type(o).__name__ == "Kernel").cell
def write(data):
    view = memoryview(data)
    while view: view = view[os.write(CHANNEL, view):]
def frame(**members):
    return json.dumps(members).encode() + b"\\n"
async def ask(method, params):
    """What the host answers: the value, or the code of its error."""
    try: return await KERNEL.call(method, params)
    except Exception as error: return getattr(error, "code", repr(error))
async def answer_of(number, *pieces, pause=0.0):
    """Writes bytes that make a call of this number, and waits for its answer."""
    loop, future = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    pending = rpc.Pending(lambda value, error: loop.call_soon_threadsafe(
        future.set_result, value if error is None else error.code))
    KERNEL._pending[number] = pending
    for piece in pieces:
        write(piece)
        time.sleep(pause)
    return await asyncio.wait_for(future, 3)
def text_of(result):
    """The text in an untouched result of a tool."""
    return result["content"][0]["text"] if isinstance(result, dict) else result
`;
