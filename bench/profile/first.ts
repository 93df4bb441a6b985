/**
 * `npm run lab -- profile first`: the parts of a first cell without standby, one after the other. Runs a copy of the build whose kernel
 * notes the time at some of its lines.
 */
import { existsSync } from 'node:fs';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BenchContext } from '../context.ts';
import { withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { median } from '../support/statistics.ts';

const ROUNDS = 15;
const COPIED = ['dist', 'sandbox-runtime', 'servers.d', 'package.json'];

interface Mark {
  /** What has ended there. */
  readonly part: string;
  readonly file: string;
  /** The start of the line before which the time is noted. */
  readonly line: string;
}

const MARKS: readonly Mark[] = [
  { part: "the engine, until Python runs the loader's first line", file: 'loader', line: 'gc.disable()' },
  { part: 'reading the kernel and the code pack', file: 'loader', line: 'importer = sys.modules[' },
  { part: 'importer', file: 'loader', line: 'from bridge_kernel import supervisor' },
  { part: 'supervisor: imports', file: 'loader', line: 'supervisor.run(' },
  { part: 'supervisor: checks', file: 'supervisor', line: '    worker = os.fork()' },
  { part: 'fork, and the rights of the worker', file: 'supervisor', line: '        _run_kernel(outputs)' },
  { part: 'kernel: imports before output is captured', file: '__main__', line: '        self.capture = ' },
  { part: 'asyncio', file: '__main__', line: '        from bridge_kernel import charts' },
  { part: "the kernel's other modules", file: '__main__', line: '    hello = channel.read_frame()' },
  { part: 'greeting', file: '__main__', line: '        self.loop.start_cell(' },
];
const LAST_PART = 'the cell and its answer';

const CELL = 'import json, sys\nprint(json.dumps(sys.first_cell))';

export async function profileFirstCell(context: BenchContext): Promise<void> {
  await withFolder(async (folder) => {
    const script = await copyWithMarks(dirname(dirname(context.script)), folder);
    const env = { MCP_BRIDGE_PREWARM: '0' };
    await withBridge({ ...context, script }, { env }, async ({ run, engine }) => {
      await run(CELL); // Compiles the standard library.
      const rounds: number[][] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const begun = seconds();
        const times = JSON.parse(await run(CELL, { session: `s${round}` })) as number[];
        rounds.push(differences([begun, ...times, seconds()]));
      }
      console.log(`A first cell on ${engine()}, without standby: medians of ${ROUNDS}, and the best\n`);
      for (const [index, part] of [...MARKS.map((mark) => mark.part), LAST_PART].entries()) {
        print(
          rounds.map((parts) => parts[index] ?? 0),
          part,
        );
      }
      print(
        rounds.map((parts) => parts.reduce((sum, one) => sum + one, 0)),
        'all',
      );
    });
  });
}

/** Returns the script of the copy. */
async function copyWithMarks(root: string, folder: string): Promise<string> {
  for (const name of COPIED.filter((each) => existsSync(join(root, each)))) {
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, line } of MARKS) {
    const path = join(folder, 'sandbox-runtime/bridge_kernel', `${file}.py`);
    const lines = (await readFile(path, 'utf8')).split('\n');
    const at = lines.findIndex((one) => one.startsWith(line));
    if (at === -1) {
      throw new Error(`${file}.py has no line that begins with '${line.trim()}'; correct bench/profile/first.ts`);
    }
    const indent = ' '.repeat(line.length - line.trimStart().length);
    const note = `__import__("sys").__dict__.setdefault("first_cell", []).append(__import__("time").perf_counter())`;
    lines.splice(at, 0, indent + note);
    await writeFile(path, lines.join('\n'));
  }
  return join(folder, 'dist/cli.js');
}

/** The same clock as Python's `perf_counter`. */
function seconds(): number {
  return Number(process.hrtime.bigint()) / 1e9;
}

/** Milliseconds. */
function differences(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) * 1000);
}

function print(times: readonly number[], part: string): void {
  console.log(`${median(times).toFixed(1).padStart(6)} ms, best ${Math.min(...times).toFixed(1)} ms  ${part}`);
}
