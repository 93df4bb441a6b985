"""Runs cells in an IPython kernel over jupyter_client, and answers with the text that a notebook would show."""

from jupyter_client.manager import start_new_kernel
from line_host import open_lines

requests, answer = open_lines()
manager, client = start_new_kernel(kernel_name="python3")


def text_of(content):
    """Streams, values, tracebacks, and what a magic shows beside the cell."""
    if "traceback" in content:
        return "\n".join(content["traceback"]) + "\n"
    if "data" not in content:
        return content.get("text", "")  # Of a stream, whose text may come in parts.
    data = content["data"]
    rich = "".join(f"[{kind}] {value}\n" for kind, value in data.items() if kind != "text/plain")
    return f"{rich}{data.get('text/plain', '')}\n"


def run(code):
    texts = []
    reply = client.execute_interactive(
        code, allow_stdin=False, output_hook=lambda message: texts.append(text_of(message["content"]))
    )
    return "".join(texts) + "".join(text_of(page) for page in reply["content"].get("payload", []))


try:
    for request in requests:
        answer(answer=run(request["code"]))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
