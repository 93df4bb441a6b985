/** Runs JavaScript in QuickJS in this process, without the child process and its layers. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileGuest } from '../../scripts/embedded/build.mjs';
import { parseJob } from '../../src/edges/engines/embedded/javascript/job.ts';
import { type RunningJob, runJob } from '../../src/edges/engines/embedded/javascript/run-job.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MEBIBYTE = 1024 * 1024;

export interface ProgramCall {
  readonly call: number;
  readonly server: string;
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
}

export interface ProgramOptions {
  readonly entry?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly wantsFiles?: boolean;
  readonly servers?: readonly string[];
  readonly memoryBytes?: number;
  readonly workspaceBytes?: number;
  /** The answer to a call, without its number; by default its arguments. Undefined for none. */
  readonly answer?: (call: ProgramCall) => object | undefined;
}

export interface ProgramOutput {
  stdout: string;
  stderr: string;
  exitCode: number | undefined;
  files: Record<string, string>;
  calls: ProgramCall[];
}

interface Line {
  readonly type: string;
  readonly stream?: 'stdout' | 'stderr';
  readonly data?: string;
  readonly exit_code?: number;
  readonly name?: string;
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64');

/** The first line to a program. */
export function jobLine(code: string, options: ProgramOptions = {}): string {
  const { args = [], entry = 'main.mjs', env = {}, files = {}, servers = [], stdin = '', wantsFiles = false } = options;
  const all = Object.entries({ ...files, [entry]: code });
  return JSON.stringify({
    type: 'job',
    entry,
    files: all.map(([name, content]) => ({ name, content: toBase64(content) })),
    args,
    stdin: toBase64(stdin),
    env,
    wants_files: wantsFiles,
    servers: servers.map((name) => ({ name, alias: name.replaceAll('-', '_') })),
  });
}

/** Collects the lines of a program, and answers its calls through `send`. */
export function createCollector(send: (line: string) => void, options: ProgramOptions = {}) {
  const output: ProgramOutput = { stdout: '', stderr: '', exitCode: undefined, files: {}, calls: [] };
  const streams = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const answer = options.answer ?? ((call: ProgramCall) => ({ ok: true, value: call.arguments }));
  return {
    add(text: string): void {
      const line = JSON.parse(text) as Line & ProgramCall;
      if (line.type === 'output' && line.stream !== undefined) {
        streams[line.stream].push(Buffer.from(line.data ?? '', 'base64'));
      } else if (line.type === 'call') {
        output.calls.push(line);
        const content = answer(line);
        if (content !== undefined) {
          send(JSON.stringify({ type: 'answer', call: line.call, ...content }));
        }
      } else if (line.type === 'file' && line.name !== undefined) {
        output.files[line.name] ??= '';
        output.files[line.name] += Buffer.from(line.data ?? '', 'base64').toString();
      } else {
        output.exitCode = line.exit_code;
      }
    },
    output(): ProgramOutput {
      output.stdout = Buffer.concat(streams.stdout).toString();
      output.stderr = Buffer.concat(streams.stderr).toString();
      return output;
    },
  };
}

let parts: Promise<{ module: WebAssembly.Module; guestBytecode: Uint8Array }> | undefined;

async function loadParts() {
  const wasm = readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
  return { module: new WebAssembly.Module(wasm), guestBytecode: (await compileGuest(ROOT)).bytecode };
}

/** Runs a program to its end. */
export async function runJavaScript(code: string, options: ProgramOptions = {}): Promise<ProgramOutput> {
  parts ??= loadParts();
  const { guestBytecode, module } = await parts;
  const { memoryBytes = 64 * MEBIBYTE, workspaceBytes = MEBIBYTE } = options;
  const { promise, resolve } = createGate();
  const answers: string[] = [];
  const started: { job?: RunningJob } = {};
  const deliver = () => {
    for (const line of answers.splice(0)) {
      started.job?.answer(line);
    }
  };
  const collector = createCollector((line) => {
    answers.push(line);
    // Never while the program is running, as in the child.
    setImmediate(deliver);
  }, options);
  const write = (line: string) => collector.add(line);
  const job = parseJob(jobLine(code, options));
  started.job = await runJob({ module, guestBytecode, job, memoryBytes, workspaceBytes, write, onEnd: resolve });
  deliver();
  await promise;
  return collector.output();
}

function createGate() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}
