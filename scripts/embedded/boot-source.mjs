// @ts-check
/** The program that the interpreter of the embedded engine runs at build time. It contains the kernel and loads it. */

/** Modules for a Python with threads and processes. */
const NOT_FOR_WASI = ['mounts', 'seccomp', 'supervisor', 'threaded'];

/**
 * The source, which depends only on `modules`: names and sources as read by `session/boot.ts`.
 * @param {ReadonlyMap<string, Buffer>} modules
 */
export function composeBootSource(modules) {
  const parts = [...modules]
    .filter(([name]) => !NOT_FOR_WASI.includes(name))
    // A JSON string is also a Python literal.
    .map(([name, source]) => `    ${JSON.stringify(name)}: ${JSON.stringify(source.toString('utf8'))}.encode(),\n`);
  return `import sys

parts = {
${parts.join('')}}
# Registered under its name, so that the kernel finds this instance instead of creating another.
importer = sys.modules["bridge_kernel.importer"] = type(sys)("bridge_kernel.importer")
exec(compile(parts["importer"], "<bridge_kernel>/importer.py", "exec"), importer.__dict__)
importer.install(parts)
# No need to record: what is loaded now stays loaded.
importer.installed().release()
del parts
from bridge_kernel.embedded_boot import main, prepare

prepare()
`;
}
