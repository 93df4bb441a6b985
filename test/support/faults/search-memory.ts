/**
 * Python that looks for canaries in everything it can read: environments and arguments of all processes, and its own memory,
 * which everything from the host has passed through. It contains only the pattern of the canaries.
 */
export const SEARCH_FOR_CANARIES = `
def _search():
    import os, re
    pattern, found, budget = re.compile(rb"canary-[0-9a-f]{32}"), set(), 256 << 20
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        for name in ("environ", "cmdline"):
            try: found.update(pattern.findall(open(f"/proc/{pid}/{name}", "rb").read()))
            except OSError: pass
    try:
        maps = [line.split() for line in open("/proc/self/maps")]
        memory = open("/proc/self/mem", "rb", 0)
    except OSError:
        maps = []
    for span, rights, *_ in maps:
        start, end = (int(number, 16) for number in span.split("-"))
        if not rights.startswith("rw") or end - start > budget:
            continue
        budget -= end - start
        # In overlapping pieces: if the memory limit counts addresses, a large one may be refused.
        for at in range(start, end, 1 << 20):
            try:
                memory.seek(at)
                found.update(pattern.findall(memory.read(min(end - at, (1 << 20) + 64))))
            except (OSError, OverflowError, ValueError): pass
    return sorted(canary[:12].decode() for canary in found)
print(*(_search() or ["none"]))
del _search
`;
