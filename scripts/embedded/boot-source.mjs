// @ts-check
/** The program that the embedded engine's interpreter runs when it is built: it loads the kernel from its own text. */

/** Modules for a Python with threads and processes. */
const NOT_FOR_WASI = ['seccomp', 'supervisor', 'threaded'];

/**
 * `modules` are names and sources as `session/boot.ts` reads them. The result depends on nothing else.
 * @param {ReadonlyMap<string, Buffer>} modules
 */
export function composeBootSource(modules) {
  const parts = [...modules]
    .filter(([name]) => !NOT_FOR_WASI.includes(name))
    // JSON's text is a literal of Python, too.
    .map(([name, source]) => `    ${JSON.stringify(name)}: ${JSON.stringify(source.toString('utf8'))}.encode(),\n`);
  return `import sys

parts = {
${parts.join('')}}
# Registered under its name, so that the kernel finds this instance and not a second one.
importer = sys.modules["bridge_kernel.importer"] = type(sys)("bridge_kernel.importer")
exec(compile(parts["importer"], "<bridge_kernel>/importer.py", "exec"), importer.__dict__)
importer.install(parts)
# Nothing has to be recorded: what is loaded now stays loaded.
importer.installed().release()
del parts
from bridge_kernel.embedded_boot import main, prepare

prepare()
`;
}
